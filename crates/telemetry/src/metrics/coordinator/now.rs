//! The values to read on each scrape.

use std::sync::{Mutex, MutexGuard, PoisonError};

use record::Blame;

use super::{
    fleet::{Fleet, Waiting},
    suites::Suites,
};

pub(super) const STATUSES: [&str; 3] = ["success", "failure", "aborted"];
pub(super) const BLAMES: [Blame; 6] =
    [Blame::Agent, Blame::UserSim, Blame::Judge, Blame::Infra, Blame::Config, Blame::Budget];

#[derive(Default)]
pub(super) struct Now {
    pub(super) fleet: Fleet,
    pub(super) waiting: Waiting,
    pub(super) suites: Suites,
}

pub(super) fn lock(now: &Mutex<Now>) -> MutexGuard<'_, Now> {
    // Values are consistent after each statement, so a panic elsewhere does not matter.
    now.lock().unwrap_or_else(PoisonError::into_inner)
}
