//! What should happen: scenarios as written, the matrix they are multiplied by, and the plan of a run.
//!
//! Everything here is pure data and pure functions. The crate `formats` reads the files of the user into a [`Reading`],
//! and [`plan`] multiplies its scenarios by [`matrix`] and [`persona`] and numbers the trials.

mod asks;
pub mod battery;
pub mod check;
pub mod conversation;
pub mod estimate;
pub mod format;
pub mod ids;
pub mod matrix;
pub mod message;
pub mod mock;
pub mod persona;
pub mod placeholder;
pub mod plan;
pub mod question;
mod reading;
pub mod rows;
mod scenario;
pub mod trial_path;
pub mod user;

pub use asks::Asks;
pub use battery::Battery;
pub use check::{Check, Measure, Rule};
pub use conversation::Conversation;
pub use estimate::Estimate;
pub use format::Format;
pub use ids::{CaseId, Digest, RunId, TrialId};
pub use message::Message;
pub use persona::Persona;
pub use plan::{Case, Plan, Trial};
pub use reading::{MatrixFile, Reading, ScenarioFile};
pub use rows::Rows;
pub use yaml::Diagnostic;

pub use scenario::{Action, Environment, History, OnFailure, Plugin, Scenario, Seeding, Source, Step, Strategy};
