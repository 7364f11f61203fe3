//! Real files that nobody here wrote, and facts about them, which tests are held against.
//!
//! They are not part of this repository: [`folder`] finds them where `GABFEST_CASES` says. The table in this crate's own
//! tests says of each file which test opens it, or why none does. [`shelf`] finds the weights of real models.

mod folder;
mod weights;

pub use folder::folder;
pub use weights::shelf;
