//! What should happen: written scenarios, their matrix, and the plan of a run.
//!
//! Everything here is pure data and pure functions. The crate `formats` reads the user's files into a [`Reading`], and
//! [`plan`] multiplies its scenarios by [`matrix`] and [`persona`] and numbers the trials.

mod asks;
pub mod battery;
pub mod check;
pub mod conversation;
mod covering;
mod draws;
pub mod estimate;
pub mod format;
mod goodput;
pub mod ids;
pub mod load;
pub mod matrix;
pub mod message;
pub mod mock;
pub mod objective;
pub mod persona;
pub mod placeholder;
pub mod plan;
mod quarantine;
pub mod question;
mod reading;
pub mod rows;
mod scenario;
pub mod template;
pub mod time;
pub mod trial_path;
pub mod user;

pub use asks::Asks;
pub use battery::Battery;
pub use check::{Check, Measure, Rule};
pub use conversation::Conversation;
pub use estimate::Estimate;
pub use format::Format;
pub use goodput::Goodput;
pub use ids::{CaseId, Digest, RunId, TrialId};
pub use load::Load;
pub use message::Message;
pub use objective::Objective;
pub use persona::Persona;
pub use plan::{Case, Plan, Trial};
pub use quarantine::Quarantine;
pub use reading::{MatrixFile, Reading, ScenarioFile};
pub use rows::Rows;
pub use yaml::Diagnostic;

pub use scenario::{Action, Environment, History, OnFailure, Plugin, Scenario, Seeding, Source, Step, Strategy};
