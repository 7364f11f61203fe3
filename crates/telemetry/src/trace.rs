//! Spans, built from records after a trial has ended, never during it.
//!
//! [`ids`] computes the trace id of an attempt, so that the agent gets it before a span exists. [`traces`] exports finished
//! trials and runs. [`tree`] builds run > trial > turn > call or tool, and [`evaluation`] an event for each judgment. [`call_texts`]
//! keeps what a call sent and got, if content is wanted.

pub mod ids;

mod call_texts;
mod content;
mod evaluation;
mod exported;
mod run;
mod sampling;
mod span;
mod texts;
mod traces;
mod tree;

pub use call_texts::{CallContent, Message};
pub use ids::Head;
pub use run::EndedRun;
pub use traces::Traces;
pub use tree::Played;
