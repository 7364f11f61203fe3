//! A plan in; results and a summary out.
//!
//! [`scheduler`] decides which worker plays which trial, without a clock or a network. The dispatcher is the one task
//! that owns it: it stores decisions, then sends them to workers. [`aggregate`] folds results into the numbers of a
//! run. [`service`] is the gRPC interface for workers and for people. Of several coordinators, each is a [`peer`]: one of them is
//! in charge, which is its [`office`].

pub mod aggregate;
mod clock;
pub mod config;
mod coordinator;
mod dispatcher;
mod gate;
mod give_way;
mod handle;
mod line;
mod observers;
pub mod office;
pub mod peer;
mod progress;
pub mod scheduler;
pub mod service;
mod standing;
mod token;

pub use clock::Clock;
pub use config::{Config, Reclaim, Timing};
pub use coordinator::Coordinator;
pub use dispatcher::Error;
pub use gate::{Gate, Visitor};
pub use handle::{Handle, sweep};
pub use line::{Elsewhere, Line};
pub use observers::Observers;
pub use office::Office;
pub use peer::Peer;
pub use progress::Progress;
#[cfg(any(test, fuzzing))]
pub use service::fuzzing;
pub use standing::Standing;
