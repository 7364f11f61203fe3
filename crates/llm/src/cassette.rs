//! A cassette: calls with their answers in a file, so that a run can be played again without asking anyone.
//!
//! [`Tape`] says what happens to calls: it records them ([`Recorder`]), answers them from a [`Recording`], or asks only
//! what an earlier answer does not cover ([`Cache`]). [`Taped`] lists the kinds of calls. A call is found by its content,
//! its role, its model, its trial and attempt ([`mod@line`]); a call without a recording names the [`difference`] to the
//! nearest one.

mod cache;
mod difference;
pub mod line;
mod on_tape;
mod recorder;
mod recording;
mod taped;

pub use cache::Cache;
pub use on_tape::{OnTape, Tape};
pub use recorder::{Recorder, in_folder};
pub use recording::{Error, Recording};
pub use taped::Taped;

#[cfg(test)]
mod tests;
