//! Scores from the models that the settings choose for each measure. The judge measures the rest.

use std::sync::Arc;

use async_trait::async_trait;
use llm::{
    Measures,
    measure::{Embed, Extract, Follow, Measurement, Moderate, Reply, Request},
};
use record::{Role, Scope};

use super::{Answer, ByJudge, Error, MOST_LOG_ODDS, Score, Scorer, TOXICITY, Toxicity};
use crate::{excerpt::boundary, judge_pool::JudgePool};

/// The limit of one text, in bytes. A token can be one byte, and embedding models usually have a window of 8,192 tokens.
/// Models with smaller windows truncate on their own.
const TEXT_BYTES: usize = 8_000;

/// The models that the settings chose; `None`: the judge.
#[derive(Debug, Clone, Default)]
pub struct Models {
    pub similarity: Option<Arc<dyn Measures<Embed>>>,
    pub answer: Option<Arc<dyn Measures<Extract>>>,
    pub next_sentence: Option<Arc<dyn Measures<Follow>>>,
    pub toxicity: Option<Arc<dyn Measures<Moderate>>>,
}

#[derive(Debug)]
pub struct Chosen<'a> {
    pool: &'a dyn JudgePool,
    scope: Scope,
    models: Models,
}

impl<'a> Chosen<'a> {
    #[must_use]
    pub fn new(pool: &'a dyn JudgePool, scope: Scope, models: Models) -> Self {
        Self { pool, scope, models }
    }

    fn judge(&self) -> ByJudge<'a> {
        ByJudge::new(self.pool, self.scope)
    }

    async fn ask<M: Measurement>(&self, model: &dyn Measures<M>, of: M) -> Result<Reply<M::Value>, Error> {
        let (mut context, seed) = self.pool.context(self.scope);
        context.role = Role::Scorer.name().to_owned();
        let mut reply = model.ask(&Request { of, seed: Some(seed), timeout: None, context }).await?;
        if reply.receipt.model.is_empty() {
            reply.receipt.model = model.endpoint().to_owned();
        }
        Ok(reply)
    }
}

/// As much of a text as a model takes.
fn cut(text: &str) -> String {
    text[..boundary(text, TEXT_BYTES)].to_owned()
}

#[async_trait]
impl Scorer for Chosen<'_> {
    async fn similarity(&self, a: &str, b: &str) -> Result<Score, Error> {
        let Some(model) = &self.models.similarity else { return self.judge().similarity(a, b).await };
        // Servers refuse blank texts. Two blank texts are similar; a blank one is unlike any other text.
        if a.trim().is_empty() || b.trim().is_empty() {
            let alike = a.trim() == b.trim();
            return Ok(Score {
                value: if alike { 1.0 } else { 0.0 },
                model: model.endpoint().to_owned(),
                ballot: None,
            });
        }
        let Reply { value, receipt } = self.ask(&**model, Embed { texts: vec![cut(a), cut(b)] }).await?;
        match value.as_slice() {
            [a, b] if a.len() == b.len() => Ok(Score { value: cosine(a, b), model: receipt.model, ballot: None }),
            vectors => Err(malformed(receipt.model, format!("{} vectors for two texts", vectors.len()))),
        }
    }

    async fn answer(&self, question: &str, context: &str) -> Result<Answer, Error> {
        let Some(model) = &self.models.answer else { return self.judge().answer(question, context).await };
        let of = Extract { question: cut(question), context: cut(context) };
        let Reply { value, receipt } = self.ask(&**model, of).await?;
        Ok(Answer { text: value, model: receipt.model, ballot: None })
    }

    async fn next_sentence(&self, context: &str, reply: &str) -> Result<Score, Error> {
        let Some(model) = &self.models.next_sentence else {
            return self.judge().next_sentence(context, reply).await;
        };
        let of = Follow { context: cut(context), reply: cut(reply) };
        let Reply { value, receipt } = self.ask(&**model, of).await?;
        if value.is_finite() {
            Ok(Score { value: value.clamp(-MOST_LOG_ODDS, MOST_LOG_ODDS), model: receipt.model, ballot: None })
        } else {
            Err(malformed(receipt.model, "no log-odds".to_owned()))
        }
    }

    async fn toxicity(&self, text: &str) -> Result<Toxicity, Error> {
        let Some(model) = &self.models.toxicity else { return self.judge().toxicity(text).await };
        let Reply { value, receipt } = self.ask(&**model, Moderate { text: cut(text) }).await?;
        match toxicity(&value) {
            Some(scores) => Ok(Toxicity { scores, model: receipt.model, ballot: None }),
            None => Err(malformed(receipt.model, "none of its categories is known".to_owned())),
        }
    }
}

