//! The storage of runs: one trait, [`Store`], and its implementations.
//!
//! Each method is one transaction; nothing is acknowledged, counted or shown before it has returned.
//! [`sqlite`] is the embedded default, [`postgres`] is for coordinators on several machines; simulations use [`memory`].
//! [`engine`] picks one of the first two by address. Of several coordinators one writes: [`duty`].

mod attempt_columns;
mod audit;
mod counting;
pub mod days;
pub mod duty;
pub mod engine;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod join_tokens;
mod lease_columns;
mod losses;
pub mod memory;
pub mod money;
mod packing;
mod piece_columns;
pub mod postgres;
mod ranges;
mod refusal;
pub mod rows;
mod run_columns;
mod schema;
pub mod sqlite;
pub mod store;
mod trial_columns;
mod values;

pub use audit::Fault;
pub use days::Drawn;
pub use duty::{Contender, Held, Hold, Holder};
pub use engine::Engine;
pub use join_tokens::{JoinToken, Redeemed};
pub use memory::Memory;
pub use money::{Account, Ledger, Slice};
pub use postgres::{Candidate, Postgres};
pub use rows::{
    AttemptEnd, Commit, Committed, EndedTrial, Lease, Losses, Moved, Part, Piece, Recovered, RunRow, SegmentRow,
    StoredAttempt, StoredTrial,
};
pub use schema::{Schema, SchemaStep};
pub use sqlite::Sqlite;
pub use store::{Error, GONE, Store};
