//! How a run decides its gates early: `decide` of a plan.

use serde::{Deserialize, Serialize};

use super::{Group, Plan};

/// A run that stops as soon as its success rate is decided. Every case repeats at most `most_repeats` times, in rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decide {
    /// PASS needs evidence that the mean success rate of all cases is above `bad`, FAIL that it is below `good`. They are equal without an
    /// indifference zone.
    pub bad: f64,
    pub good: f64,
    /// The least success rate of each case without its own; `None`: no floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// The chance of PASS if the success rate is `bad`, or that of a case is its floor.
    pub false_pass: f64,
    /// The chance of FAIL if the success rate is `good` and no case is below its floor.
    pub false_fail: f64,
    /// At least 1.
    pub most_repeats: u32,
}

impl Decide {
    /// The floor of the cases of a group: their own, else that of the run. 0 is none.
    #[must_use]
    pub fn floor_of(&self, group: &Group) -> Option<f64> {
        group.required_pass_rate.or(self.floor).filter(|floor| *floor > 0.0)
    }
}

impl Plan {
    /// Why `decide` cannot be used; `None` if it can.
    #[must_use]
    pub fn objection_to_decide(&self) -> Option<String> {
        let decide = self.decide.as_ref()?;
        let open = |rate: &f64| *rate > 0.0 && *rate < 1.0;
        if self.load.is_some() {
            return Some("a load has no number of repeats, so `decide` cannot stop them".to_owned());
        }
        if !open(&decide.bad) || !open(&decide.good) || decide.bad > decide.good {
            let Decide { bad, good, .. } = decide;
            return Some(format!("`decide` needs rates between 0 and 1, and got {bad} and {good}"));
        }
        if let Some(group) = self.groups.iter().find(|group| decide.floor_of(group).is_some_and(|floor| !open(&floor)))
        {
            let floor = decide.floor_of(group).unwrap_or_default();
            let key = &group.key;
            return Some(format!(
                "`decide` cannot show a success rate of {floor}, which cases of `{key}` need: no number of passes shows it"
            ));
        }
        let possible = |chance: f64| chance > 0.0 && chance < 0.5;
        if let Some(chance) = [decide.false_pass, decide.false_fail].into_iter().find(|chance| !possible(*chance)) {
            return Some(format!("`decide` needs chances of error above 0 and below 0.5, and got {chance}"));
        }
        let repeats = self.groups.iter().map(|group| group.repeats);
        let differs = repeats.into_iter().any(|repeats| repeats != decide.most_repeats);
        differs.then(|| "with `decide` every case has the same number of repeats".to_owned())
    }
}
