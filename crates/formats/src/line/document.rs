//! What a file of an expected conversation may hold.

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
    /// What people call it; the file's name unless written.
    pub(super) name: Option<Words>,
    /// What it is for.
    pub(super) description: Option<String>,
    /// Stands with every finding.
    pub(super) test_note: Option<String>,
    /// What the agent says before the user does, where the first turn is the agent's.
    pub(super) initial_agent_message: Option<String>,
    /// Turns of user and assistant, one after the other; the last is the assistant's.
    #[serde(rename = "conversation")]
    #[schemars(with = "Vec<TurnDocument>", length(min = 1))]
    _conversation: Vec<Value>,
    /// Words that `--tag` selects by.
    pub(super) tags: Vec<String>,
    /// How often it is played; once unless written.
    pub(super) repeats: Option<Repeats>,
    /// The share of its repeats that must pass; unless written, what `gates` in `gabfest.yaml` asks for.
    pub(super) required_pass_rate: Option<Share>,
    /// Which answer the next turn builds on; `actual` unless written.
    pub(super) history: Option<History>,
    /// What a failing check does to the turns after it; `stop` unless written.
    pub(super) on_failure: Option<OnFailure>,
    /// A negative control: PASS and FAIL are exchanged.
    pub(super) expect_failure: bool,
    /// How long the agent may take for one answer; 90000 unless written.
    pub(super) timeout_per_turn_ms: Option<TurnMillis>,
}

/// What one side says.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ExpectedTurn")]
pub(crate) struct TurnDocument {
    /// Who speaks.
    pub(super) role: Role,
    /// What is said; of the assistant also `*` (anything), `<what must be true of it>`, or a list of alternatives.
    #[serde(default, rename = "text")]
    #[schemars(with = "TextDocument")]
    _text: Value,
    /// Exactly the tools that the assistant must call, in any order.
    #[serde(default, rename = "tool_calls")]
    #[schemars(with = "Vec<super::tools::CallDocument>")]
    _tool_calls: Vec<Value>,
    /// Exactly what the assistant must do on the telephone, in this order.
    #[serde(default, rename = "telephony_events")]
    #[schemars(with = "Vec<EventDocument>")]
    _telephony_events: Vec<Value>,
    /// Whether arguments and results may have keys besides those written.
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

/// The alternatives of a turn's text; none where nothing is said.
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
