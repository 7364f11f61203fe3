//! What happened, as spans: built from records when a trial is over, never while it is played.
//!
//! [`ids`] says which trace an attempt is, so that the agent can be told before there is a span; [`traces`] takes
//! finished trials and runs; [`tree`] makes run > trial > turn > call of them, [`evaluation`] an event of each judgment.

pub mod ids;

mod content;
mod evaluation;
mod run;
mod sampling;
mod span;
mod texts;
mod traces;
mod tree;

pub use ids::Head;
pub use run::EndedRun;
pub use traces::Traces;
pub use tree::Played;
