//! Where a run is stored: one trait, [`Store`], and its implementations.
//!
//! Each method is one transaction; nothing is acknowledged, counted or shown before it has returned.
//! [`sqlite`] is the embedded default; simulations use [`memory`].

mod losses;
pub mod memory;
mod ranges;
pub mod rows;
pub mod sqlite;
pub mod store;

pub use memory::Memory;
pub use rows::{Commit, Committed, EndedTrial, Lease, Losses, Part, Piece, Recovered, RunRow, SegmentRow, StoredTrial};
pub use sqlite::Sqlite;
pub use store::{Error, Store};
