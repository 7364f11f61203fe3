//! One played trial: its verdict and its figures. Its transcript is in its turns.

use std::borrow::Cow;

use scenario::{CaseId, Strategy, TrialId, plan::Transcripts};
use serde::{Deserialize, Serialize};

use crate::{
    Blame, Failure, FailureKind, Judgment, Role, Stop, Turn, Verdict,
    battery::{Examined, noted},
    call::Spend,
    call_times::CallTimes,
    user_fault::UserConduct,
};

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
    /// The condition that ended the last conversation; `None` without a conversation.
    pub termination_reason: Option<String>,
    /// Who ended the last conversation with a simulated user, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    pub turns: u32,
    /// Conversations held: one for each step with a simulated user or a battery, and one for all scripted messages.
    pub conversations: u32,
    pub duration_ms: u64,
    /// When it started; only trials of a load tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// When it started, in Unix milliseconds by the worker's clock; 0 in older records.
    #[serde(default)]
    pub began_at_ms: u64,
    /// One entry a turn that the agent answered.
    pub latencies: Vec<TurnLatency>,
    /// Turns in which the agent was asked and gave no answer.
    #[serde(default)]
    pub unanswered: u32,
    pub spend: Spend,
    /// How long its calls waited and took.
    #[serde(default, rename = "pace")]
    pub call_times: CallTimes,
    pub judgments: Vec<Judgment>,
    /// The conduct of the simulated user; `None` where none spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Box<UserConduct>>,
    /// The examination of a quality battery; other formats have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examined: Option<Box<Examined>>,
    /// Keep the whole transcript, even if the trial passed.
    pub keep_transcript: bool,
    /// A provider reported a used-up quota or credit, independent of the verdict.
    #[serde(default)]
    pub exhausted: bool,
    /// How earlier attempts ended. Only the coordinator's store fills this in.
    #[serde(default)]
    pub past: Past,
}

/// How the attempts ended that a later attempt replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Past {
    /// Attempts that counted against the agent and were played again on request (`gabfest resume --failed`).
    pub failed: u32,
    /// Attempts that our side broke, before the first one that counted against the agent.
    pub broken: u32,
}

/// When a trial of a load started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// From the beginning of the load.
    pub at_micros: u64,
    /// How much later than its arrival was due; 0 in slots, and for later attempts.
    pub late_micros: u64,
}

/// Whether a trial that ended is played again, at the same place in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// The agent's reply decided it, or another attempt would end the same way.
    Never,
    /// Our side broke it: as often as the plan allows, and again when the run is resumed.
    Limited,
    /// A quota is used up: the run stops, and plays it when it is resumed.
    OnResume,
}

impl Trial {
    /// Whether its words are kept.
    #[must_use]
    pub fn is_kept(&self, transcripts: Transcripts) -> bool {
        self.verdict != Verdict::Pass || transcripts.keeps_passed(self.seed)
    }

    /// Only an ERROR or INCONCLUSIVE that is our fault is replayed. A verdict on the agent's replies stays, and so does
    /// a judge's answer that it cannot decide. A trial that crashes workers would crash them again.
    #[must_use]
    pub fn replay(&self) -> Replay {
        let Some(failure) = &self.failure else { return Replay::Never };
        if !matches!(self.verdict, Verdict::Error | Verdict::Inconclusive) {
            return Replay::Never;
        }
        match (failure.kind, failure.blame) {
            (FailureKind::ProviderExhausted | FailureKind::BudgetUsedUp, _) => Replay::OnResume,
            (
                FailureKind::Undecided
                | FailureKind::SimulatorFault
                // The judge did answer, and the same limit would cut it again.
                | FailureKind::EvidenceNotFound
                | FailureKind::JudgeTruncated
                | FailureKind::NothingJudged
                | FailureKind::CheckMalformed
                | FailureKind::JudgeMissing
                | FailureKind::Misconfigured
                | FailureKind::ExecutionNotAllowed
                | FailureKind::Poisoned
                | FailureKind::Cancelled
                | FailureKind::Dropped
                | FailureKind::OutOfScope,
                _,
            ) => Replay::Never,
            (_, Blame::Agent | Blame::Config) => Replay::Never,
            (_, Blame::UserSim | Blame::Judge | Blame::Infra | Blame::Budget) => Replay::Limited,
        }
    }

