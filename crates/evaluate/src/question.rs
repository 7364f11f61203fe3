//! Asks a judge one question about some material, reads the answer strictly, and tries a bounded number of times.
//!
//! [`yes_or_no`] and [`number`] serve the evaluators here and the termination check of a conversation;
//! `llm_judge` brings a [`Form`] of its own. The agent's words are only data in the prompt.

mod error;
mod form;
mod material;
mod prompt;
mod reply;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

pub(crate) use self::form::Form;
pub use self::{
    error::{Error, TRIES},
    material::Material,
    prompt::{Question, TEMPERATURE},
};
use crate::judge_pool::JudgePool;

/// A judge's answer to a yes/no question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub yes: bool,
    /// 0 to 1: how probable it is that the answer is yes. A bare `yes` is 1, a bare `no` is 0.
    pub confidence: f64,
    /// Empty if the judge gave none.
    pub reasoning: String,
}

impl Answer {
    /// Yes, with at least this confidence.
    #[must_use]
    pub fn holds(&self, threshold: f64) -> bool {
        self.yes && self.confidence >= threshold
    }
}

/// A judge's answer to a question for a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Rating {
    /// 0 to 1.
    pub score: f64,
    /// Empty if the judge gave none.
    pub reasoning: String,
}

/// Asks a question whose answer is yes or no.
///
/// # Errors
/// The model fails, or no try gives a JSON object of the requested form or a bare `yes` or `no`. A `yes` with a confidence
/// below 0.5 contradicts itself and counts as a failed try.
pub async fn yes_or_no(question: &Question<'_>, pool: &dyn JudgePool) -> Result<Answer, Error> {
    ask(question, &YES_OR_NO, pool, |text| match read_yes_or_no(text)? {
        Answer { yes: true, confidence, .. } if confidence < 0.5 => Err(contradiction("yes", confidence)),
        answer => Ok(answer),
    })
    .await
}

/// Like [`yes_or_no`], for a caller with a threshold: an unsure `yes` is below the threshold, not a contradiction.
///
/// # Errors
/// The model fails, or no try gives a JSON object of the requested form or a bare `yes` or `no`.
pub async fn how_sure(question: &Question<'_>, pool: &dyn JudgePool) -> Result<Answer, Error> {
    ask(question, &YES_OR_NO, pool, read_yes_or_no).await
}

fn read_yes_or_no(text: &str) -> Result<Answer, String> {
    if let Some(yes) = reply::bare_word(text) {
        return Ok(Answer { yes, confidence: if yes { 1.0 } else { 0.0 }, reasoning: String::new() });
    }
    let fields = YES_OR_NO.read(text)?;
    let yes = fields.get("judgment").and_then(Value::as_str) == Some("yes");
    let confidence = number_of(&fields, "confidence")?;
    Ok(Answer { yes, confidence, reasoning: reasoning_of(&fields) })
}

pub(crate) fn contradiction(judgment: &str, confidence: f64) -> String {
    format!("`judgment` {judgment:?} and `confidence` {confidence} contradict each other")
}

/// Asks for a number from 0 to 1.
///
/// # Errors
/// The model fails, or no try gives a JSON object of the requested form or a bare number in the range.
pub async fn number(question: &Question<'_>, pool: &dyn JudgePool) -> Result<Rating, Error> {
    ask(question, &NUMBER, pool, |text| match reply::bare_number(text) {
        Some(score) => Ok(Rating { score, reasoning: String::new() }),
        None => {
            let fields = NUMBER.read(text)?;
            Ok(Rating { score: number_of(&fields, "score")?, reasoning: reasoning_of(&fields) })
        }
    })
    .await
}

/// An answer, and the model that gave it, as its server names it.
#[derive(Debug)]
pub(crate) struct Heard<T> {
    pub(crate) answer: T,
    pub(crate) model: String,
}

/// Like [`ask_whom`], without the name of the model.
pub(crate) async fn ask<T>(
    question: &Question<'_>,
    form: &Form,
    pool: &dyn JudgePool,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Error> {
    Ok(ask_whom(question, form, pool, read).await?.answer)
}

/// Asks until `read` understands the reply, at most [`TRIES`] times. A failed call is not repeated here: the model has its
/// own retry layer.
pub(crate) async fn ask_whom<T>(
    question: &Question<'_>,
    form: &Form,
    pool: &dyn JudgePool,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Heard<T>, Error> {
    let model = pool.judge(question.model_type);
    let (mut reason, mut said) = (String::new(), String::new());
    for earlier in 0..TRIES {
        let (context, seed) = pool.context(question.scope);
        let request = llm::chat::Request {
            messages: prompt::messages(question, form, seed, earlier > 0),
            temperature: Some(question.temperature.unwrap_or(TEMPERATURE)),
            max_tokens: Some(form.max_tokens.max(pool.judge_max_tokens())),
            seed: Some(seed),
            schema: Some(form.schema.clone()),
            context,
            ..llm::chat::Request::default()
        };
        let reply = model.ask(&request).await?;
        match read(&reply.text) {
            Ok(answer) => {
                let served = reply.receipt.model;
                let model = if served.is_empty() { model.endpoint().to_owned() } else { served };
                return Ok(Heard { answer, model });
            }
            Err(why) => (reason, said) = (why, reply.text),
        }
    }
    Err(Error::Malformed { reason, reply: said })
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

/// The meaning of `confidence` in every form. Without it, models report how sure they are of a no.
pub(crate) const CONFIDENCE: &str = "the probability, from 0 to 1, that the answer to the question is yes: near 1 for a clear yes, near 0 for a clear no";

static YES_OR_NO: LazyLock<Form> = LazyLock::new(|| {
    // The judgment comes first: small models that reason first reach the token limit before they decide.
    let properties = json!({
        "judgment": { "type": "string", "enum": ["yes", "no"] },
        "confidence": { "type": "number", "minimum": 0, "maximum": 1, "description": CONFIDENCE },
        "reasoning": { "type": "string" },
    });
    let meaning = format!(
        "`judgment` is \"yes\" or \"no\", the answer to the question; `confidence` is {CONFIDENCE}; \
         `reasoning` is one short sentence."
    );
    Form::of_properties(properties, meaning, 300).expect("the schema is a constant that compiles")
});

static NUMBER: LazyLock<Form> = LazyLock::new(|| {
    let properties = json!({
        "score": { "type": "number", "minimum": 0, "maximum": 1 },
        "reasoning": { "type": "string" },
    });
    let meaning = "`score` is the number asked for, from 0 to 1; `reasoning` is one short sentence.".to_owned();
    Form::of_properties(properties, meaning, 300).expect("the schema is a constant that compiles")
});
