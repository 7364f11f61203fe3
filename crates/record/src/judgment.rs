//! One evaluator's finding about a turn, a step or a whole conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FailureKind;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgment {
    /// The check's kind: `string_contains`, `llm_judge`, …
    pub check: String,
    /// The metric that it counts for, as the scenario names it; absent if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description in the scenario.
    pub description: Option<String>,
    pub scope: Scope,
    pub finding: Finding,
    /// 0 to 1, where the evaluator measures.
    pub score: Option<f64>,
    pub reason: String,
    /// The evidence: the matched text, the judge's reply, …
    pub evidence: Option<String>,
    /// What went wrong where the finding is inconclusive or an error.
    pub failure: Option<FailureKind>,
    /// The check's line in the scenario file; 0 where there is none.
    pub line: u32,
    /// Whether the judgment counts for the verdict. If not, it only informs.
    #[serde(default = "yes")]
    pub required: bool,
    /// Weight in the trial's score, if the scenario asks for a score.
    #[serde(default = "one")]
    pub weight: f64,
    /// What judges answered, one for each vote; none of checks that ask no judge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ballots: Vec<Ballot>,
    /// About the judges; absent of checks that ask no judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jury: Option<Jury>,
    /// What a check of the user's own was asked, and what answered; absent of other checks, and where nothing answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<Box<CustomRun>>,
}

/// What answered for a check of the user's own, and about what. Answers with the same digests can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CustomRun {
    /// The name of the check in the settings.
    pub check: String,
    /// 16 hex digits that name the command with the content of its files, or the address.
    pub program: String,
    /// 16 hex digits that name the transcript, with the check's `config` and seed.
    pub transcript: String,
    /// Whether a second answer to the same transcript is another one; absent if it was asked once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<bool>,
}

/// What judges judged, and whether their verdict counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Jury {
    /// The number of words that the agent said in what was judged.
    pub words: u32,
    /// Why the judgment only informs although the scenario requires it: the judges are not as good as `gates.judges`
    /// requires, or not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncalibrated: Option<String>,
}

/// The answer of one judge to one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ballot {
    /// The criterion or part that was judged; empty: the check itself.
    pub criterion: String,
    /// The model that answered, as its server names it.
    pub model: String,
    /// 16 hex digits that name the template, question, form, examples, given texts, model, its build and parameters.
    /// Answers with different digests are not comparable.
    pub digest: String,
    /// 16 hex digits that name the judge alone: the template, the kind of form, the model and its parameters. A calibration
    /// names judges by it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub judge: String,
    /// The number of turns that the judge saw in short form, because the conversation is longer than its context.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shortened_turns: u32,
    /// `yes`, `not met`, `3`, …
    pub verdict: String,
    /// 0 to 1: of a yes or no, the probability of a yes; otherwise how sure the judge is.
    pub confidence: Option<f64>,
    /// The judge's reasoning and its quotes.
    pub reason: String,
}

impl Ballot {
    /// The same answer as one about this part of the check.
    #[must_use]
    pub fn about(self, criterion: &str) -> Self {
        Self { criterion: criterion.to_owned(), ..self }
    }
}

impl Judgment {
    /// Whether it makes a trial fail under `all_pass`.
    #[must_use]
    pub fn is_required_fail(&self) -> bool {
        self.required && self.finding == Finding::Fail
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}

/// The scope of a judgment. Steps and turns count from 1; turns count over the whole trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Turn { step: u32, turn: u32 },
    Conversation { step: u32 },
    Step { step: u32 },
}

impl Scope {
    #[must_use]
    pub fn step(self) -> u32 {
        match self {
            Self::Turn { step, .. } | Self::Conversation { step } | Self::Step { step } => step,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    Pass,
    Fail,
    /// The evidence does not decide it (a judge that could not be parsed).
    Inconclusive,
    /// The evaluator itself failed.
    Error,
    /// The check does not apply to what was said. It does not count for the verdict.
    NotApplicable,
}

impl Finding {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Error => "error",
            Self::NotApplicable => "not_applicable",
        }
    }
}
