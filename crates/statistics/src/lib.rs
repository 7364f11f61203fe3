//! What may be concluded from trials: intervals, flakiness and gates.
//!
//! Pure arithmetic: no clock, no network, no disk.
//!
//! - [`success`]: the success rate of an agent.
//! - [`wilson`], [`clopper_pearson`]: the interval of a rate, and its exact bounds.
//! - [`clustered`]: the interval of the success rate of a run, by scenario.
//! - [`corrected`]: the success rate that the verdicts of a fallible judge stand for.
//! - [`flakiness`]: whether a case is flaky, and pass^k.
//! - [`gate`]: whether a run passes.
//! - [`noise`]: how much of the noise is the judge's, the agent's and the user's.
//! - [`knee`]: from which load on an agent succeeds less often.
//! - [`sustained`]: up to which load the requirements of a run hold.
//! - [`search`]: what a search for the highest rate found, step by step.
//! - [`valid_load`]: whether the agent got the load that was asked for.
//! - [`objective`]: whether the objectives of a run hold.
//! - [`custom_checks`]: whether checks of the user's own are stable.
//! - [`compare`]: what changed between two runs.
//! - [`sequential`]: verdicts that stop a run early, with a stated chance of being wrong.
//! - [`nights`], [`ledger`]: runs over time, and whether a case is stable, flaky or broken; [`trends`]: how they developed.
//! - [`planning`]: how many repeats of a comparison find a fall, and what they cost.
//! - [`quarantine`]: quarantined cases that get worse.
//! - [`recurring`]: the same failure over nights.
//! - [`drift`], [`theil_sen`]: whether a figure of a soak drifts, and the slope that says so.
//! - [`sentinels`]: whether the judge changed since earlier nights.
//! - [`user_faults`]: how often the simulated user is at fault.
//! - [`threshold`]: how well a threshold separates good texts from bad ones.
//! - [`stored`]: reads summaries that an earlier version wrote.

pub mod clopper_pearson;
pub mod clustered;
pub mod compare;
pub mod corrected;
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
pub mod noise;
pub mod objective;
pub mod planning;
pub mod quarantine;
pub mod recurring;
#[cfg(test)]
mod reference;
mod requirement;
pub mod search;
pub mod sentinels;
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
