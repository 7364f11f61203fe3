//! What should happen: scenarios as written, the matrix they are multiplied by, and the plan of a run.
//!
//! Everything here is pure data and pure functions; only [`read`] touches the disk.
//! The way of a file: [`read`] finds it, [`yaml`] opens it, a reader in [`mod@format`] turns it into a
//! [`Scenario`], [`matrix`] and [`persona`] multiply it, and [`plan`] numbers the trials.

mod asks;
pub mod battery;
pub mod check;
pub mod conversation;
pub mod diagnostic;
pub mod encoding;
pub mod estimate;
pub mod format;
pub mod ids;
pub mod matrix;
pub mod message;
pub mod mock;
pub mod path;
pub mod persona;
pub mod plan;
pub mod read;
mod scenario;
pub mod schema;
pub mod suggest;
pub mod yaml;

pub use asks::Asks;
pub use battery::Battery;
pub use check::{Check, Measure, Rule};
pub use conversation::Conversation;
pub use diagnostic::Diagnostic;
pub use estimate::Estimate;
pub use ids::{CaseId, Digest, RunId, TrialId};
pub use message::Message;
pub use persona::Persona;
pub use plan::{Case, Plan, Trial};
pub use read::Reading;
pub use scenario::{
    Action, Environment, Format, History, OnFailure, Plugin, Scenario, Seeding, Source, Step, Strategy,
};