fn malformed(model: String, reason: String) -> Error {
    Error::Malformed { model, reason }
}

/// 0 if a vector has no direction.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { (dot(a, b) / lengths).clamp(-1.0, 1.0) } else { 0.0 }
}

/// Reads Detoxify labels by name. Otherwise maps the categories of OpenAI's moderation: each label is the highest of its
/// categories.
fn toxicity(labels: &[(String, f64)]) -> Option<[f64; TOXICITY.len()]> {
    /// In the order of [`TOXICITY`]; the first covers every finding.
    const CATEGORIES: [&[&str]; TOXICITY.len()] = [
        &[
            "harassment",
            "harassment/threatening",
            "hate",
            "hate/threatening",
            "sexual",
            "sexual/minors",
            "violence",
            "violence/graphic",
        ],
        &["harassment/threatening", "hate/threatening", "sexual/minors", "violence/graphic"],
        &["sexual", "sexual/minors"],
        &["hate", "hate/threatening"],
        &["harassment"],
        &["harassment/threatening", "hate/threatening", "violence"],
        &["sexual", "sexual/minors"],
    ];
    let by_name = labels.iter().any(|(name, _)| name == TOXICITY[0]);
    let known = |name: &String, place: usize| {
        if by_name { name == TOXICITY[place] } else { CATEGORIES[place].contains(&name.as_str()) }
    };
    if !labels.iter().any(|(name, _)| known(name, 0)) {
        return None;
    }
    let mut scores = [0.0; TOXICITY.len()];
    for (place, score) in scores.iter_mut().enumerate() {
        *score = labels.iter().filter(|(name, _)| known(name, place)).map(|(_, score)| *score).fold(0.0, f64::max);
    }
    Some(scores)
}

#[cfg(test)]
mod tests {
    use super::{cosine, toxicity};

    fn labels(rows: &[(&str, f64)]) -> Vec<(String, f64)> {
        rows.iter().map(|(name, score)| ((*name).to_owned(), *score)).collect()
    }

    #[test]
    fn cosines_are_of_directions() {
        assert!((cosine(&[2.0, 0.0], &[0.5, 0.0]) - 1.0).abs() < 1e-9);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 1.0]), 0.0);
        assert_eq!(cosine(&[1.0], &[-1.0]), -1.0);
        assert_eq!(cosine(&[0.0], &[1.0]), 0.0);
    }

    #[test]
    fn categories_of_either_kind_become_seven_scores() {
        let openai = labels(&[("harassment", 0.7), ("hate", 0.2), ("violence", 0.9), ("illicit", 1.0)]);
        assert_eq!(toxicity(&openai), Some([0.9, 0.0, 0.0, 0.2, 0.7, 0.9, 0.0]));
        let detoxify = labels(&[("toxicity", 0.4), ("insult", 0.3), ("hate", 1.0)]);
        assert_eq!(toxicity(&detoxify), Some([0.4, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0]));
        assert_eq!(toxicity(&labels(&[("spam", 1.0)])), None);
        assert_eq!(toxicity(&[]), None);
    }
}
