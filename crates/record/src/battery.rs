//! The record of a quality battery in a trial: the test of each turn, and the finding about each reply.

mod examined;
pub(crate) mod noted;
mod texts;

pub use examined::{Cell, Examined, Head, Histogram, Reply, Total, count};
