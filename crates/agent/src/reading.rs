//! Reads a reply out of JSON of any shape: the paths of its text, its tool calls and its session id.

mod heard;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path::Path;

pub(crate) use heard::Heard;

/// Where in an answer the parts of a reply stand. What is absent is not looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reading {
    /// The whole text. Without it, and without `delta`, an answer that is plain text is the reply.
    pub text: Option<Path>,
    /// A piece of the text, in each event of a streamed answer.
    pub delta: Option<Path>,
    /// An event in which this finds something other than false ends a streamed answer.
    pub done: Option<Path>,
    /// Tool calls, or lists of them. A call's name, arguments, id and result are understood under their usual keys.
    pub tool_calls: Option<Path>,
    /// Names of actions, or lists of them.
    pub actions: Option<Path>,
    /// The agent's id of the conversation, for the calls that follow: `{{ session }}`.
    pub session: Option<Path>,
    /// Where this finds something other than false, the answer is an error, and that is its message.
    pub error: Option<Path>,
    pub input_tokens: Option<Path>,
    pub output_tokens: Option<Path>,
}

impl Reading {
    pub(crate) fn session_of(&self, value: &Value) -> Option<String> {
        let id = *self.session.as_ref()?.find(value).first()?;
        Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned))
    }
}
