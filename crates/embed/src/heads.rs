//! BERT models with a head: find an answer, judge whether a sentence follows, classify a text.

use std::path::Path;

use candle_core::{IndexOp, Tensor};
use candle_nn::{Linear, Module, linear};
use tokenizers::{Encoding, Tokenizer, TruncationDirection, TruncationParams, TruncationStrategy};

use crate::{
    bert::{Bert, Weights, below, tokens},
    error::Error,
};

/// Of BERT.
const WINDOW: usize = 512;
/// Tokens that two windows of one long text share, so that no answer is cut in two.
const STRIDE: usize = 128;
/// Of an answer, in tokens.
const LONGEST_ANSWER: usize = 30;
/// Labels of one classifier.
const MOST_LABELS: usize = 1_000;

/// `BertForQuestionAnswering`.
pub(crate) struct Extractor {
    bert: Bert,
    /// Without truncation: the windows of a long text are cut here, because the tokenizer's own do not mark which part
    /// is the question.
    uncut: Tokenizer,
    /// For each token, how likely an answer starts and ends there.
    ends: Linear,
}

/// `BertForNextSentencePrediction`.
pub(crate) struct Follower {
    bert: Bert,
    pooler: Linear,
    /// Follows, does not.
    follows: Linear,
}

/// `BertForSequenceClassification` with labels that do not exclude each other.
pub(crate) struct Classifier {
    bert: Bert,
    pooler: Linear,
    labels: Linear,
}

impl Extractor {
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let (mut bert, weights) = Bert::open(folder, WINDOW)?;
        let ends = linear(bert.hidden_size, 2, weights.pp("qa_outputs"))?;
        let mut uncut = bert.tokenizer.clone();
        uncut.with_truncation(None)?;
        cut(&mut bert, TruncationStrategy::OnlySecond, TruncationDirection::Right)?;
        Ok(Self { bert, uncut, ends })
    }

    /// The best answering part of the context; empty if the question leaves no room for a context.
    pub(crate) fn extract(&self, question: &str, context: &str) -> Result<(String, u64), Error> {
        let (mut best, mut read) = (None::<(f32, &str)>, 0);
        for window in self.windows(question, context)? {
            let inputs = [self.bert.tokenizer.encode((question, window), true)?];
            read += tokens(&inputs);
            let (states, _) = self.bert.encode(&inputs)?;
            let logits = self.ends.forward(&states.i(0)?)?.to_vec2::<f32>()?;
            if let Some((score, from, to)) = span(&inputs[0], &logits)
                && best.is_none_or(|(other, _)| score > other)
            {
                best = Some((score, window.get(from..to).unwrap_or_default()));
            }
        }
        Ok((best.map(|(_, answer)| answer.trim().to_owned()).unwrap_or_default(), read))
    }

    /// Overlapping parts of the context that fit beside the question and the three special tokens.
    fn windows<'a>(&self, question: &str, context: &'a str) -> Result<Vec<&'a str>, Error> {
        let asked = self.uncut.encode(question, false)?.len();
        let whole = self.uncut.encode(context, false)?;
        let offsets = whole.get_offsets();
        let room = self.bert.window.saturating_sub(asked + 3);
        let step = room - STRIDE.min(room / 2);
        let mut windows = Vec::new();
        let mut start = 0;
        while step > 0 && start < offsets.len() {
            let end = (start + room).min(offsets.len());
            windows.extend(context.get(offsets[start].0..offsets[end - 1].1));
            start = if end == offsets.len() { end } else { start + step };
        }
        Ok(windows)
    }
}

/// The best answer of a window: its score, and its position in the window, in bytes.
fn span(window: &Encoding, logits: &[Vec<f32>]) -> Option<(f32, usize, usize)> {
    let of_context: Vec<usize> = window
        .get_sequence_ids()
        .iter()
        .enumerate()
        .filter(|(_, sequence)| **sequence == Some(1))
        .map(|(token, _)| token)
        .collect();
    let offsets = window.get_offsets();
    let mut best = None;
    for (place, from) in of_context.iter().enumerate() {
        for to in of_context[place..].iter().take(LONGEST_ANSWER) {
            let score = logits[*from][0] + logits[*to][1];
            if best.is_none_or(|(other, _, _)| score > other) {
                best = Some((score, offsets[*from].0, offsets[*to].1));
            }
        }
    }
    best
}

impl Follower {
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let (mut bert, weights) = Bert::open(folder, WINDOW)?;
        let pooler = pooler(&bert, &weights)?;
        let follows = linear(bert.hidden_size, 2, weights.pp("cls.seq_relationship"))?;
        // In a long conversation, the end matters.
        cut(&mut bert, TruncationStrategy::LongestFirst, TruncationDirection::Left)?;
        Ok(Self { bert, pooler, follows })
    }

    /// The log-odds that the reply follows the context.
    pub(crate) fn follow(&self, context: &str, reply: &str) -> Result<(f64, u64), Error> {
        let inputs = [self.bert.tokenizer.encode((context, reply), true)?];
        let logits = self.follows.forward(&pooled(&self.bert, &self.pooler, &inputs)?)?.to_vec2::<f32>()?;
        Ok((f64::from(logits[0][0] - logits[0][1]), tokens(&inputs)))
    }
}

impl Classifier {
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let (mut bert, weights) = Bert::open(folder, WINDOW)?;
        bert.labels.iter_mut().for_each(|label| *label = usual_name(label));
        if !bert.labels.iter().any(|label| label == "toxicity") || bert.labels.len() > MOST_LABELS {
            return Err(Error::Unusable("its `id2label` names no toxicity".to_owned()));
        }
        let pooler = pooler(&bert, &weights)?;
        let labels = linear(bert.hidden_size, bert.labels.len(), weights.pp("classifier"))?;
        Ok(Self { bert, pooler, labels })
    }

    /// How probable each label is.
    pub(crate) fn classify(&self, text: &str) -> Result<(Vec<(String, f64)>, u64), Error> {
        let inputs = [self.bert.tokenizer.encode(text, true)?];
        let logits = self.labels.forward(&pooled(&self.bert, &self.pooler, &inputs)?)?.to_vec2::<f32>()?;
        let scores = logits[0].iter().map(|logit| 1.0 / (1.0 + (-f64::from(*logit)).exp()));
        Ok((self.bert.labels.iter().cloned().zip(scores).collect(), tokens(&inputs)))
    }
}

/// The first Detoxify models name the same things otherwise.
fn usual_name(label: &str) -> String {
    match label {
        "toxic" => "toxicity",
        "severe_toxic" => "severe_toxicity",
        "identity_hate" => "identity_attack",
        same => same,
    }
    .to_owned()
}

fn cut(bert: &mut Bert, strategy: TruncationStrategy, direction: TruncationDirection) -> Result<(), Error> {
    let max_length = bert.window;
    bert.tokenizer.with_truncation(Some(TruncationParams { direction, max_length, strategy, stride: 0 }))?;
    Ok(())
}

fn pooler(bert: &Bert, weights: &Weights) -> Result<Linear, Error> {
    Ok(linear(bert.hidden_size, bert.hidden_size, below(weights).pp("pooler.dense"))?)
}

/// The model's output for the whole input, which is at its first token.
fn pooled(bert: &Bert, pooler: &Linear, inputs: &[Encoding]) -> Result<Tensor, Error> {
    let (states, _) = bert.encode(inputs)?;
    Ok(pooler.forward(&states.i((.., 0))?.contiguous()?)?.tanh()?)
}
