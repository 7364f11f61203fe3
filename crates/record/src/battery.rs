//! What a quality battery leaves in a trial: what each turn was for, and what was found about each reply.

mod examined;
pub(crate) mod noted;
mod texts;

pub use examined::{Cell, Examined, Head, Histogram, Reply, Total, count};
