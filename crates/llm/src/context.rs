//! What a call is for: the run, the trial, the turn, and where its traces belong.

use std::sync::Arc;

use crate::cue::Cue;

/// Never part of the prompt. The mock model answers by it; servers get it as headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// `agent`, `user_sim`, `judge` or `scorer`.
    pub role: String,
    pub run: String,
    pub scenario: String,
    pub persona: String,
    /// The conversation's id. No other run and no other attempt at the trial has the same one, so agents may keep state
    /// by it.
    pub conversation: String,
    /// The trial's id: the same in every run of the plan and in every attempt.
    pub trial: String,
    /// The id of the trial's case: the same in every run of the plan. Not a header.
    pub case: String,
    /// From 1.
    pub turn: u32,
    /// The number of this role's call in this turn, from 0.
    pub call: u32,
    /// The same for every try of one call: (run, trial, attempt, turn, call).
    pub idempotency_key: String,
    /// The number of this try, from 0; the retry layer counts it.
    pub try_number: u32,
    /// Where an agent that calls its tools itself calls them by HTTP; empty where there are none.
    pub tools_url: String,
    /// The same tools as a server of the Model Context Protocol.
    pub mcp_url: String,
    /// The span that this call belongs to.
    pub trace: Option<Trace>,
    /// For the mock model in this process only: no server ever sees it.
    pub cue: Option<Arc<Cue>>,
}

/// A place in a trace, as W3C Trace Context has it: what a server traces of its own hangs below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    pub id: u128,
    pub span: u64,
    /// Whether the trace is kept, as far as that is known before its end.
    pub sampled: bool,
}
