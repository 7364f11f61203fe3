//! `decide` of the settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compared;

/// How a run decides `gates.pass_rate` with as few conversations as possible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    /// The most repeats of each case (60). It replaces the numbers of repeats in scenario files; `--repeats` replaces it.
    #[schemars(range(min = 1))]
    pub(crate) repeats: u32,
    /// How far below `gates.pass_rate` either verdict is right, in percentage points (`5pp`). `0pp` decides at the rate itself, which takes
    /// more conversations.
    pub(crate) indifference: String,
    /// The chance of PASS although the success rate is `gates.pass_rate` less `indifference`, or a case is below its floor (0.05).
    #[schemars(range(min = 0.0001, max = 0.4))]
    pub(crate) false_pass: f64,
    /// The chance of FAIL although the success rate is `gates.pass_rate` and no case is below its floor (0.05).
    #[schemars(range(min = 0.0001, max = 0.4))]
    pub(crate) false_fail: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { repeats: 60, indifference: "5pp".to_owned(), false_pass: 0.05, false_fail: 0.05 }
    }
}

impl Settings {
    /// The key at fault, and why.
    pub(crate) fn fault(&self) -> Option<(&'static str, String)> {
        if self.repeats == 0 {
            return Some(("repeats", "is 0, and must be at least 1".to_owned()));
        }
        if let Err(reason) = compared::margin(&self.indifference) {
            return Some(("indifference", format!("is {:?}, and {reason}", self.indifference)));
        }
        let chances = [("false_pass", self.false_pass), ("false_fail", self.false_fail)];
        let (key, chance) = chances.into_iter().find(|(_, chance)| !(0.0001..=0.4).contains(chance))?;
        Some((key, format!("is {chance}, and must be from 0.0001 to 0.4")))
    }
}
