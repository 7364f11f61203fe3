//! What may be concluded from trials: intervals, flakiness and gates.
//!
//! Pure arithmetic: no clock, no network, no disk.
//!
//! - [`success`]: the success rate of an agent.
//! - [`wilson`], [`clopper_pearson`]: the interval of a rate, and its exact bounds.
//! - [`clustered`]: the interval of the success rate of a run, by scenario.
//! - [`flakiness`]: whether a case is flaky, and pass^k.
//! - [`gate`]: whether a run passes.
//! - [`knee`]: from which load on an agent succeeds less often.
//! - [`sustained`]: up to which load the requirements of a run hold.
//! - [`search`]: what a search for the highest rate found, step by step.
//! - [`valid_load`]: whether the agent got the load that was asked for.
//! - [`objective`]: whether the objectives of a run hold.
//! - [`custom_checks`]: whether checks of the user's own are stable.
//! - [`compare`]: what changed between two runs.
//! - [`sequential`]: verdicts that stop a run early, with a stated chance of being wrong.
//! - [`nights`], [`ledger`]: runs over time, and whether a case is stable, flaky or broken; [`trends`]: how they developed.
//! - [`quarantine`]: quarantined cases that get worse.
//! - [`drift`], [`theil_sen`]: whether a figure of a soak drifts, and the slope that says so.
//! - [`user_faults`]: how often the simulated user is at fault.
//! - [`threshold`]: how well a threshold separates good texts from bad ones.
//! - [`stored`]: reads summaries that an earlier version wrote.

pub mod clopper_pearson;
pub mod clustered;
pub mod compare;
pub mod custom_checks;
pub mod drift;
pub mod flakiness;
pub mod gate;
pub mod goodput;
pub mod judges;
pub mod kappa;
pub mod knee;
pub mod ledger;
pub mod nights;
pub mod objective;
pub mod quarantine;
mod requirement;
pub mod search;
pub mod sequential;
pub mod stored;
pub mod success;
pub mod sustained;
pub mod theil_sen;
pub mod threshold;
pub mod trends;
pub mod user_faults;
pub mod valid_load;
pub mod wilson;

pub use wilson::interval;