    /// Whether the worker that played it may be why it broke: our side did, or the worker did not reach the agent. Other
    /// workers' trials say whether it was.
    #[must_use]
    pub fn may_be_the_workers_fault(&self) -> bool {
        let unreachable = self.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::AgentUnreachable);
        self.replay() == Replay::Limited || unreachable
    }

    /// Whether a quota must be raised before more is played.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        // Older workers report it only through the failure.
        let kind = self.failure.as_ref().map(|failure| failure.kind);
        self.exhausted || kind == Some(FailureKind::ProviderExhausted)
    }

    /// A FAIL, or an ERROR that is the agent's fault: `gabfest resume --failed` plays it again.
    #[must_use]
    pub fn is_held_against_agent(&self) -> bool {
        let blame = self.failure.as_ref().map(|failure| failure.blame);
        self.verdict == Verdict::Fail || (self.verdict == Verdict::Error && blame == Some(Blame::Agent))
    }

    /// The past of the attempt that replaces this one. An end that is not replayed automatically was the agent's
    /// failure, and its replay was requested.
    #[must_use]
    pub fn past_of_the_next(&self) -> Past {
        let Past { failed, broken } = self.past;
        match self.replay() {
            Replay::Never => Past { failed: failed.saturating_add(1), broken },
            Replay::Limited | Replay::OnResume if failed == 0 => Past { failed, broken: broken.saturating_add(1) },
            Replay::Limited | Replay::OnResume => Past { failed, broken },
        }
    }

    /// An attempt failed, and the last one did not. The trial still counts as failed: playing until an agent passes is
    /// no evidence that it does.
    #[must_use]
    pub fn is_replayed_failure(&self) -> bool {
        self.past.failed > 0 && !self.is_held_against_agent()
    }

    /// It counts as failed, and our side broke an earlier attempt. That attempt might have passed: an agent's error needs no
    /// judge and a success does, so a broken judge breaks successes, and each replay is a new chance to fail.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.past.broken > 0 && (self.past.failed > 0 || self.is_held_against_agent())
    }

    /// The model that played the user, as its calls name it; of several the one with the most calls.
    #[must_use]
    pub fn user_model(&self) -> Option<&str> {
        let lines = self.spend.lines.iter().filter(|((role, _), _)| *role == Role::UserSim);
        // The first of those with equally many.
        let most = lines.rev().max_by_key(|(_, line)| line.calls);
        most.map(|((_, model), _)| model.as_str())
    }

    /// The examination of a quality battery; `None` for other formats, and if there was no reply.
    #[must_use]
    pub fn examined_in(&self, turns: &[Turn]) -> Option<Cow<'_, Examined>> {
        if turns.is_empty() {
            return None;
        }
        let of_notes = || noted::read(turns, &self.judgments).map(Cow::Owned);
        self.examined.as_deref().map(Cow::Borrowed).or_else(of_notes)
    }

    /// A trial that ended before its first turn, and why. Its empty transcript is kept.
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
            stop: None,
            turns: 0,
            conversations: 0,
            duration_ms: 0,
            start: None,
            began_at_ms: 0,
            latencies: Vec::new(),
            unanswered: 0,
            spend: Spend::default(),
            call_times: CallTimes::default(),
            judgments: Vec::new(),
            user: None,
            examined: None,
            keep_transcript: true,
            exhausted: false,
            past: Past::default(),
        }
    }
}

/// How long one turn took that the agent answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnLatency {
    /// Service time: the agent's own time, without rate-limit waits.
    pub total_micros: u64,
    pub ttft_micros: Option<u64>,
    /// Response time, as [`Turn::response_micros`]; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_micros: Option<u64>,
    /// Rate-limit waits of its calls to the agent.
    #[serde(default, skip_serializing_if = "crate::call::is_zero")]
    pub wait_micros: u64,
    /// The mean time between two pieces of the streamed answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inter_token_micros: Option<u64>,
    /// [`Call::per_token_micros`](crate::Call::per_token_micros) of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_token_micros: Option<u64>,
    /// The tokens of `per_token_micros` are estimated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The number of the turn in its trial, from 1; 0 in older records.
    #[serde(default)]
    pub number: u32,
    /// From the start of the trial to the end of the turn; 0 in older records.
    #[serde(default)]
    pub ended_micros: u64,
}

