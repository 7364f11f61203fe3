//! The answer of an agent that does what the scenario expects: the mock agent's script for one turn.

use crate::message::{Annotation, FunctionCall};

/// The mock agent answers with this in the turns that it passes, so that scripted scenarios run without a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cue {
    pub text: String,
    /// Made before the text; without ids.
    pub tool_calls: Vec<FunctionCall>,
    pub actions: Vec<String>,
    /// Sent with the text.
    pub notes: Vec<Annotation>,
}
