//! The outcome of a run: passed or skipped, or an error with the reason.

use std::fmt;

use record::{Blame, FailureKind, Verdict};
use serde_json::Value;
use worker::alone::Played;

use super::{message, script::Prepared};

/// The outcome of a conversation that did not fail.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Enough repeats passed.
    Passed(Report),
    /// A required judge is missing, and `GABFEST_EXPECT_SKIP` is `1`.
    Skipped {
        /// The reason why there is no judge.
        why: String,
    },
}

impl Outcome {
    #[must_use]
    pub fn is_skipped(&self) -> bool {
        matches!(self, Self::Skipped { .. })
    }

    /// The report; `None` if the run was skipped.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Passed(report) => Some(report),
            Self::Skipped { .. } => None,
        }
    }
}

/// The reason why a conversation did not pass.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Too few repeats passed.
    #[error("{0}")]
    Failed(Box<Report>),
    /// Too few repeats passed, but some could not be judged, which is not the agent's fault.
    #[error("{0}")]
    Undecided(Box<Report>),
    /// A required judge is missing.
    #[error(
        "conversation {name:?} ({place}) needs a judge, and there is none: {why}\n\
         hint: write `roles: {{ judge: NAME }}` with one of the `endpoints` in gabfest.yaml, or set OPENAI_API_KEY and \
         OPENAI_MODEL (OPENAI_BASE_URL for another server), or say `.judge(Judge::behind(…))`\n\
         hint: with GABFEST_EXPECT_SKIP=1 tests without their judge are skipped, and say so"
    )]
    NoJudge { place: String, name: String, why: String },
    /// The conversation, the agent or the settings are invalid.
    #[error("the conversation at {place} cannot be played\n{why}")]
    Unplayable { place: String, why: String },
}

/// The records of a run.
#[derive(Debug, Clone)]
pub struct Report {
    /// Of the conversation.
    pub name: String,
    /// The source: `tests/agent.rs:12`, or the file.
    pub place: String,
    pub passed: u32,
    /// The number of repeats that must pass.
    pub required: u32,
    /// One record for each repeat, in order.
    pub trials: Vec<Played>,
    /// The conversation, in the form of `*.conversation.json` files.
    pub(super) written: Value,
    /// The source file.
    pub(super) file: String,
    /// The line of each expected answer; 0 if it is unknown.
    pub(super) lines: Vec<u32>,
}

/// The conclusion from a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    Passed,
    Failed,
    /// The repeats that could not be judged might have been enough.
    Undecided {
        /// It would be decided with a judge.
        may_lack_a_judge: bool,
    },
}

impl Report {
    pub(super) fn new(place: &str, script: &Prepared, required: u32, trials: Vec<Played>) -> Self {
        let passed = count(&trials, |played| played.trial.verdict == Verdict::Pass);
        let scenario = script.scenario();
        Self {
            name: scenario.name.clone(),
            place: place.to_owned(),
            passed,
            required,
            trials,
            written: script.value().clone(),
            file: scenario.source.path.clone(),
            lines: scenario.steps.iter().map(|step| step.checks.last().map_or(0, |check| check.line)).collect(),
        }
    }

    pub(super) fn finding(&self) -> Finding {
        if self.passed >= self.required {
            return Finding::Passed;
        }
        let unjudged = count(&self.trials, is_unjudged);
        let undecided = count(&self.trials, is_undecided);
        if self.passed + undecided < self.required {
            return Finding::Failed;
        }
        Finding::Undecided { may_lack_a_judge: self.passed + unjudged >= self.required }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&message::of(self))
    }
}

/// Neither the agent's success nor its failure.
fn is_undecided(played: &Played) -> bool {
    let blame = played.trial.failure.as_ref().map(|failure| failure.blame);
    match played.trial.verdict {
        Verdict::Pass | Verdict::Fail => false,
        Verdict::Error => blame != Some(Blame::Agent),
        Verdict::Inconclusive | Verdict::Skipped | Verdict::Cancelled => true,
    }
}

fn is_unjudged(played: &Played) -> bool {
    is_undecided(played)
        && played.trial.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::JudgeFailed)
}

fn count(trials: &[Played], which: impl Fn(&Played) -> bool) -> u32 {
    u32::try_from(trials.iter().filter(|played| which(played)).count()).unwrap_or(u32::MAX)
}
