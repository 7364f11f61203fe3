//! `rubric`: judges mark the agent's work by a list of criteria.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Share, Weight, Words};

use super::{kind::Kind, place::Place, question::Question, wording};

/// A scale has at least two ends.
const LEAST_ANCHORS: usize = 2;
/// A blocking criterion needs this many votes.
const BLOCKING_BALLOTS: u64 = 3;

/// Each criterion gets a verdict; the weighted mean of the verdicts' values must reach the threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RubricRule {
    pub criteria: Vec<Criterion>,
    /// 0 to 1: the weighted mean that is required.
    pub threshold: f64,
    /// The judge if there is no panel; `None`: the default judge.
    pub model_type: Option<String>,
    /// Judges all criteria in one call.
    #[serde(default)]
    pub batch: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    pub name: String,
    /// What must be true of the agent's work; if empty, the name says it.
    pub text: String,
    pub weight: f64,
    /// What each point of the scale means, from the worst; empty: met, partly met, not met.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub anchors: BTreeMap<i64, String>,
    /// The rubric fails if this criterion is worth less than the threshold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocking: bool,
}

/// Judges give a verdict for each criterion: met, partly met (half), not met, not applicable, cannot tell, or a number.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Rubric")]
pub struct Written {
    /// Each gets its own verdict, and its own call unless `batch` is set.
    #[schemars(length(min = 1))]
    criteria: Vec<WrittenCriterion>,
    /// The minimum weighted mean, 0 to 1. Criteria that do not apply have no weight.
    #[serde(default = "seven_tenths")]
    threshold: Share,
    /// The model type of the judge; `panel` names several.
    model_type: Option<String>,
    /// Whether the judge gives all verdicts in one call. It is cheaper and less exact.
    #[serde(default)]
    batch: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Criterion")]
struct WrittenCriterion {
    /// A short name, for reports.
    name: Words,
    /// What must be true, in positive wording. By default, the name says it.
    #[serde(default)]
    text: String,
    /// The weight of the criterion.
    #[serde(default = "one")]
    weight: Weight,
    /// A scale of whole numbers: what each number from the lowest to the highest means.
    #[serde(default)]
    anchors: BTreeMap<String, String>,
    /// Whether the rubric fails if this criterion is worth less than the threshold. It needs three votes of judges from
    /// two or more families of models.
    #[serde(default)]
    blocking: bool,
}

impl Kind for RubricRule {
    type Written = Written;
    const ASKS_JUDGE: bool = true;
    const SHOWS_MATERIAL: bool = true;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_not_empty(written.criteria.len(), "criteria");
        if !written.criteria.is_empty() && written.criteria.iter().all(|criterion| criterion.weight.0 == 0.0) {
            place.error("criteria", "every criterion has weight 0, so there is nothing to judge");
            place.help("remove `weight` if all criteria have the same weight");
        }
        for criterion in &written.criteria {
            let text = if criterion.text.trim().is_empty() { &criterion.name.0 } else { &criterion.text };
            let what = format!("the criterion `{}`", criterion.name.0);
            wording::check_criterion(&what, text, place.part.spot_of("criteria"), place.findings);
            check_blocking(criterion, place);
        }
        if written.batch && written.criteria.iter().any(|criterion| !criterion.anchors.is_empty()) {
            place.error("batch", "`batch` judges criteria without `anchors` only");
            place.help("remove `batch`: each criterion is a call of its own then");
        }
        let criteria = written.criteria.into_iter().map(|criterion| {
            let anchors = anchors(&criterion, place);
            let (name, text, weight) = (criterion.name.0, criterion.text, criterion.weight.0);
            Criterion { name, text, weight, anchors, blocking: criterion.blocking }
        });
        Some(Self {
            criteria: criteria.collect(),
            threshold: written.threshold.0,
            model_type: written.model_type,
            batch: written.batch,
        })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let times = if self.batch { 1 } else { self.criteria.len() as u64 };
        vec![Question::judge_of_type(self.model_type.as_deref(), times)]
    }
}

fn check_blocking(criterion: &WrittenCriterion, place: &mut Place<'_, '_>) {
    if !criterion.blocking {
        return;
    }
    let panel = place.part.items_of("panel");
    // The same judge twice is one judge, and has two votes.
    let judges: BTreeSet<&str> = panel.iter().filter_map(|judge| judge.value().as_str()).collect();
    let votes = place.part.get("votes").and_then(|votes| votes.value().as_u64()).unwrap_or(1);
    if judges.len() < 2 || panel.len() as u64 * votes < BLOCKING_BALLOTS {
        let message = format!("the blocking criterion `{}` needs three votes of two or more judges", criterion.name.0);
        place.error("criteria", message);
        place.help("name the judges in `panel`, from different families of models");
    }
}

fn anchors(criterion: &WrittenCriterion, place: &mut Place<'_, '_>) -> BTreeMap<i64, String> {
    let read = criterion.anchors.iter().map(|(point, text)| Some((point.parse().ok()?, text.trim().to_owned())));
    let Some(anchors) = read.collect::<Option<BTreeMap<i64, String>>>() else {
        place.error("criteria", format!("the anchors of `{}` are not all whole numbers", criterion.name.0));
        place.help("as in `anchors: {1: rude, 2: neutral, 3: kind}`");
        return BTreeMap::new();
    };
    let span = anchors.keys().next().zip(anchors.keys().last()).map(|(low, high)| high.abs_diff(*low));
    let complete = span.is_none_or(|span| anchors.len() >= LEAST_ANCHORS && span == anchors.len() as u64 - 1);
    if !complete || anchors.values().any(String::is_empty) {
        place.error("criteria", format!("the anchors of `{}` leave out a point of the scale", criterion.name.0));
        place.help("say what every number from the lowest to the highest means");
    }
    anchors
}

fn seven_tenths() -> Share {
    Share(0.7)
}

fn one() -> Weight {
    Weight(1.0)
}
