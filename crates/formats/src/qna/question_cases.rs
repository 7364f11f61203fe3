//! Turns questions into cases: each pair of a knowledge base is a document of the plan, and its questions are an axis
//! over it.
//!
//! A file of ten thousand questions may be a hundred documents, and each question is its own case: the text of an
//! answer is kept once, and the plan stays about as large as the file.

use scenario::check::bounded::Count;
use scenario::{
    Action, Check, Environment, History, Message, OnFailure, Plugin, Rule, Scenario, Source, Step, Strategy, check,
    format::Script,
    message::Speaker,
    plan::Axis,
    question::{Filter, QUESTION, REQUEST, Request},
    user::Pauses,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yaml::{Diagnostic, Document, Places};

use super::{
    base::{Alteration, FileLink, KnowledgeBase, Pair, Prompt, default_source},
    collate::Collated,
};

/// The name of the format.
pub(super) const NAME: &str = "qna";
/// The time limit of an answer.
const TIMEOUT_MS: u64 = 60_000;

/// A pair as a plan carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// The current question: an axis puts each of `questions` here.
    pub question: String,
    pub questions: Vec<String>,
    /// Absent in a batch that only names ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    #[serde(default = "default_source")]
    pub source: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<Prompt>,
    /// Ask for so many answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<u32>,
    /// Ask this knowledge base instead of the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge_base: Option<String>,
    /// The rest of a file apart from its pairs; only in its first document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Beside {
    pub name: String,
    pub info: Vec<(String, String)>,
    pub alterations: Vec<Alteration>,
    pub urls: Vec<String>,
    pub files: Vec<FileLink>,
}

impl Asked {
    /// Of a document of this format.
    #[must_use]
    pub fn of(document: &Value) -> Option<Self> {
        Self::deserialize(document).ok()
    }

    /// `None` if no answer is written.
    #[must_use]
    pub fn into_pair(self) -> Option<Pair> {
        let Self { questions, answer, id, source, filters, prompts, .. } = self;
        Some(Pair { id, source, questions, filters, answer: answer?, prompts })
    }
}

impl From<Pair> for Asked {
    fn from(pair: Pair) -> Self {
        let Pair { id, source, questions, filters, answer, prompts } = pair;
        Self {
            question: questions.first().cloned().unwrap_or_default(),
            questions,
            answer: Some(answer),
            id,
            source,
            filters,
            prompts,
            top: None,
            knowledge_base: None,
            beside: None,
        }
    }
}

/// The documents of a knowledge base.
pub(super) fn documents(collated: Collated) -> (Vec<Document>, Vec<Diagnostic>) {
    let Collated { base, places, diagnostics } = collated;
    let KnowledgeBase { name, info, pairs, alterations, urls, files } = base;
    let beside = Beside { name, info, alterations, urls, files };
    let mut beside = (beside != Beside::default()).then_some(beside);
    let documents = pairs.into_iter().zip(places).map(|(pair, place)| {
        let asked = Asked { beside: beside.take(), ..Asked::from(pair) };
        document(&asked, place.path, place.line)
    });
    (documents.collect(), diagnostics)
}

pub(super) fn document(asked: &Asked, path: String, line: u32) -> Document {
    let value = serde_json::to_value(asked).expect("the shape has text keys only");
    // One of our lists of mappings, so that the plan keeps the line.
    let places = Places::from_lines(&[("question".to_owned(), line)].into());
    Document { path, value, places, included: Vec::new() }
}

/// Each question of a pair is a case.
pub(super) fn axes(document: &Document) -> Vec<Axis> {
    let questions = document.value.get("questions").and_then(Value::as_array).cloned().unwrap_or_default();
    if questions.is_empty() { Vec::new() } else { vec![Axis { parameter: QUESTION.to_owned(), values: questions }] }
}

/// Asks one question and compares the answer.
pub(super) fn read(document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
    let line = document.root().spot_of(QUESTION).line.max(1);
    let fault = |message: String| (None, vec![Diagnostic::error(&document.path, line, 0, message)]);
    let asked = match Asked::deserialize(&document.value) {
        Ok(asked) => asked,
        Err(error) => return fault(format!("is not a pair of questions and an answer: {error}")),
    };
    if asked.question.trim().is_empty() {
        return fault("the question is empty".to_owned());
    }
    let text = asked.answer.as_ref().map(|answer| match answer.trim() {
        "" => Rule::Empty(check::Empty {}),
        _ => Rule::Equals(check::Equals { values: vec![answer.clone()], ignore_case: false }),
    });
    let id = asked.id.map(|id| Rule::AnswerId(check::AnswerId { id: Count(id) }));
    let step = Step {
        name: None,
        action: Action::Say {
            messages: vec![Message::user(&asked.question)],
            expected: asked.answer.as_ref().map(|answer| Message::text_of(Speaker::Agent, answer)),
            timeout_ms: TIMEOUT_MS,
        },
        checks: text.into_iter().chain(id).map(|rule| Check::new(rule, line)).collect(),
        line,
    };
    let name = asked.questions.first().unwrap_or(&asked.question).clone();
    let request = Request { strict_filters: asked.filters, top: asked.top, knowledge_base: asked.knowledge_base };
    let plugin = (request != Request::default()).then(|| Plugin {
        name: REQUEST.to_owned(),
        version: None,
        enabled: true,
        config: serde_json::to_value(&request).expect("the shape has text keys only"),
    });
    let scenario = Scenario {
        name,
        description: String::new(),
        format: NAME.to_owned(),
        source: Source { path: document.path.clone(), line },
        tags: Vec::new(),
        weight: 1.0,
        required_pass_rate: None,
        plugins: plugin.into_iter().collect(),
        environment: Environment::default(),
        mocks: Vec::new(),
        opening: Vec::new(),
        steps: vec![step],
        strategy: Strategy::AllPass,
        required_score: None,
        history: History::Actual,
        on_failure: OnFailure::Continue,
        expect_failure: false,
        pauses: Pauses::default(),
        vars: serde_json::Map::new(),
    };
    (Some(Script { scenario, personas: Vec::new(), repeats: None }), Vec::new())
}
