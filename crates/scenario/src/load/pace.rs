//! How the conversations of a group start: in free slots, or at times that are decided before the run.

use serde::{Deserialize, Serialize};

use super::{MOST_LOCAL, MOST_TRACED, profile::Profile};

/// The most arrivals that are not even. Their gaps are added up when the schedule is made, 30 ns each.
const MOST_DRAWN: u64 = 10_000_000;

/// How the conversations of a group start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// The closed model: a slot plays one conversation after another, so a slow agent gets fewer.
    Slots {
        /// How many slots there are over time. Past its end, the last number holds.
        slots: Profile,
        /// How many conversations all slots play together; `None`: as many as fit until the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trials: Option<u64>,
        /// No conversation starts at or after this time; `None`: only the number of conversations ends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ends_micros: Option<u64>,
    },
    /// The open model: conversations start at their times, however slow the agent is.
    Arrivals {
        spacing: Spacing,
        /// How many conversations start each second, over time.
        rate: Profile,
    },
    /// The open model with listed times: the gap before each arrival, the first from the start of the run.
    Trace { gaps_micros: Vec<u64> },
}

/// The most arrivals of a lane, by how far apart they are.
pub(super) fn most_arrivals(spacing: Spacing) -> u64 {
    if spacing == Spacing::Even { MOST_LOCAL } else { MOST_DRAWN }
}

/// How far apart arrivals are, where the rate is 1. The mean is 1 in each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Always 1.
    Even,
    /// Exponential: arrivals know nothing of each other.
    Poisson,
    /// Gamma with this shape: 1 is Poisson, less is bursty, more is nearly even.
    Gamma { burstiness: f64 },
}

impl Pace {
    /// Whether conversations start at times that are decided before the run.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Slots { .. })
    }

    /// # Errors
    /// It never ends, starts nothing, or has more conversations than can be numbered.
    pub fn consistent(&self) -> Result<(), String> {
        match self {
            Self::Slots { slots, trials, ends_micros } => {
                slots.consistent()?;
                if trials.is_none() && ends_micros.is_none() {
                    return Err("its slots play for ever".to_owned());
                }
                if trials.is_some_and(|trials| trials > MOST_LOCAL) {
                    return Err("it has more conversations than can be numbered".to_owned());
                }
                // Whether somebody plays at the end: slots that stay at 0 would leave conversations for ever.
                let last = slots.stages.last().map_or(0.0, |stage| stage.to);
                if ends_micros.is_none() && last < 0.5 {
                    return Err("its slots end at 0 and its conversations do not end by time".to_owned());
                }
            }
            Self::Arrivals { spacing, rate } => {
                rate.consistent()?;
                if rate.total() <= 0.0 {
                    return Err("it starts nothing".to_owned());
                }
                if rate.total() >= most_arrivals(*spacing) as f64 {
                    return Err("it has more arrivals than can be numbered".to_owned());
                }
                if let Spacing::Gamma { burstiness } = spacing
                    && !(0.001..=1000.0).contains(burstiness)
                {
                    return Err(format!("its burstiness is {burstiness}; 0.001 to 1000 are drawn"));
                }
            }
            Self::Trace { gaps_micros } => {
                if gaps_micros.is_empty() || gaps_micros.len() > MOST_TRACED {
                    return Err(format!("its trace has {} arrivals; 1 to {MOST_TRACED} are played", gaps_micros.len()));
                }
                if gaps_micros.iter().try_fold(0_u64, |sum, gap| sum.checked_add(*gap)).is_none() {
                    return Err("the times of its trace cannot be added up".to_owned());
                }
            }
        }
        Ok(())
    }
}
