//! Readers and writers of scenario files: one folder a format, and one list of them all.
//!
//! The way of a file: [`read`](fn@read) finds it, [`all`] tells its format, [`yaml`] opens it, and the folder of its format makes
//! a scenario of it. Each format implements [`scenario::Format`]; nothing outside of this crate asks which format it has.

mod all;
pub mod battery;
mod data;
pub mod eliza;
pub mod encoding;
pub mod environment;
mod given;
mod include;
pub mod line;
pub mod matrix;
pub mod messages;
pub mod persona;
pub mod qna;
pub mod read;
mod scenario_file;
mod simulated_user;
pub mod skunit;

pub use all::{ALL, named, of_file, of_named_file, without_ending};
pub use read::read;
pub use scenario_file::scenario_file;
