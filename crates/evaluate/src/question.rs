//! Asks judges one question about some material, reads their answers strictly, and tries a bounded number of times.
//!
//! [`yes_or_no`] and [`number`] serve the evaluators here and the termination check of a conversation;
//! `llm_judge` and `rubric` ask for a [`Ballot`] with quotes. The agent's words are only data in the prompt.

mod ballot;
mod error;
mod form;
mod material;
mod prompt;
mod quotes;
mod reply;
mod votes;

use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock},
};

use record::Scope;
use serde_json::{Map, Value, json};

use self::prompt::Digests;
pub(crate) use self::{
    ballot::{Ballot, Scale, Verdict, form as form_of_ballot, form_of_many},
    error::Fault,
    form::Form,
    votes::{Counted, Votes, counted, majority},
};
pub use self::{
    error::{Error, TRIES},
    material::Material,
    prompt::{Question, TEMPERATURE},
};
use crate::judge_pool::JudgePool;

/// The judges' answer to a yes/no question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub yes: bool,
    /// 0 to 1: how probable it is that the answer is yes, the mean of all votes. A bare `yes` is 1, a bare `no` is 0.
    pub confidence: f64,
    /// Empty if the judge gave none.
    pub reasoning: String,
    /// One for each vote.
    pub ballots: Vec<record::Ballot>,
}

impl Answer {
    /// Yes, with at least this confidence.
    #[must_use]
    pub fn holds(&self, threshold: f64) -> bool {
        self.yes && self.confidence >= threshold
    }
}

/// The judges' answer to a question for a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Rating {
    /// 0 to 1, the mean of all votes.
    pub score: f64,
    /// Empty if the judge gave none.
    pub reasoning: String,
    /// One for each vote.
    pub ballots: Vec<record::Ballot>,
}

/// Asks a question whose answer is yes or no. The majority of the votes decides.
///
/// # Errors
/// The model fails, the votes tie, or no try gives a JSON object of the requested form or a bare `yes` or `no`. A
/// confidence below 0.5 contradicts its own answer and counts as a failed try.
pub async fn yes_or_no(question: &Question<'_>, pool: &dyn JudgePool) -> Result<Answer, Error> {
    answer(question, pool, |text| match read_yes_or_no(text)? {
        said if (said.yes && said.probability < 0.5) || (!said.yes && said.probability > 0.5) => {
            let word = if said.yes { "yes" } else { "no" };
            let confidence = if said.yes { said.probability } else { complement(said.probability) };
            Err(contradiction(word, confidence))
        }
        said => Ok(said),
    })
    .await
}

/// Like [`yes_or_no`], for a caller with a threshold: an unsure `yes` is below the threshold, not a contradiction.
///
/// # Errors
/// The model fails, the votes tie, or no try gives a JSON object of the requested form or a bare `yes` or `no`.
pub async fn how_sure(question: &Question<'_>, pool: &dyn JudgePool) -> Result<Answer, Error> {
    answer(question, pool, read_yes_or_no).await
}

/// One vote on a yes/no question.
#[derive(Debug)]
struct Said {
    yes: bool,
    probability: f64,
    reasoning: String,
}

async fn answer(
    question: &Question<'_>,
    pool: &dyn JudgePool,
    read: impl Fn(&str) -> Result<Said, String> + Sync,
) -> Result<Answer, Error> {
    let votes = ask(question, &YES_OR_NO, pool, read).await?;
    let yes = match majority(votes.answers().map(|said| said.yes)) {
        Counted::Majority(yes) => yes,
        Counted::Tie => {
            let names = votes.answers().map(|said| if said.yes { "yes" } else { "no" }.to_owned());
            return Err(Error::Tied { counted: counted(names) });
        }
    };
    let confidence = votes.mean(|said| Some(said.probability)).unwrap_or_default();
    let reasoning = votes.answers().find(|said| said.yes == yes).map(|said| said.reasoning.clone());
    let ballots = votes.recorded("", |said| {
        let word = if said.yes { "yes" } else { "no" };
        (word.to_owned(), Some(said.probability), said.reasoning.clone())
    });
    Ok(Answer { yes, confidence, reasoning: reasoning.unwrap_or_default(), ballots })
}

fn read_yes_or_no(text: &str) -> Result<Said, String> {
    if let Some(yes) = reply::bare_word(text) {
        return Ok(Said { yes, probability: if yes { 1.0 } else { 0.0 }, reasoning: String::new() });
    }
    let fields = YES_OR_NO.read(text)?;
    let yes = fields.get("judgment").and_then(Value::as_str) == Some("yes");
    let confidence = number_of(&fields, "confidence")?;
    let probability = if yes { confidence } else { complement(confidence) };
    Ok(Said { yes, probability, reasoning: reasoning_of(&fields) })
}

