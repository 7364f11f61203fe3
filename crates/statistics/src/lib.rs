//! What may be concluded from trials: intervals, flakiness and gates.
//!
//! Pure arithmetic: no clock, no network, no disk.
//!
//! - [`success`]: the success rate of an agent.
//! - [`wilson`], [`clopper_pearson`]: the interval of a rate, and its exact bounds.
//! - [`flakiness`]: whether a case is flaky, and pass^k.
//! - [`gate`]: whether a run passes.
//! - [`user_faults`]: how often the simulated user is at fault.
//! - [`threshold`]: how well a threshold separates good texts from bad ones.
//! - [`stored`]: reads summaries that an earlier version wrote.

pub mod clopper_pearson;
pub mod flakiness;
pub mod gate;
pub mod judges;
pub mod kappa;
pub mod stored;
pub mod success;
pub mod threshold;
pub mod user_faults;
pub mod wilson;

pub use wilson::interval;
