//! `run`: the steps, each a conversation, one exchange, or code.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    conversation::{self, ConversationDocument},
    said::{self, MessageDocument},
};
use scenario::check::{self, Evaluation};
use scenario::{Action, Message, Step, message::Speaker};
use yaml::bounded::Millis;
use yaml::{Findings, Part};

/// How long an agent may take for the answer to a single input, in milliseconds.
pub(super) const INPUT_TIMEOUT_MS: u64 = 90_000;
const OPENING_LINE: &str = "Hello, I need help.";

/// One step: with `conversation` a simulated conversation, else with `input` one exchange, else with `code` a program.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Step")]
pub(crate) struct StepDocument {
    /// What people call the step.
    name: Option<String>,
    /// The language of `code`: bash unless written.
    lang: Option<String>,
    /// A program to run; off unless the operator of the worker allows it.
    code: Option<String>,
    /// What the user says; in a conversation, what the user says first.
    input: Option<String>,
    /// The answer to `input` as it should be: what the mock agent says, and what the next turn builds on with
    /// `history: expected`. No check by itself.
    expected: Option<String>,
    /// Judged when the step is over.
    #[serde(default, rename = "evaluations")]
    #[schemars(with = "Vec<Evaluation>")]
    _evaluations: Vec<Value>,
    /// A conversation with a simulated user.
    #[serde(rename = "conversation")]
    #[schemars(with = "Option<ConversationDocument>")]
    _conversation: Option<Value>,
    /// What only gabfest knows of a step.
    #[serde(default)]
    gabfest: StepOurs,
}

/// Of a step that is one exchange.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "StepExtras")]
pub(crate) struct StepOurs {
    /// What is said before `input`, or instead of it; an empty list without `input`: the agent is asked again.
    #[serde(rename = "messages")]
    #[schemars(with = "Option<Vec<MessageDocument>>")]
    _messages: Option<Vec<Value>>,
    /// The answer as it should be, where it is more than the text of `expected`.
    #[serde(rename = "expected")]
    #[schemars(with = "Option<MessageDocument>")]
    _expected: Option<Value>,
    /// How long the agent may take; 90000 unless written.
    timeout_ms: Option<Millis>,
}

pub(super) fn read_all(parts: &[Part<'_>], findings: &mut Findings) -> Vec<Step> {
    parts.iter().filter_map(|part| read(part, findings)).collect()
}

fn read(part: &Part<'_>, findings: &mut Findings) -> Option<Step> {
    let written = part.decode::<StepDocument>(findings);
    let checks = check::read_all(&part.items_of("evaluations"), findings);
    let conversation = part.get("conversation").map(|part| conversation::read(&part, findings));
    let written = written?;
    warn_of_unused(part, findings);
    let ours = part.get("gabfest");
    let messages = ours.as_ref().and_then(|ours| ours.get("messages"));
    let action = match (conversation, written.input, written.code) {
        (Some(conversation), input, _) => {
            let mut conversation = conversation?;
            let said = input.filter(|text| !text.trim().is_empty());
            conversation.opening_line = said.unwrap_or_else(|| OPENING_LINE.to_owned());
            Action::Converse(Box::new(conversation))
        }
        (None, input, _) if input.is_some() || messages.is_some() => {
            let before = messages.map_or_else(Vec::new, |messages| said::read_all(&messages.items(), findings));
            let expected = match ours.as_ref().and_then(|ours| ours.get("expected")) {
                Some(message) => Some(said::read(&message, findings)?),
                None => written.expected.map(|text| Message::text_of(Speaker::Agent, text)),
            };
            Action::Say {
                messages: before.into_iter().chain(input.map(Message::user)).collect(),
                expected,
                timeout_ms: written.gabfest.timeout_ms.map_or(INPUT_TIMEOUT_MS, |timeout| timeout.0),
            }
        }
        (None, _, Some(code)) => Action::Execute { language: written.lang.unwrap_or_else(|| "bash".to_owned()), code },
        (None, _, None) => {
            findings.error(part.spot(), "the step does nothing: expected `input`, `conversation` or `code`");
            findings.help("`input` is one message to the agent, `conversation` a simulated user, `code` a program");
            return None;
        }
    };
    Some(Step { name: written.name, action, checks, line: part.line() })
}

/// A step does one thing; what else is written has no effect, which its writer should know.
fn warn_of_unused(part: &Part<'_>, findings: &mut Findings) {
    let has = |key: &str| part.get(key).is_some();
    let messages = part.get("gabfest").is_some_and(|ours| ours.get("messages").is_some());
    let talks = has("conversation") || has("input") || messages;
    for key in ["expected", "gabfest"] {
        if has(key) && (has("conversation") || !(has("input") || messages)) {
            findings.warning(part.key_spot(key), format!("`{key}` has no effect: it is about an `input` alone"));
        }
    }
    for key in ["code", "lang"] {
        if has(key) && (talks || !has("code")) {
            let winner = if has("conversation") {
                "conversation"
            } else if has("input") {
                "input"
            } else if messages {
                "messages"
            } else {
                "code"
            };
            let relation = if talks { "stands beside" } else { "stands without" };
            findings.warning(part.key_spot(key), format!("`{key}` has no effect: it {relation} `{winner}`"));
        }
    }
}
