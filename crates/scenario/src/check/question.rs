//! A check's questions to models. The needs and the cost of a run both follow from them.

use super::Check;

/// The questions that a check puts to one model each time it judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question<'a> {
    pub to: Asked<'a>,
    /// The maximum for each value that is judged, without retries.
    pub times: u64,
}

/// The model that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// A judge by its model type; `None`: the default judge.
    Judge(Option<&'a str>),
    Measure(Measure),
}

/// A measurement of a text. The settings choose a model for it; by default the judge measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    Similarity,
    Answer,
    NextSentence,
    Toxicity,
}

impl<'a> Question<'a> {
    /// To the usual judge.
    pub(super) fn judge(times: u64) -> Self {
        Self::judge_of_type(None, times)
    }

    pub(super) fn judge_of_type(model_type: Option<&'a str>, times: u64) -> Self {
        Self { to: Asked::Judge(model_type), times }
    }

    pub(super) fn measure(measure: Measure, times: u64) -> Self {
        Self { to: Asked::Measure(measure), times }
    }
}

pub(super) fn of_checks(checks: &[Check]) -> Vec<Question<'_>> {
    checks.iter().flat_map(Check::questions).collect()
}
