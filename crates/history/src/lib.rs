//! The history: what is kept of runs when their folders are gone.
//!
//! One SQLite file with a row for each run, for each cell of a run, and for each group of its failures. Runs of several processes write to it, and it can be
//! copied as one file while nothing writes: it has no write-ahead log, because a run writes once.
//!
//! - [`History`]: opens the file, and writes and reads nights.
//! - `schema`: creates the tables, and refuses files of other programs and newer versions.

mod error;
mod file;
mod schema;

pub use error::Error;
pub use file::{Added, History};
