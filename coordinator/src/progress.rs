//! How far a run is, for people who watch it. Every figure is cumulative.

use record::{Tokens, Usd, summary::RunState, tally::Counts};
use scenario::RunId;

#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub run: RunId,
    pub state: RunState,
    pub planned: u64,
    pub counts: Counts,
    /// Of winning attempts.
    pub turns: u64,
    /// Of all attempts, as is the cost.
    pub tokens: Tokens,
    pub cost: Usd,
    pub unpriced_calls: u64,
    pub estimated_calls: u64,
    /// Workers with an open stream.
    pub workers: u32,
    /// Trials that are leased.
    pub running: u64,
    pub lost_attempts: u64,
    pub elapsed_millis: u64,
    /// What went wrong with the run itself.
    pub trouble: Option<String>,
    /// Why trials wait although workers are connected.
    pub waiting_for: Option<String>,
    /// Somebody paused it.
    pub paused: bool,
    /// The most that it may cost; `None`: it has no budget.
    pub max_cost: Option<Usd>,
    /// Money that workers hold, for calls in flight and calls to come.
    pub reserved: Usd,
    /// Its budget is used up.
    pub out_of_money: bool,
    /// Of a run with a load.
    pub load: Option<telemetry::metrics::Load>,
}
