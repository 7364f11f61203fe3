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

/// One step: a simulated conversation (`conversation`), one exchange (`input`) or a program (`code`).
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Step")]
pub(crate) struct StepDocument {
    /// The step's name.
    name: Option<String>,
    /// The language of `code`. The default is bash.
    lang: Option<String>,
    /// A program to run. The worker's operator must allow it.
    code: Option<String>,
    /// The user's message. In a conversation, the user's first message.
    input: Option<String>,
    /// The expected answer to `input`. The mock agent says it, and with `history: expected` the next turn builds on
    /// it. It is not a check.
    expected: Option<String>,
    /// Evaluations at the end of the step.
    #[serde(default, rename = "evaluations")]
    #[schemars(with = "Vec<Evaluation>")]
    _evaluations: Vec<Value>,
    /// A conversation with a simulated user.
    #[serde(rename = "conversation")]
    #[schemars(with = "Option<ConversationDocument>")]
    _conversation: Option<Value>,
    /// Keys that only gabfest knows.
    #[serde(default)]
    gabfest: StepOurs,
}

/// Keys of a step that is one exchange.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "StepExtras")]
pub(crate) struct StepOurs {
    /// Messages before `input`, or instead of it. An empty list without `input` asks the agent again.
    #[serde(rename = "messages")]
    #[schemars(with = "Option<Vec<MessageDocument>>")]
    _messages: Option<Vec<Value>>,
    /// The expected answer, if it is more than the text of `expected`.
    #[serde(rename = "expected")]
    #[schemars(with = "Option<MessageDocument>")]
    _expected: Option<Value>,
    /// The time limit for the agent, in milliseconds. The default is 90,000.
    timeout_ms: Option<Millis>,
}

pub(super) fn read_all(parts: &[Part<'_>], findings: &mut Findings) -> Vec<Step> {
    parts.iter().filter_map(|part| read(part, findings)).collect()
}

fn read(part: &Part<'_>, findings: &mut Findings) -> Option<Step> {
    let written = part.decode::<StepDocument>(findings);
    check::refuse_turn(&part.items_of("evaluations"), findings);
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

/// A step does one thing; warns about keys that have no effect.
fn warn_of_unused(part: &Part<'_>, findings: &mut Findings) {
    let has = |key: &str| part.get(key).is_some();
    let messages = part.get("gabfest").is_some_and(|ours| ours.get("messages").is_some());
    let talks = has("conversation") || has("input") || messages;
    for key in ["expected", "gabfest"] {
        if has(key) && (has("conversation") || !(has("input") || messages)) {
            findings.warning(part.key_spot(key), format!("`{key}` has no effect: it applies only to an `input`"));
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
            let relation = if talks { "beside" } else { "without" };
            findings.warning(part.key_spot(key), format!("`{key}` has no effect {relation} `{winner}`"));
        }
    }
}
