//! Reads a reply out of JSON of any shape: the paths of its text, its tool calls and its session id.

mod found;
mod heard;
mod place;
mod tool_calls;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use heard::Heard;
pub use place::ReplyPlaces;

/// Why an answer is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Trouble(pub(crate) String);

/// Where in an answer the parts of a reply stand. What is absent is not looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reading {
    /// The whole text. Without it, and without `delta`, an answer that is plain text is the reply.
    pub text: Option<ReplyPlaces>,
    /// A piece of the text, in each event of a streamed answer.
    pub delta: Option<ReplyPlaces>,
    /// An event in which this finds something other than false ends a streamed answer.
    pub done: Option<ReplyPlaces>,
    /// Tool calls, or lists of them. A call's name, arguments, id and result are understood under their usual keys.
    pub tool_calls: Option<ReplyPlaces>,
    /// Results of tool calls that come apart from the calls, or lists of them. The id of the call tells them apart.
    pub tool_results: Option<ReplyPlaces>,
    /// Names of actions, or lists of them.
    pub actions: Option<ReplyPlaces>,
    /// The agent's id of the conversation, for the calls that follow: `{{ session }}`.
    pub session: Option<ReplyPlaces>,
    /// Where this finds something other than false, the answer is an error, and that is its message.
    pub error: Option<ReplyPlaces>,
    pub input_tokens: Option<ReplyPlaces>,
    pub output_tokens: Option<ReplyPlaces>,
}

impl Reading {
    /// `event` is the name of the event in which the value came; it is empty for a whole answer.
    pub(crate) fn session_of(&self, event: &str, value: &Value) -> Option<String> {
        let id = *self.session.as_ref()?.find(event, value).first()?;
        Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned))
    }

    /// These places where there are any, else those beneath.
    pub(crate) fn over(self, beneath: Self) -> Self {
        Self {
            text: self.text.or(beneath.text),
            delta: self.delta.or(beneath.delta),
            done: self.done.or(beneath.done),
            tool_calls: self.tool_calls.or(beneath.tool_calls),
            tool_results: self.tool_results.or(beneath.tool_results),
            actions: self.actions.or(beneath.actions),
            session: self.session.or(beneath.session),
            error: self.error.or(beneath.error),
            input_tokens: self.input_tokens.or(beneath.input_tokens),
            output_tokens: self.output_tokens.or(beneath.output_tokens),
        }
    }

    /// Whether a part of the reply may stand in an event of this name.
    pub(crate) fn is_read_in(&self, event: &str) -> bool {
        let Self { text, delta, done, tool_calls, tool_results, actions, session, error, input_tokens, output_tokens } =
            self;
        [text, delta, done, tool_calls, tool_results, actions, session, error, input_tokens, output_tokens]
            .into_iter()
            .flatten()
            .any(|places| places.are_read_in(event))
    }
}