pub(crate) fn contradiction(judgment: &str, confidence: f64) -> String {
    format!("{judgment:?} and `confidence` {confidence} contradict each other")
}

/// 1 less the number, without the noise of binary fractions: judges write two or three decimals.
pub(crate) fn complement(number: f64) -> f64 {
    ((1.0 - number) * 1e6).round() / 1e6
}

/// Asks for a number from 0 to 1. The mean of the votes counts.
///
/// # Errors
/// The model fails, or no try gives a JSON object of the requested form or a bare number in the range.
pub async fn number(question: &Question<'_>, pool: &dyn JudgePool) -> Result<Rating, Error> {
    let votes = ask(question, &NUMBER, pool, |text| match reply::bare_number(text) {
        Some(score) => Ok((score, String::new())),
        None => {
            let fields = NUMBER.read(text)?;
            Ok::<_, String>((number_of(&fields, "score")?, reasoning_of(&fields)))
        }
    })
    .await?;
    let score = votes.mean(|(score, _)| Some(*score)).unwrap_or_default();
    let reasoning = votes.answers().next().map(|(_, reasoning)| reasoning.clone()).unwrap_or_default();
    let ballots = votes.recorded("", |(score, reasoning)| (score.to_string(), None, reasoning.clone()));
    Ok(Rating { score, reasoning, ballots })
}

/// An answer, and what gave it.
#[derive(Debug)]
pub(crate) struct Heard<T> {
    pub(crate) answer: T,
    /// As its server names it.
    pub(crate) model: String,
    pub(crate) digests: Digests,
    /// The number of turns that it saw in short form.
    pub(crate) shortened_turns: u32,
}

/// Asks every voter of the question. A vote is lost if its judge fails or is not understood; more than half must arrive.
///
/// Several votes are asked at the same time. Each has its calls numbered before the first is asked, so that the order in
/// which judges answer changes nothing.
pub(crate) async fn ask<T: Send, E: Into<Fault>>(
    question: &Question<'_>,
    form: &Form,
    pool: &dyn JudgePool,
    read: impl Fn(&str) -> Result<T, E> + Sync,
) -> Result<Votes<T>, Error> {
    let voters: Vec<Option<&str>> = question.judging.voters(question.model_type).collect();
    if let [voter] = voters.as_slice() {
        let question = Question { model_type: *voter, ..*question };
        return Ok(Votes::one(ask_one(&question, form, pool, read).await?));
    }
    let votes = voters.iter().map(|voter| {
        let calls = Calls::Reserved((0..TRIES).map(|_| pool.context(question.scope)).collect());
        vote(question, form, pool.judge(*voter), pool.judge_max_tokens(), calls, &read)
    });
    // Collected first: the calls of all votes are numbered before one is asked.
    let votes: Vec<_> = votes.collect();
    let (mut heard, mut lost) = (Vec::with_capacity(votes.len()), None);
    for answer in futures_util::future::join_all(votes).await {
        match answer {
            Ok(answer) => heard.push(answer),
            Err(error) => _ = lost.get_or_insert(error),
        }
    }
    match lost {
        Some(error) if heard.len() * 2 <= voters.len() => Err(error),
        _ => Ok(Votes { heard, asked: voters.len() }),
    }
}

/// Asks the question's judge alone, whatever its votes.
pub(crate) async fn ask_one<T, E: Into<Fault>>(
    question: &Question<'_>,
    form: &Form,
    pool: &dyn JudgePool,
    read: impl Fn(&str) -> Result<T, E> + Sync,
) -> Result<Heard<T>, Error> {
    let calls = Calls::Now(pool, question.scope);
    vote(question, form, pool.judge(question.model_type), pool.judge_max_tokens(), calls, &read).await
}

/// The numbers and seeds of the calls of one vote.
enum Calls<'a> {
    Now(&'a dyn JudgePool, Scope),
    Reserved(VecDeque<(llm::Context, u64)>),
}

impl Calls<'_> {
    fn next(&mut self) -> (llm::Context, u64) {
        match self {
            Self::Now(pool, scope) => pool.context(*scope),
            Self::Reserved(calls) => calls.pop_front().expect("as many as tries are reserved"),
        }
    }
}

