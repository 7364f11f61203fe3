//! A question of a knowledge base: its axis, and its context.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameter whose values are the questions of one document.
pub const QUESTION: &str = "question";
/// The name of the plugin that hands a [`Request`] to agents.
pub const REQUEST: &str = "qna";

/// The context of a question, for agents that understand it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// Only answers with all of these are looked at.
    pub strict_filters: Vec<Filter>,
    pub top: Option<u32>,
    pub knowledge_base: Option<String>,
}

/// Metadata of a pair. A test asks with it as a strict filter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Filter {
    pub name: String,
    pub value: String,
}
