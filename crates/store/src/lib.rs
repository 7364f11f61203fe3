//! Where a run is kept: one trait, [`Store`], and what implements it.
//!
//! Each method is one transaction; nothing is acknowledged, counted or shown before it returned.
//! [`memory`] is the model that simulations use, [`sqlite`] the embedded default.

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