impl TurnLatency {
    /// The response time in microseconds. Older records have only the service time.
    #[must_use]
    pub fn response(&self) -> u64 {
        self.response_micros.unwrap_or(self.total_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_faults_are_replayed() {
        use FailureKind as Kind;
        let planned = scenario::Trial {
            number: 0,
            id: TrialId::new("t"),
            case: 0,
            case_id: CaseId::new("c"),
            repeat: 0,
            seed: 0,
        };
        let replay = |verdict, kind| Trial::unplayed(&planned, 1, verdict, Failure::new(kind, "")).replay();
        for (verdict, kind, expected) in [
            (Verdict::Error, Kind::SimulatorFailed, Replay::Limited),
            (Verdict::Error, Kind::JudgeFailed, Replay::Limited),
            (Verdict::Inconclusive, Kind::JudgeMalformed, Replay::Limited),
            (Verdict::Error, Kind::EnvironmentFailed, Replay::Limited),
            (Verdict::Error, Kind::OutOfResources, Replay::Limited),
            (Verdict::Error, Kind::HookFailed, Replay::Limited),
            (Verdict::Error, Kind::CheckFailedToRun, Replay::Limited),
            (Verdict::Inconclusive, Kind::CheckMalformed, Replay::Never),
            (Verdict::Error, Kind::Panicked, Replay::Limited),
            (Verdict::Error, Kind::Unreadable, Replay::Limited),
            (Verdict::Error, Kind::ProviderExhausted, Replay::OnResume),
            (Verdict::Error, Kind::BudgetUsedUp, Replay::OnResume),
            (Verdict::Inconclusive, Kind::Undecided, Replay::Never),
            (Verdict::Inconclusive, Kind::EvidenceNotFound, Replay::Never),
            (Verdict::Inconclusive, Kind::JudgeTruncated, Replay::Never),
            (Verdict::Inconclusive, Kind::NothingJudged, Replay::Never),
            (Verdict::Skipped, Kind::JudgeMissing, Replay::Never),
            (Verdict::Error, Kind::Misconfigured, Replay::Never),
            (Verdict::Error, Kind::Poisoned, Replay::Never),
            (Verdict::Cancelled, Kind::Cancelled, Replay::Never),
            (Verdict::Error, Kind::AgentTimeout, Replay::Never),
            (Verdict::Error, Kind::AgentFailed, Replay::Never),
            (Verdict::Fail, Kind::CheckFailed, Replay::Never),
            (Verdict::Fail, Kind::JudgeFailed, Replay::Never),
        ] {
            assert_eq!(replay(verdict, kind), expected, "{verdict:?} {kind:?}");
        }
        let blamed = |blame| Failure { blame, ..Failure::new(Kind::ConversationTimeout, "") };
        let slow = |blame| Trial::unplayed(&planned, 1, Verdict::Error, blamed(blame));
        assert_eq!(slow(Blame::Judge).replay(), Replay::Limited, "the part that reports a failure knows whose it is");
        assert_eq!(slow(Blame::Agent).replay(), Replay::Never);
        assert!(slow(Blame::Agent).is_held_against_agent() && !slow(Blame::Judge).is_held_against_agent());
    }

    #[test]
    fn a_failure_that_was_played_again_stays_one_and_one_after_our_fault_is_doubtful() {
        let planned = scenario::Trial {
            number: 0,
            id: TrialId::new("t"),
            case: 0,
            case_id: CaseId::new("c"),
            repeat: 0,
            seed: 0,
        };
        let trial = |verdict, failed, broken| Trial {
            past: Past { failed, broken },
            ..Trial::unplayed(&planned, 2, verdict, Failure::new(FailureKind::CheckFailed, ""))
        };
        for (trial, replayed, doubtful) in [
            (trial(Verdict::Pass, 0, 0), false, false),
            (trial(Verdict::Pass, 0, 2), false, false),
            (trial(Verdict::Pass, 1, 0), true, false),
            (trial(Verdict::Pass, 1, 1), true, true),
            (trial(Verdict::Fail, 1, 0), false, false),
            (trial(Verdict::Fail, 0, 1), false, true),
            (trial(Verdict::Error, 0, 1), false, true),
        ] {
            assert_eq!((trial.is_replayed_failure(), trial.is_doubtful()), (replayed, doubtful), "{trial:?}");
        }
    }

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