/// Asks one judge until `read` understands the reply, at most [`TRIES`] times. A reply that the limit cut is asked for
/// again with twice the limit, once. Quotes that are not in the material are asked for again, once. A failed call is not
/// repeated here: the model has its own retry layer.
async fn vote<T, E: Into<Fault>>(
    question: &Question<'_>,
    form: &Form,
    model: Arc<dyn llm::Chat>,
    least_tokens: u32,
    mut calls: Calls<'_>,
    read: &(impl Fn(&str) -> Result<T, E> + Sync),
) -> Result<Heard<T>, Error> {
    let usual = form.max_tokens.max(least_tokens);
    let (mut limit, mut last, mut no_evidence) = (usual, None::<(String, String)>, false);
    // With the doubled limit, so that all tries show the same.
    let fitted = fitted(question, form, &*model, usual.saturating_mul(2));
    let shortened_turns = fitted.as_ref().map_or(0, |(_, turns)| *turns);
    let shown = Question { material: fitted.as_ref().map_or(question.material, |(material, _)| material), ..*question };
    for _ in 0..TRIES {
        let (context, seed) = calls.next();
        let request = llm::chat::Request {
            messages: prompt::messages(&shown, form, seed, last.as_ref().map(|(reason, _)| reason.as_str())),
            temperature: Some(question.temperature.unwrap_or(TEMPERATURE)),
            max_tokens: Some(limit),
            seed: Some(seed),
            schema: Some(form.schema.clone()),
            context,
            ..llm::chat::Request::default()
        };
        let reply = model.ask(&request).await?;
        let fault = match read(&reply.text) {
            Ok(answer) => {
                let digests = Digests::of(question, form, model.endpoint(), &reply.receipt, usual);
                let served = reply.receipt.model;
                let served = if served.is_empty() { model.endpoint().to_owned() } else { served };
                return Ok(Heard { answer, model: served, digests, shortened_turns });
            }
            Err(fault) => fault.into(),
        };
        let cut = reply.finish == llm::chat::Finish::Length;
        last = Some(match fault {
            Fault::Form(_) if cut && limit > usual => return Err(Error::Truncated { limit, reply: reply.text }),
            Fault::Form(_) if cut => {
                limit = usual.saturating_mul(2);
                ("it was too long and was cut".to_owned(), reply.text)
            }
            Fault::Evidence(reason) if no_evidence => return Err(Error::NoEvidence { reason, reply: reply.text }),
            Fault::Evidence(reason) => {
                no_evidence = true;
                (reason, reply.text)
            }
            Fault::Form(reason) => (reason, reply.text),
        });
    }
    let (reason, reply) = last.unwrap_or_default();
    if no_evidence {
        return Err(Error::NoEvidence { reason, reply });
    }
    Err(Error::Malformed { reason, reply })
}

/// The bytes of the reason why an earlier reply was not accepted, at most.
const AGAIN_BYTES: usize = 1_024;

/// The material in short form, if the whole does not fit into the model's context.
fn fitted(question: &Question<'_>, form: &Form, model: &dyn llm::Chat, tokens: u32) -> Option<(Material, u32)> {
    let room = usize::try_from(model.most_input_bytes(Some(tokens))?).unwrap_or(usize::MAX);
    let request = llm::chat::Request {
        messages: prompt::messages(question, form, 0, Some("")),
        schema: Some(form.schema.clone()),
        ..llm::chat::Request::default()
    };
    let bytes = usize::try_from(llm::call::Request::input_bytes(&request)).unwrap_or(usize::MAX);
    let beside = bytes.saturating_sub(question.material.json().len()).saturating_add(AGAIN_BYTES);
    question.material.within(room.saturating_sub(beside))
}

pub(crate) fn number_of(fields: &Map<String, Value>, name: &str) -> Result<f64, String> {
    match fields.get(name).and_then(Value::as_f64) {
        Some(number) if (0.0..=1.0).contains(&number) => Ok(number),
        Some(number) => Err(format!("`{name}` is {number}, which is not between 0 and 1")),
        None => Err(format!("`{name}` is not a number")),
    }
}

pub(crate) fn reasoning_of(fields: &Map<String, Value>) -> String {
    fields.get("reasoning").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The meaning of `confidence` beside a judgment. Models report how sure they are of what they say, also of a no.
pub(crate) const CONFIDENCE: &str =
    "how sure you are of this judgment, from 0.5 (it could be otherwise) to 1 (certain)";

static YES_OR_NO: LazyLock<Form> = LazyLock::new(|| {
    let properties = json!({
        "reasoning": { "type": "string" },
        "judgment": { "type": "string", "enum": ["yes", "no"] },
        "confidence": { "type": "number", "minimum": 0, "maximum": 1, "description": CONFIDENCE },
    });
    let meaning = format!(
        "`reasoning` is one or two short sentences; `judgment` is \"yes\" or \"no\", the answer to the question; \
         `confidence` is {CONFIDENCE}."
    );
    Form::of_properties(properties, meaning, 500).expect("the schema is a constant that compiles")
});

static NUMBER: LazyLock<Form> = LazyLock::new(|| {
    let properties = json!({
        "reasoning": { "type": "string" },
        "score": { "type": "number", "minimum": 0, "maximum": 1 },
    });
    let meaning = "`reasoning` is one or two short sentences; `score` is the number asked for, from 0 to 1.".to_owned();
    Form::of_properties(properties, meaning, 500).expect("the schema is a constant that compiles")
});
