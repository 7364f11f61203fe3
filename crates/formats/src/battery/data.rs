//! `data`: the sets that tests are made of.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use scenario::battery::{Answer, DataSet, Kind};
use yaml::{Findings, Part};

yaml::bounded! {
    /// The id of a data set.
    pub(crate) SetId: u32, "integer", 1.0 to Some(9_999.0);
}

/// A piece of information and the questions about it, each in several wordings.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DataSet")]
pub(crate) struct SetDocument {
    /// Unique in the battery.
    id: SetId,
    /// QA: information, then a question. CO: a question about the chatter. IA, IQ: with context. IF: bad input.
    kind: Kind,
    /// The information to give; for CO the question, for IF the text that a filter should catch.
    information: Vec<String>,
    /// The questions about it.
    #[serde(default)]
    questions: Vec<String>,
    /// The question about the reply; without it the question has a yes-or-no answer.
    extract: Option<String>,
    /// The right answer: text, or true or false for yes and no.
    #[serde(default)]
    #[schemars(with = "Option<AnswerDocument>")]
    answer: Option<Value>,
    /// Words that a reply to bad input must not hold.
    #[serde(default)]
    blocked: Vec<String>,
}

/// Text, or true or false.
#[derive(Debug)]
pub(crate) struct AnswerDocument;

impl JsonSchema for AnswerDocument {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Answer".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "boolean"] })
    }
}

/// Reads the sets; faulty ones are left out.
pub(crate) fn data_sets(parts: &[Part<'_>], findings: &mut Findings) -> Vec<DataSet> {
    let mut seen = BTreeSet::new();
    parts
        .iter()
        .filter_map(|part| {
            let set = set(part, findings)?;
            if !seen.insert(set.id) {
                findings.error(part.spot_of("id"), format!("duplicate data set id {}", set.id));
                return None;
            }
            Some(set)
        })
        .collect()
}

fn set(part: &Part<'_>, findings: &mut Findings) -> Option<DataSet> {
    let written = part.decode::<SetDocument>(findings)?;
    let asks = matches!(written.kind, Kind::Qa | Kind::Ia | Kind::Iq);
    let kind = written.kind.name();
    let mut refuse = |key: &str, message: String| {
        findings.error(part.spot_of(key), message);
        None
    };
    let blank = |texts: &[String]| texts.iter().any(|text| text.trim().is_empty());
    if written.information.is_empty() || blank(&written.information) {
        return refuse("information", "a data set needs `information` with words in it".to_owned());
    }
    if asks && (written.questions.is_empty() || blank(&written.questions)) {
        return refuse("questions", format!("a {kind} set needs `questions` with words in them"));
    }
    if written.kind == Kind::If && (written.blocked.is_empty() || blank(&written.blocked)) {
        return refuse("blocked", "an IF set needs `blocked`: words that a reply must not hold".to_owned());
    }
    let answer = match written.answer {
        Some(Value::String(text)) => Some(Answer::Text(text)),
        Some(Value::Bool(yes)) => Some(Answer::Yes(yes)),
        Some(_) => return refuse("answer", "expected text, true or false".to_owned()),
        None => None,
    };
    match (&answer, asks) {
        (None, true) => return refuse("answer", format!("a {kind} set needs an `answer`")),
        (Some(_), false) => return refuse("answer", format!("a {kind} set has no `answer`")),
        (Some(Answer::Text(_)), true) if written.extract.is_none() => {
            return refuse(
                "answer",
                "an `answer` in words needs `extract`: what is looked for in the reply".to_owned(),
            );
        }
        (Some(Answer::Yes(_)), true) if written.extract.is_some() => {
            return refuse("extract", "a yes-or-no `answer` needs no `extract`".to_owned());
        }
        _ => {}
    }
    Some(DataSet {
        id: written.id.0,
        kind: written.kind,
        information: written.information,
        questions: written.questions,
        extract: written.extract,
        answer,
        blocked: written.blocked,
    })
}
