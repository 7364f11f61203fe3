//! `rubric`: judges mark the agent's work by a list of criteria.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Share, Votes, Weight, Words};

use super::{kind::Kind, place::Place, question::Question};

/// Each criterion is met, partly met or not met; the weighted mean of 1, 0.5 and 0 must reach the threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RubricRule {
    pub criteria: Vec<Criterion>,
    /// 0 to 1: the weighted mean that is required.
    pub threshold: f64,
    /// The judge if there is no panel; `None`: the usual one.
    pub model_type: Option<String>,
    /// How often each judge votes, at least 1.
    pub votes: u32,
    /// The model types of several judges; empty: `model_type` alone.
    pub panel: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    pub name: String,
    /// What must be true of the agent's work; empty: the name says it.
    pub text: String,
    pub weight: f64,
}

/// Judges mark the agent's work by criteria: met, partly met (half) or not met.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Rubric")]
pub struct Written {
    /// Each gets its own mark.
    #[schemars(length(min = 1))]
    criteria: Vec<WrittenCriterion>,
    /// The minimum weighted mean, 0 to 1.
    #[serde(default = "seven_tenths")]
    threshold: Share,
    /// The model type of the judge; `panel` names several.
    model_type: Option<String>,
    /// How often each judge votes. If an even number of votes splits, the lower of the two middle marks counts.
    #[serde(default = "once")]
    votes: Votes,
    /// The model types of several judges.
    #[serde(default)]
    panel: Vec<Words>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Criterion")]
struct WrittenCriterion {
    /// A short name, for reports.
    name: Words,
    /// What must be true. By default, the name says it.
    #[serde(default)]
    text: String,
    /// The weight of the criterion.
    #[serde(default = "one")]
    weight: Weight,
}

impl RubricRule {
    /// The number of ballots: votes times judges.
    #[must_use]
    pub fn ballots(&self) -> u64 {
        u64::from(self.votes).saturating_mul(self.panel.len().max(1) as u64)
    }
}

impl Kind for RubricRule {
    type Written = Written;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_not_empty(written.criteria.len(), "criteria");
        if !written.criteria.is_empty() && written.criteria.iter().all(|criterion| criterion.weight.0 == 0.0) {
            place.error("criteria", "every criterion has weight 0, so there is nothing to judge");
            place.help("remove `weight` if all criteria have the same weight");
        }
        if written.model_type.is_some() && !written.panel.is_empty() {
            let spot = place.part.key_spot("model_type");
            place.findings.warning(spot, "`model_type` has no effect: `panel` names the judges");
        }
        let criteria = written.criteria.into_iter().map(|criterion| Criterion {
            name: criterion.name.0,
            text: criterion.text,
            weight: criterion.weight.0,
        });
        let rule = Self {
            criteria: criteria.collect(),
            threshold: written.threshold.0,
            model_type: written.model_type,
            votes: written.votes.0,
            panel: written.panel.into_iter().map(|judge| judge.0).collect(),
        };
        let ballots = rule.ballots();
        if ballots > 100 {
            place.error("panel", format!("{ballots} votes are too many; the maximum is 100"));
            place.help("`votes` applies to each judge of the `panel`");
        }
        Some(rule)
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let votes = u64::from(self.votes);
        if self.panel.is_empty() {
            return vec![Question::judge_of_type(self.model_type.as_deref(), votes)];
        }
        self.panel.iter().map(|judge| Question::judge_of_type(Some(judge), votes)).collect()
    }
}

fn seven_tenths() -> Share {
    Share(0.7)
}

fn once() -> Votes {
    Votes(1)
}

fn one() -> Weight {
    Weight(1.0)
}
