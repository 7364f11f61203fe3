//! Asks judges one question about some material, reads their answers strictly, and tries a bounded number of times.
//!
//! Every verdict is a [`Ballot`] with reasoning and quotes, unless the author of a check gives a schema. [`yes_or_no`] and
//! [`number`] serve the questions that gabfest words. In the prompt, the agent's text is only data.

mod answer;
mod ballot;
mod error;
mod form;
mod material;
mod prompt;
mod quotes;
mod reply;
mod votes;

use std::{collections::VecDeque, sync::Arc};

use record::Scope;
use serde_json::{Map, Value};

use self::prompt::Digests;
pub(crate) use self::{
    answer::recorded,
    ballot::{Ballot, Beside, Scale, Verdict, entries, form as form_of_ballot, form_of_many, form_with, read_entries},
    error::Fault,
    form::Form,
    votes::{Counted, TooFew, Votes, counted, majority, recorded_one},
};
pub use self::{
    answer::{Answer, Rating, how_sure, number, yes_or_no},
    error::{Error, Open, TRIES},
    material::Material,
    prompt::{Question, TEMPERATURE},
};
use crate::judge_pool::JudgePool;

pub(crate) fn contradiction(judgment: &str, confidence: f64) -> String {
    format!("{judgment:?} and `confidence` {confidence} contradict each other")
}

/// 1 less the number, without the noise of binary fractions: judges write two or three decimals.
pub(crate) fn complement(number: f64) -> f64 {
    ((1.0 - number) * 1e6).round() / 1e6
}

/// An answer, and its source.
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
/// Several votes are asked at the same time. The calls of each are numbered before the first is sent, so the order in
/// which judges answer does not matter.
pub(crate) async fn ask<T: Send, E: Into<Fault>>(
    question: &Question<'_>,
    form: &Form,
    pool: &dyn JudgePool,
    read: impl Fn(&str) -> Result<T, E> + Sync,
) -> Result<Votes<T>, TooFew<T>> {
    let voters: Vec<Option<&str>> = question.judging.voters(question.model_type).collect();
    if let [voter] = voters.as_slice() {
        let question = Question { model_type: *voter, ..*question };
        return ask_one(&question, form, pool, read).await.map(Votes::one).map_err(TooFew::none);
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
    let votes = Votes { heard, asked: voters.len() };
    match lost {
        Some(error) if votes.heard.len() * 2 <= votes.asked => Err(TooFew { error: Box::new(error), votes }),
        _ => Ok(votes),
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

/// Asks one judge until `read` understands the reply, at most [`TRIES`] times. After a reply that the token limit cut,
/// it asks once more with twice the limit. After quotes that are not in the material, it asks once more. A failed call
/// is not repeated here: the model has its own retry layer.
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
        if reply.finish == llm::chat::Finish::Refused {
            let message = "it refused, or a filter stopped its answer".to_owned();
            return Err(llm::Error::Refused { endpoint: model.endpoint().to_owned(), status: 200, message }.into());
        }
        let cut = reply.finish == llm::chat::Finish::Length;
        // `Monday` may be the first word of "Monday or Tuesday".
        let understood = match cut && !reply::is_object(&reply.text) {
            true => Err(Fault::Form("only its beginning arrived".to_owned())),
            false => read(&reply.text).map_err(Into::into),
        };
        let fault = match understood {
            Ok(answer) => {
                let digests = Digests::of(question, form, model.endpoint(), &reply.receipt, usual);
                let served = reply.receipt.model;
                let served = if served.is_empty() { model.endpoint().to_owned() } else { served };
                return Ok(Heard { answer, model: served, digests, shortened_turns });
            }
            Err(fault) => fault,
        };
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
    let of_images = llm::BYTES_OF_IMAGE.saturating_mul(question.material.images().len() as u64);
    let room = model.most_input_bytes(Some(tokens))?.saturating_sub(of_images);
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    let mut messages = prompt::messages(question, form, 0, Some(""));
    messages.iter_mut().for_each(|message| message.images.clear());
    let request: llm::chat::Request =
        llm::chat::Request { messages, schema: Some(form.schema.clone()), ..llm::chat::Request::default() };
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

/// The reasoning in an author's own form, which need not have any; what is there has words.
pub(crate) fn reasoning_of(fields: &Map<String, Value>) -> Result<String, String> {
    match fields.get("reasoning").and_then(Value::as_str) {
        Some(text) if text.trim().is_empty() => Err("`reasoning` is empty".to_owned()),
        text => Ok(text.unwrap_or_default().to_owned()),
    }
}
