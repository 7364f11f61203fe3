//! What happened: calls, turns, judgments, trials, and the figures that they add up to.
//!
//! Pure data and pure arithmetic: no clock, no network, no disk. [`verdict`] is the only place where judgments become a
//! verdict, [`tally`] the only place where trials become figures.

pub mod answer;
pub mod battery;
pub mod bounds;
pub mod breakdown;
pub mod by_model;
pub mod call;
pub mod call_times;
pub mod check_metrics;
pub mod compact_json;
pub mod count;
pub mod decision;
pub mod failure;
pub mod goodput;
pub mod histogram;
pub mod judgment;
pub mod latency;
pub mod memory_over_time;
pub mod money;
pub mod named_limits;
pub mod objectives;
pub mod published;
pub mod role;
pub mod runner;
pub mod session;
pub mod share;
pub mod simulated;
pub mod slices;
pub mod stop;
pub mod summary;
pub mod tally;
pub mod trial;
mod ttft;
pub mod turn;
pub mod turn_times;
pub mod user_fault;
pub mod verdict;
pub mod view;
pub mod visible;

pub use call::{Call, Tokens};
pub use failure::{Blame, Failure, FailureKind};
pub use judgment::{Ballot, CustomRun, Finding, Judgment, Jury, Scope};
pub use money::Usd;
pub use role::Role;
pub use simulated::Simulated;
pub use stop::Stop;
pub use summary::Summary;
pub use tally::Tally;
pub use trial::Trial;
pub use turn::Turn;
pub use verdict::Verdict;
