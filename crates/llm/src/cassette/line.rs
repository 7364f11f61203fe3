//! One line of a cassette: a call and what came of it, as JSON.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{Effort, Error, cassette::Taped};

/// The version of the lines that this build writes, and the only one that it reads.
pub const VERSION: u32 = 1;

/// The first line of a cassette.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// [`VERSION`].
    pub cassette: u32,
}

/// A recorded call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    #[serde(flatten)]
    pub(crate) place: Place,
    /// What the answer depends on.
    pub(crate) asked: Value,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// Where a call belongs: everything that finds it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The digest of role, model and `asked`, in hex.
    pub(crate) key: String,
    /// `agent`, `user_sim`, `judge` or `scorer`.
    pub(crate) role: String,
    /// The model that was asked for, or the agent.
    pub(crate) model: String,
    pub(crate) trial: String,
    pub(crate) attempt: u32,
    pub(crate) turn: u32,
    /// The number of the role's call in the turn; of judges: of the question in the trial.
    pub(crate) call: u32,
}

/// What came of a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Reply(Value),
    Failed { error: Error, effort: Effort },
}

impl Place {
    /// The place of a request whose content is `asked`.
    pub(crate) fn of<R: Taped>(request: &R, model: &str, asked: &Value) -> Self {
        let (context, model) = (request.context(), if R::NAMES_MODEL { model } else { "" });
        Self {
            key: key(&context.role, model, asked),
            role: context.role.clone(),
            model: model.to_owned(),
            trial: context.trial.clone(),
            attempt: context.attempt,
            turn: context.turn,
            call: context.call,
        }
    }
}

/// The content of a request without keys, as it is recorded and compared.
pub(crate) fn asked<R: Taped>(request: &R) -> Value {
    let mut asked = request.asked();
    redact_texts(&mut asked);
    asked
}

/// Removes keys from all texts. The names of fields stay.
pub(crate) fn redact_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(clean) = redact::redact(text) {
                *text = clean;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(redact_texts),
        Value::Object(map) => map.values_mut().for_each(redact_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The digest of a call's content in hex.
fn key(role: &str, model: &str, asked: &Value) -> String {
    let whole = json!({ "role": role, "model": model, "asked": asked }).to_string();
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(whole.as_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
