//! What may be concluded from trials: intervals, repeats and gates.
//!
//! Pure arithmetic: no clock, no network, no disk. [`wilson`] says how sure a rate is, [`repeats`] what a
//! case's repeats say of its steadiness, [`gate`] whether a run may be released, [`threshold`] how well one separates.

pub mod gate;
pub mod repeats;
pub mod threshold;
pub mod wilson;

pub use wilson::interval;
