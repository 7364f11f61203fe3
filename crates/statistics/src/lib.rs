//! What may be concluded from trials: intervals, repeats and gates.
//!
//! Pure arithmetic: no clock, no network, no disk. [`success`] says how often an agent succeeds, [`wilson`] how sure a rate
//! is, [`clopper_pearson`] how high it can be at most, [`repeats`] what a case's repeats say of its steadiness, [`gate`] whether a run may be released, [`threshold`] how well
//! one separates. [`stored`] reads summaries that an earlier version wrote.

pub mod clopper_pearson;
pub mod gate;
pub mod repeats;
pub mod stored;
pub mod success;
pub mod threshold;
pub mod wilson;

pub use wilson::interval;
