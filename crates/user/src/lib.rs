//! The simulated user, without its calls to a model: what it sees, and how its draft becomes a line.
//!
//! [`prompt`] asks a model to play the person. [`draft`] is the model's answer as a value, and [`cleaning`] keeps only the
//! person's own words of it. [`faults`] finds what no person would say. The worker makes the calls.

pub mod draft;
pub mod faults;
pub mod prompt;

mod cleaning;

pub use draft::Draft;
