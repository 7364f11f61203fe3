//! Access to real scenario files from other projects, for tests.
//!
//! The files are not part of this repository: [`folder`] finds them in `GABFEST_CASES`. A table in this crate's tests lists
//! for each file the test that opens it, or why none does. [`shelf`] finds the weights of real models.

mod folder;
mod weights;

pub use folder::folder;
pub use weights::shelf;
