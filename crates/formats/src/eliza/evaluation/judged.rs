//! The kinds that measure meaning: conditions, likeness, rubrics.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{check_values, fields};
use crate::bounded::{Cosine, Share, Votes, Weight, Words};
use scenario::{
    Rule,
    check::{Criterion, RubricRule},
};
use yaml::{Findings, Part};

/// A judge finds that the text meets a condition. It sees the text alone, without what led to it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SemanticCondition {
    /// Words for people.
    description: Option<String>,
    /// The condition, in a sentence.
    condition: Words,
}

/// A judge finds that the text means the same as one of those expected.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SemanticSimilar {
    /// Words for people.
    description: Option<String>,
    /// One of them is enough.
    #[schemars(length(min = 1))]
    expected: Vec<String>,
    /// How sure the judge must be, 0 to 1; its yes or no decides unless written.
    threshold: Option<Share>,
}

/// A model of sentences measures how much the text is like one of those expected.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Similarity {
    /// Words for people.
    description: Option<String>,
    /// The most alike decides.
    #[schemars(length(min = 1))]
    expected: Vec<String>,
    /// The least likeness: 1 is the same meaning, about 0 nothing in common.
    #[serde(default = "seven_tenths_alike")]
    #[schemars(extend("default" = 0.7))]
    threshold: Cosine,
}

/// Judges mark the agent's work by a list of criteria: met, partly met (half) or not met.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Rubric {
    /// Words for people.
    description: Option<String>,
    /// Each is marked by itself.
    #[schemars(length(min = 1))]
    criteria: Vec<CriterionDocument>,
    /// The weighted mean that is required, 0 to 1.
    #[serde(default = "seven_tenths")]
    #[schemars(extend("default" = 0.7))]
    threshold: Share,
    /// The kind of model that judges; `panel` names several.
    model_type: Option<String>,
    /// How often each judge is asked. Of an even number of votes that differ the lower one in the middle counts.
    #[serde(default = "once")]
    #[schemars(extend("default" = 1))]
    votes: Votes,
    /// The kinds of models that judge beside one another.
    #[serde(default)]
    panel: Vec<Words>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Criterion")]
pub(crate) struct CriterionDocument {
    /// A short name, for reports.
    name: Words,
    /// What must be true; the name says it unless written.
    #[serde(default)]
    text: String,
    /// How much it counts beside the others.
    #[serde(default = "one")]
    #[schemars(extend("default" = 1.0))]
    weight: Weight,
}

pub(super) fn read(kind: &str, part: &Part<'_>, findings: &mut Findings) -> Option<(Option<String>, Rule)> {
    Some(match kind {
        "semantic_condition" => {
            let SemanticCondition { description, condition } = fields(part, findings)?;
            (description, Rule::SemanticCondition { condition: condition.0 })
        }
        "semantic_similar" => {
            let SemanticSimilar { description, expected, threshold } = fields(part, findings)?;
            check_values(&expected, part, "expected", findings);
            (description, Rule::SemanticSimilar { expected, threshold: threshold.map(|threshold| threshold.0) })
        }
        "similarity" => {
            let Similarity { description, expected, threshold } = fields(part, findings)?;
            check_values(&expected, part, "expected", findings);
            (description, Rule::Similarity { expected, threshold: threshold.0 })
        }
        _ => rubric(fields(part, findings)?, part, findings),
    })
}

fn rubric(written: Rubric, part: &Part<'_>, findings: &mut Findings) -> (Option<String>, Rule) {
    super::check_not_empty(written.criteria.len(), part, "criteria", findings);
    if !written.criteria.is_empty() && written.criteria.iter().all(|criterion| criterion.weight.0 == 0.0) {
        findings.error(part.spot_of("criteria"), "every criterion weighs 0, so there is nothing to judge");
        findings.help("leave `weight` out where all criteria count alike");
    }
    if written.model_type.is_some() && !written.panel.is_empty() {
        findings.warning(part.key_spot("model_type"), "`model_type` has no effect: it stands beside `panel`");
    }
    let ballots = u64::from(written.votes.0) * written.panel.len().max(1) as u64;
    if ballots > 100 {
        findings.error(part.spot_of("panel"), format!("{ballots} votes are asked for, at most 100 are taken"));
        findings.help("`votes` counts for each judge of the `panel`");
    }
    let criteria = written.criteria.into_iter().map(|criterion| Criterion {
        name: criterion.name.0,
        text: criterion.text,
        weight: criterion.weight.0,
    });
    let rule = RubricRule {
        criteria: criteria.collect(),
        threshold: written.threshold.0,
        model_type: written.model_type,
        votes: written.votes.0,
        panel: written.panel.into_iter().map(|judge| judge.0).collect(),
    };
    (written.description, Rule::Rubric(rule))
}

fn seven_tenths() -> Share {
    Share(0.7)
}

fn seven_tenths_alike() -> Cosine {
    Cosine(0.7)
}

fn once() -> Votes {
    Votes(1)
}

fn one() -> Weight {
    Weight(1.0)
}
