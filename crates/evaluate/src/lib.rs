//! How a reply is judged: a check is data, [`compile`] makes it behaviour, an evaluator finds.
//!
//! An evaluator sees a [`Subject`] and may ask the [`Bench`] of judges; it knows neither worker nor agent,
//! so a stored transcript can be judged again.

pub mod bench;
pub mod subject;

pub use bench::Bench;
pub use subject::{Subject, Workspace};
