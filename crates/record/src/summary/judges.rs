//! The figures of judges: findings by the length of the judged text, findings that only inform, and corrected rates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::totals::Rate;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judges {
    /// The findings of judged checks by the number of words that the agent said in what was judged, shortest first. A judge
    /// whose pass rate grows with the length may judge the length.
    pub by_length: Vec<JudgedLength>,
    /// Why findings only inform although the scenario requires them (`gates.judges`); absent if all judges are good enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncalibrated: Vec<Uncalibrated>,
    /// What judges answered, by check and criterion; absent in reports of earlier versions, and of checks whose answers are neither yes
    /// and no nor met and not met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_criterion: Vec<JudgedCriterion>,
}

/// What judges answered to one question over all trials, and what people would have answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedCriterion {
    /// The name of the check, or its kind.
    pub check: String,
    /// Of a rubric or a list of parts; absent: the check itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<String>,
    /// Met or yes.
    pub met: u64,
    /// Not met, met in part, or no.
    pub not_met: u64,
    /// met / (met + not_met)
    pub rate: Rate,
    /// Absent if no `gabfest judge LABELS --save` measured these judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<CorrectedRate>,
}

/// The rate corrected for the judges' errors, by how often they agree with labels of people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorrectedRate {
    /// `null`: the judges are no better than chance, so their answers say nothing.
    pub rate: Option<Rate>,
    pub kappa: f64,
    /// Of the items that people labelled not met, the share that the judges find not met.
    pub sensitivity: Rate,
    /// Of the items that people labelled met, the share that the judges find met.
    pub specificity: Rate,
    /// The measurement has labels of this criterion; otherwise it is about all labels.
    pub of_criterion: bool,
    /// The day of the measurement.
    pub date: String,
}

/// The findings about replies or conversations of one range of length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedLength {
    pub from_words: u32,
    /// The first number of words that is too long; `null`: there is none.
    pub below_words: Option<u32>,
    pub pass: u64,
    pub fail: u64,
    /// Inconclusive, or an error.
    pub not_judged: u64,
    pub not_applicable: u64,
    /// pass / (pass + fail)
    pub rate: Rate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Uncalibrated {
    pub reason: String,
    /// The number of findings that only inform for this reason.
    pub findings: u64,
}
