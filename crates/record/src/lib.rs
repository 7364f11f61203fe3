//! What happened: calls, turns, judgments, trials, and the numbers that they add up to.
//!
//! Pure data and pure arithmetic: no clock, no network, no disk. [`verdict`] is the one place where
//! judgments become a verdict, [`tally`] the one place where trials become numbers.

pub mod answer;
pub mod battery;
pub mod bounds;
pub mod breakdown;
pub mod by_model;
pub mod call;
pub mod check_metrics;
pub mod count;
pub mod failure;
pub mod judgment;
pub mod latency;
pub mod money;
pub mod pace;
pub mod published;
pub mod role;
pub mod session;
pub mod share;
pub mod simulated;
pub mod stop;
pub mod summary;
pub mod tally;
pub mod trial;
mod ttft;
pub mod turn;
pub mod user_fault;
pub mod verdict;
pub mod view;
pub mod visible;

pub use call::{Call, Tokens};
pub use failure::{Blame, Failure, FailureKind};
pub use judgment::{Ballot, Finding, Judgment, Jury, Scope};
pub use money::Usd;
pub use role::Role;
pub use simulated::Simulated;
pub use stop::Stop;
pub use summary::Summary;
pub use tally::Tally;
pub use trial::Trial;
pub use turn::Turn;
pub use verdict::Verdict;
