//! Readers and writers of scenario files: one folder per format, and one list of them all.
//!
//! [`read`](fn@read) finds a file, [`all`] determines its format, [`yaml`] opens it, and the folder of its format turns
//! it into a scenario. Each format implements [`scenario::Format`]; no code outside of this crate depends on the format
//! of a file.

mod all;
pub mod battery;
mod conditions;
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
pub use data::{ColumnFault, column};
pub use read::read;
pub use scenario_file::scenario_file;
