//! The shape of a file with an expected conversation.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use scenario::{History, OnFailure};
use yaml::bounded::{Repeats, Share, TurnMillis, Words};
use yaml::{Findings, Part};

/// A conversation, and what the agent should answer.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "Expected conversation")]
pub(crate) struct LineDocument {
    /// The name. The default is the file's name.
    pub(super) name: Option<Words>,
    /// A description for people.
    pub(super) description: Option<String>,
    /// A note that every finding shows.
    pub(super) test_note: Option<String>,
    /// The agent's greeting, if the first turn is the agent's.
    pub(super) initial_agent_message: Option<String>,
    /// Alternating turns of user and assistant. The last turn is the assistant's.
    #[serde(rename = "conversation")]
    #[schemars(with = "Vec<TurnDocument>", length(min = 1))]
    _conversation: Vec<Value>,
    /// Tags for `--tag`.
    pub(super) tags: Vec<String>,
    /// The number of repeats. The default is 1.
    pub(super) repeats: Option<Repeats>,
    /// The share of repeats that must pass. The default comes from `gates` in `gabfest.yaml`.
    pub(super) required_pass_rate: Option<Share>,
    /// The answer that the next turn builds on. The default is `actual`.
    pub(super) history: Option<History>,
    /// What happens to the next turns after a failed check. The default is `stop`.
    pub(super) on_failure: Option<OnFailure>,
    /// Makes this a negative control: swaps PASS and FAIL.
    pub(super) expect_failure: bool,
    /// The time limit for one answer of the agent, in milliseconds. The default is 90,000.
    pub(super) timeout_per_turn_ms: Option<TurnMillis>,
}

/// What one side says.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ExpectedTurn")]
pub(crate) struct TurnDocument {
    /// The speaker.
    pub(super) role: Role,
    /// The text. The assistant's can also be `*` (anything), `<a condition>`, or a list of alternatives.
    #[serde(default, rename = "text")]
    #[schemars(with = "TextDocument")]
    _text: Value,
    /// Exactly the expected tool calls, in any order.
    #[serde(default, rename = "tool_calls")]
    #[schemars(with = "Vec<super::tools::CallDocument>")]
    _tool_calls: Vec<Value>,
    /// Exactly the expected telephony events, in this order.
    #[serde(default, rename = "telephony_events")]
    #[schemars(with = "Vec<EventDocument>")]
    _telephony_events: Vec<Value>,
    /// Whether arguments and results can have additional keys.
    #[serde(default)]
    pub(super) partial: bool,
}

/// One text, or alternatives.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "ExpectedText")]
#[expect(dead_code, reason = "only its schema is used")]
enum TextDocument {
    One(String),
    Any(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    User,
    Assistant,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Something that is done on the telephone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "TelephonyEvent")]
pub(crate) enum EventDocument {
    /// A key is pressed.
    Dtmf { button: String },
    /// The call is put through.
    TransferCall { target_phone_number: String },
    /// The agent hangs up.
    EndCall {},
}

/// The alternatives of a turn's text; none if nothing is said.
pub(super) fn texts(part: &Part<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    let Some(text) = part.get("text") else { return Some(Vec::new()) };
    match text.value() {
        Value::String(one) if one.trim().is_empty() => Some(Vec::new()),
        Value::String(one) => Some(vec![one.clone()]),
        Value::Array(list) if !list.is_empty() && list.iter().all(Value::is_string) => {
            Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => {
            findings.error(text.spot(), "expected a text, or a list of at least one alternative text");
            None
        }
    }
}

/// An event as agents report it among their actions.
pub(super) fn event(part: &Part<'_>, findings: &mut Findings) -> Option<String> {
    Some(match part.decode::<EventDocument>(findings)? {
        EventDocument::Dtmf { button } => format!("dtmf {}", button.trim()),
        EventDocument::TransferCall { target_phone_number } => format!("transfer_call {}", target_phone_number.trim()),
        EventDocument::EndCall {} => "end_call".to_owned(),
    })
}
