//! A plan in; results and a summary out.

pub mod config;
pub mod scheduler;

pub use config::{Config, Reclaim, Timing};
