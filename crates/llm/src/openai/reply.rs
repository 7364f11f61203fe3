//! A chat completion as servers write it: whole, or a piece of a stream, which has the same shape.

mod fields;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use self::fields::{Action, Arguments, Count, Dollars, First, or_default};
pub(super) use self::fields::{Content, Few, Text};
use crate::gather::{self, Trouble};

#[derive(Debug, Deserialize)]
pub(super) struct Completion<'a> {
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) system_fingerprint: Option<Text<'a>>,
    /// gabfest requests only one.
    #[serde(borrow, default)]
    pub(super) choices: First<Choice<'a>>,
    pub(super) usage: Option<Counts>,
    pub(super) error: Option<Value>,
}

impl<'a> Completion<'a> {
    /// Checks UTF-8 once instead of string by string. Invalid bytes may be in a part that is skipped.
    pub(super) fn of_bytes(bytes: &'a [u8]) -> Result<Self, Trouble> {
        let completion = match str::from_utf8(bytes) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(bytes),
        };
        completion.map_err(|error| Trouble::Malformed(error.to_string()))
    }

    /// The text of a piece that says nothing else, as it is written in the piece.
    pub(super) fn says_only(&self) -> Option<&'a str> {
        let Self { model: _, system_fingerprint: _, choices: First(Some(choice)), usage: None, error: None } = self
        else {
            return None;
        };
        let Choice { message: None, delta: Some(said), finish_reason: None } = &**choice else { return None };
        match said {
            Said {
                content: Some(Content(Cow::Borrowed(text))),
                refusal: None,
                reasoning_content: None,
                reasoning: None,
                tool_calls: Few(calls),
                actions: Few(actions),
            } if !text.is_empty() && calls.is_empty() && actions.is_empty() => Some(text),
            _ => None,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    /// Of a whole completion.
    #[serde(borrow)]
    pub(super) message: Option<Said<'a>>,
    /// Of a piece.
    #[serde(borrow)]
    pub(super) delta: Option<Said<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Said<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    /// The text of OpenAI's models instead of content when they refuse.
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    /// Reasoning, as DeepSeek and vLLM name it.
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Content<'a>>,
    /// The same, as OpenRouter names it.
    #[serde(borrow)]
    pub(super) reasoning: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Few<CallPiece<'a>>,
    /// From agents that report their actions.
    #[serde(borrow, default)]
    pub(super) actions: Few<Action<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallPiece<'a> {
    /// Which call of the reply this piece belongs to.
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionPiece<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionPiece<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<Arguments<'a>>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    pub(super) prompt_tokens: Count,
    #[serde(default)]
    pub(super) completion_tokens: Count,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) prompt_tokens_details: Details,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) completion_tokens_details: Details,
    /// In dollars; of gateways such as OpenRouter.
    #[serde(default)]
    pub(super) cost: Dollars,
}

/// The parts of a count of tokens.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Details {
    #[serde(default)]
    pub(super) cached_tokens: Count,
    #[serde(default)]
    pub(super) cache_write_tokens: Count,
    #[serde(default)]
    pub(super) reasoning_tokens: Count,
}

impl From<Counts> for gather::Counts {
    fn from(counts: Counts) -> Self {
        let (input, output) = (counts.prompt_tokens_details, counts.completion_tokens_details);
        Self {
            input: counts.prompt_tokens.0,
            output: counts.completion_tokens.0,
            cached_input: input.cached_tokens.0,
            cache_write: input.cache_write_tokens.0,
            reasoning: output.reasoning_tokens.0,
            cost_nanos: counts.cost.0,
        }
    }
}
