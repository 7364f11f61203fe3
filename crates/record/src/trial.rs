//! One trial as it was played: its verdict and what it took, without the words (those are its turns).

use scenario::{CaseId, Strategy, TrialId};
use serde::{Deserialize, Serialize};

use crate::{Failure, Judgment, Verdict, call::Spend, pace::Pace};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its place in the plan, from 0.
    pub number: u64,
    pub trial_id: TrialId,
    pub case_id: CaseId,
    /// The case's place in the plan, from 0.
    pub case: u64,
    /// From 0.
    pub repeat: u32,
    /// The attempt that won, from 1: the fencing token.
    pub epoch: u32,
    pub seed: u64,
    pub verdict: Verdict,
    pub failure: Option<Failure>,
    pub strategy: Strategy,
    /// Which condition ended the last conversation; `None` where no conversation was held.
    pub termination_reason: Option<String>,
    pub turns: u32,
    /// Conversations held: one for each step with a simulated user or a battery, and one for all scripted messages.
    pub conversations: u32,
    pub duration_ms: u64,
    /// One entry a turn that the agent answered.
    pub latencies: Vec<TurnLatency>,
    /// Turns in which the agent was asked and gave no answer.
    #[serde(default)]
    pub unanswered: u32,
    pub spend: Spend,
    /// How long its calls waited and took.
    #[serde(default)]
    pub pace: Pace,
    pub judgments: Vec<Judgment>,
    /// Keep every word of it, also when it passed.
    pub keep_transcript: bool,
}

impl Trial {
    /// A trial that ended without a word, and why. Its transcript is kept: there is nothing that could be left out.
    #[must_use]
    pub fn unplayed(planned: &scenario::Trial, epoch: u32, verdict: Verdict, failure: Failure) -> Self {
        Self {
            number: planned.number,
            trial_id: planned.id.clone(),
            case_id: planned.case_id.clone(),
            case: planned.case,
            repeat: planned.repeat,
            epoch,
            seed: planned.seed,
            verdict,
            failure: Some(failure),
            strategy: Strategy::default(),
            termination_reason: None,
            turns: 0,
            conversations: 0,
            duration_ms: 0,
            latencies: Vec::new(),
            unanswered: 0,
            spend: Spend::default(),
            pace: Pace::default(),
            judgments: Vec::new(),
            keep_transcript: true,
        }
    }
}

/// How long the agent took in one turn, without the wait for permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnLatency {
    pub total_micros: u64,
    pub ttft_micros: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailureKind;

    #[test]
    fn an_unplayed_trial_is_the_planned_one_with_a_reason() {
        let planned = scenario::Trial {
            number: 7,
            id: TrialId::new("t"),
            case: 2,
            case_id: CaseId::new("c"),
            repeat: 1,
            seed: u64::MAX,
        };
        let failure = Failure::new(FailureKind::Poisoned, "it brings workers down");
        let trial = Trial::unplayed(&planned, 6, Verdict::Error, failure.clone());
        assert_eq!((trial.number, trial.case, trial.repeat, trial.epoch, trial.seed), (7, 2, 1, 6, u64::MAX));
        assert_eq!((trial.trial_id, trial.case_id), (planned.id, planned.case_id));
        assert_eq!((trial.verdict, trial.failure, trial.turns), (Verdict::Error, Some(failure), 0));
    }
}
