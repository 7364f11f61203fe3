//! Reads a reply out of JSON of any shape: the paths of its text, its tool calls and its session id.

mod found;
mod heard;
mod place;
mod tool_calls;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use heard::Heard;
pub use place::ReplyPlaces;

/// Why an answer is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Trouble(pub(crate) String);

/// Where the parts of a reply are in an answer. Parts without a place are not read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reading {
    /// The whole text. Without it, and without `delta`, an answer that is plain text is the reply.
    pub text: Option<ReplyPlaces>,
    /// A piece of the text, in each event of a streamed answer.
    pub delta: Option<ReplyPlaces>,
    /// An event in which this finds something other than false ends a streamed answer.
    pub done: Option<ReplyPlaces>,
    /// Tool calls, or lists of them. The usual keys for a call's name, arguments, id and result are recognised.
    pub tool_calls: Option<ReplyPlaces>,
    /// Results of tool calls that arrive separately from the calls, or lists of them. They are matched by the id of the
    /// call.
    pub tool_results: Option<ReplyPlaces>,
    /// Names of actions, or lists of them.
    pub actions: Option<ReplyPlaces>,
    /// The agent's id of the conversation, for the calls that follow: `{{ session }}`.
    pub session: Option<ReplyPlaces>,
    /// If this finds something other than false, the answer is an error with this message.
    pub error: Option<ReplyPlaces>,
    pub input_tokens: Option<ReplyPlaces>,
    pub output_tokens: Option<ReplyPlaces>,
    /// Goes between two pieces of `delta`; nothing by default.
    pub join: Option<String>,
    /// Whether each piece of `delta` is the whole text so far, rather than an addition.
    pub cumulative: bool,
    /// Values to keep for the calls of the conversation that follow, by name: `{{ remembered.NAME }}`.
    pub remember: BTreeMap<String, ReplyPlaces>,
}

impl Reading {
    /// What is wrong with the settings.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.join.is_some() && self.cumulative {
            return Some("`reply.join` goes between pieces, and with `reply.cumulative` there are none");
        }
        if (self.join.is_some() || self.cumulative) && self.delta.is_none() {
            return Some("`reply.join` and `reply.cumulative` are for the pieces of `reply.delta`");
        }
        None
    }

    /// The message of an answer that is an error.
    pub(crate) fn error_of(&self, event: &str, value: &Value) -> Option<String> {
        let found = self.error.as_ref()?.find(event, value).into_iter().find(|found| is_something(found))?;
        Some(tool_calls::words(found))
    }

    /// The values to keep, by name.
    pub(crate) fn remembered_of<'a>(
        &'a self,
        event: &str,
        value: &'a Value,
    ) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let found = self.remember.iter().map(move |(name, places)| (name, places.find(event, value)));
        found.filter_map(|(name, found)| Some((name, *found.first()?)))
    }

    /// `event` is the name of the event in which the value came; it is empty for a whole answer.
    pub(crate) fn session_of(&self, event: &str, value: &Value) -> Option<String> {
        let id = *self.session.as_ref()?.find(event, value).first()?;
        Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned))
    }

    /// These places if there are any, or else those of `beneath`.
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
            join: self.join.or(beneath.join),
            cumulative: self.cumulative || beneath.cumulative,
            remember: beneath.remember.into_iter().chain(self.remember).collect(),
        }
    }

    /// Whether a part of the reply can be in an event of this name.
    pub(crate) fn is_read_in(&self, event: &str) -> bool {
        let Self { text, delta, done, tool_calls, tool_results, actions, session, error, .. } = self;
        let Self { input_tokens, output_tokens, remember, .. } = self;
        [text, delta, done, tool_calls, tool_results, actions, session, error, input_tokens, output_tokens]
            .into_iter()
            .flatten()
            .chain(remember.values())
            .any(|places| places.are_read_in(event))
    }
}

/// An empty text counts as nothing: some servers write it where others write null.
pub(crate) fn is_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value.as_str() != Some("")
}
