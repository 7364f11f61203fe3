//! What success rates must be: `gates.success_rate` of the settings.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The least success rate of the run, or of each of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateGate {
    /// A share from 0 to 1.
    pub min: f64,
    #[serde(default)]
    pub by: RateBy,
    #[serde(default)]
    pub per: RatePer,
}

/// Which figure must reach the least success rate.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateBy {
    /// The success rate itself.
    #[default]
    Point,
    /// Its one-sided lower bound with this confidence, a share above 0.5 and below 1.
    Bound(f64),
}

/// What a least success rate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RatePer {
    /// The whole run.
    #[default]
    Run,
    /// Each case: a scenario with its parameters, persona and agent.
    Case,
    Scenario,
    Tag,
    Persona,
    /// The scenarios of each folder.
    Suite,
    Agent,
}

impl RatePer {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Case => "case",
            Self::Scenario => "scenario",
            Self::Tag => "tag",
            Self::Persona => "persona",
            Self::Suite => "suite",
            Self::Agent => "agent",
        }
    }
}

/// `success_rate >= 95% per scenario, by 95% bound`: the gate's name in reports.
impl fmt::Display for RateGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "success_rate >= {}", percent(self.min))?;
        if self.per != RatePer::Run {
            write!(f, " per {}", self.per.name())?;
        }
        match self.by {
            RateBy::Point => f.write_str(", by point"),
            RateBy::Bound(confidence) => write!(f, ", by {} bound", percent(confidence)),
        }
    }
}

/// `95%`, `99.9%`: as few digits as possible.
fn percent(share: f64) -> String {
    format!("{}%", (share * 1e9).round() / 1e7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_named_by_what_it_requires() {
        let gate = |min, by, per| RateGate { min, by, per }.to_string();
        assert_eq!(gate(0.95, RateBy::Point, RatePer::Run), "success_rate >= 95%, by point");
        assert_eq!(gate(0.999, RateBy::Bound(0.9), RatePer::Suite), "success_rate >= 99.9% per suite, by 90% bound");
    }

    #[test]
    fn a_stored_gate_is_read_as_it_was_written() {
        let gate = RateGate { min: 0.9, by: RateBy::Bound(0.95), per: RatePer::Tag };
        let text = serde_json::to_string(&gate).unwrap();
        assert_eq!(text, r#"{"min":0.9,"by":{"bound":0.95},"per":"tag"}"#);
        assert_eq!(serde_json::from_str::<RateGate>(&text).unwrap(), gate);
    }
}
