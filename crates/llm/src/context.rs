//! The purpose of a call: the run, the trial, the turn, and its place in a trace.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::cue::Cue;

/// Never part of the prompt. The mock model answers by it; servers get it as headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// `agent`, `user_sim`, `judge` or `scorer`.
    pub role: String,
    pub run: String,
    pub scenario: String,
    pub persona: String,
    /// The conversation's id, unique over all runs and attempts, so agents may use it as a key for their state.
    pub conversation: String,
    /// The trial's id: the same in every run of the plan and in every attempt.
    pub trial: String,
    /// The number of the attempt at the trial, or of the round in which it is judged again. Not a header.
    pub attempt: u32,
    /// The id of the trial's case: the same in every run of the plan. Not a header.
    pub case: String,
    /// From 1.
    pub turn: u32,
    /// The number of this role's call in this turn, from 0.
    pub call: u32,
    /// The same for every try of one call: (run, trial, attempt, turn, call).
    pub idempotency_key: String,
    /// The number of this try, from 0; the retry layer sets it.
    pub try_number: u32,
    /// The HTTP address of the tools for an agent that calls them itself; empty if there are none.
    pub tools_url: String,
    /// The same tools as a server of the Model Context Protocol.
    pub mcp_url: String,
    /// The scenario's variables, for the templates of agents; `None`: it has none. Not a header.
    pub vars: Option<Arc<Map<String, Value>>>,
    /// The span that this call belongs to.
    pub trace: Option<Trace>,
    /// For the mock model in this process only; it is never sent to a server.
    pub cue: Option<Arc<Cue>>,
}

/// A place in a trace, as in W3C Trace Context: spans of the server belong below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    pub id: u128,
    pub span: u64,
    /// Whether the trace is kept, as far as that is known before it ends.
    pub sampled: bool,
}
