//! A load: what a run plays instead of every case as often as it repeats.
//!
//! A load has groups. Each group has its own [`Pace`] and its own choice of cases, and its trials are numbered apart from those of
//! the others: [`trial_number`] puts the group's *lane* above the 40 bits of the *local* number. Everything that follows from a load is a
//! pure function of the plan: when a trial is due ([`Schedule`]) and which case it plays (`draw.rs`).

mod arrivals;
mod choice;
mod draw;
mod gap;
mod pace;
mod profile;
mod schedule;
mod search;
mod shuffle;
mod steady;
mod steps;

use serde::{Deserialize, Serialize};

use crate::Plan;

pub use choice::{Choice, GroupChoice};
pub use pace::{Pace, Spacing};
pub use profile::{Profile, Stage};
pub use schedule::{Lane, RateChange, Schedule};
pub use search::{MOST_SEARCH_STEPS, Search, SearchEnd, SearchStep, StepVerdict, Tried, highest_held, least_to_hold};
pub use steps::Step;

/// How many bits of a trial's number are its local number.
const LOCAL_BITS: u32 = 40;
/// The most trials of one lane.
pub const MOST_LOCAL: u64 = 1 << LOCAL_BITS;
/// The most groups of a load.
pub const MOST_GROUPS: usize = 100;
/// The most arrivals that a trace may list: 6 bytes each in a plan.
pub const MOST_TRACED: usize = 1_000_000;

/// How long an arrival waits for a free slot, unless the settings say otherwise.
pub const USUAL_DROP_AFTER_MICROS: u64 = 1_000_000;

/// What a run plays instead of every case as often as it repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// One for each lane; never empty.
    pub groups: Vec<LoadGroup>,
    /// What starts earlier than this is played and left out of the figures.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up_micros: u64,
    /// An arrival that still waits for a slot so long after its time is dropped.
    pub drop_after_micros: u64,
    /// The rates of the only group are chosen while the run plays. Its pace has the rate between steps, and lasts as long as the
    /// search may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
}

/// Conversations that start at one pace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadGroup {
    /// Unique in a load.
    pub name: String,
    pub pace: Pace,
    /// The scenarios that it plays; never empty.
    pub mix: Vec<Share>,
}

/// How much of a group's conversations play one scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Index into [`Plan::groups`].
    pub group: usize,
    /// So many of each [`LoadGroup::block`] conversations; at least 1.
    pub weight: u32,
    /// Which of the scenario's cases, ascending and counted from the scenario's first; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<Vec<u64>>,
}

impl LoadGroup {
    /// In each block of so many conversations, every scenario is played exactly as often as its weight says.
    #[must_use]
    pub fn block(&self) -> u64 {
        self.mix.iter().map(|share| u64::from(share.weight)).sum()
    }
}

/// The number of a trial in a plan with a load.
#[must_use]
pub fn trial_number(lane: usize, local: u64) -> u64 {
    (lane as u64) << LOCAL_BITS | local
}

/// The lane and the local number of a trial in a plan with a load.
#[must_use]
pub fn lane_and_local(number: u64) -> (usize, u64) {
    let lane = usize::try_from(number >> LOCAL_BITS).expect("24 bits fit into a usize");
    (lane, number & (MOST_LOCAL - 1))
}

impl Plan {
    /// When the trials of its load start; `None`: the plan has no load.
    ///
    /// Adds up the gaps of all arrivals, 30 ns each: keep it.
    #[must_use]
    pub fn schedule(&self) -> Option<Schedule> {
        self.load.as_ref().map(|load| Schedule::of(load, self.seed))
    }
}

impl Load {
    /// What the arithmetic of draws and schedules relies on. `cases_of` gives the number of cases of a group of the plan.
    pub(crate) fn consistent(&self, cases_of: impl Fn(usize) -> Option<u64>) -> Result<(), String> {
        if self.groups.is_empty() || self.groups.len() > MOST_GROUPS {
            return Err(format!("its load has {} groups; 1 to {MOST_GROUPS} are played", self.groups.len()));
        }
        if let Some(search) = &self.search {
            let plays_at_a_rate = matches!(self.groups.as_slice(), [LoadGroup { pace: Pace::Arrivals { .. }, .. }]);
            if !plays_at_a_rate {
                return Err("a search has one group, which plays at a rate".to_owned());
            }
            search.consistent()?;
        }
        for group in &self.groups {
            let name = &group.name;
            let in_group = |fault: String| format!("load group `{name}`: {fault}");
            if self.groups.iter().filter(|other| other.name == *name).count() > 1 {
                return Err(format!("two load groups are called `{name}`"));
            }
            group.pace.consistent().map_err(in_group)?;
            if group.mix.is_empty() || group.block() > u64::from(u32::MAX) {
                return Err(in_group("it plays no scenario, or the sum of its weights is too large".to_owned()));
            }
            for share in &group.mix {
                let cases = cases_of(share.group).unwrap_or(0);
                let fits = |list: &Vec<u64>| {
                    let ascending = list.windows(2).all(|pair| pair[0] < pair[1]);
                    ascending && list.last().is_some_and(|last| *last < cases)
                };
                if cases == 0 || share.weight == 0 || share.cases.as_ref().is_some_and(|list| !fits(list)) {
                    return Err(in_group(format!("its choice of cases of group {} does not fit", share.group)));
                }
            }
        }
        Ok(())
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
