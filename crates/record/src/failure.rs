//! Why a trial did not pass, and who is to blame.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    pub kind: FailureKind,
    pub blame: Blame,
    pub message: String,
    /// The scenario's step in which it happened, from 1; `None` where it was in no step.
    #[serde(default)]
    pub step: Option<u32>,
    /// The turn in which it happened, from 1; `None` where it was not in a turn.
    pub turn: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A check was judged and not satisfied.
    CheckFailed,
    /// No reply within the turn's time.
    AgentTimeout,
    /// The conversation's total time was over.
    ConversationTimeout,
    /// The agent's address did not answer, or the connection broke.
    AgentUnreachable,
    /// The agent's server answered with a status of 500 or above.
    AgentFailed,
    /// An HTTP status of 300 to 499, or a content filter.
    AgentRefused,
    /// 429, beyond the retries.
    AgentThrottled,
    /// A reply without text, tool calls or actions.
    AgentEmpty,
    /// The reply does not follow the protocol, or is cut off.
    AgentMalformed,
    /// One turn or conversation has more words, calls or bytes than gabfest keeps. The agent is probably in a loop.
    AgentExcessive,
    /// The simulated user's model failed or said nothing.
    SimulatorFailed,
    /// The agent got a line of the simulated user that no user would say.
    SimulatorFault,
    /// The agent needs something of the user that the scenario does not give.
    OutOfScope,
    /// The judge's model failed.
    JudgeFailed,
    /// The endpoint of the judge has no key.
    JudgeMissing,
    /// The judge's answer does not have the required form.
    JudgeMalformed,
    /// The conversation does not decide the question.
    Undecided,
    /// The words that the judge quotes were not said.
    EvidenceNotFound,
    /// The token limit cut the judge's answer, the doubled limit too.
    JudgeTruncated,
    /// No check applied.
    NothingJudged,
    /// The scenario runs a program, and the operator of the worker does not allow that.
    ExecutionNotAllowed,
    /// The trial's files, databases or programs could not be prepared.
    EnvironmentFailed,
    /// The worker's machine had no descriptor, port or memory left to ask the agent.
    OutOfResources,
    /// The plan or the settings do not fit together.
    Misconfigured,
    /// The termination hook failed.
    HookFailed,
    /// A custom check answered, but not in the form that is asked for, or not the same when it was asked again.
    CheckMalformed,
    /// A custom check could not be reached, crashed, or gave no answer in its time.
    CheckFailedToRun,
    /// A provider says that its quota or credit is used up.
    ProviderExhausted,
    /// The budget of the run, its `max_cost`, is used up.
    BudgetUsedUp,
    /// Workers crashed while they played this trial and no other.
    Poisoned,
    /// The run was cancelled.
    Cancelled,
    /// An arrival of an open pace found no free slot in time. Nothing was sent to the agent.
    Dropped,
    /// The coordinator refuses to store the records of the trial.
    RecordRefused,
    /// A bug in gabfest.
    Panicked,
    /// The stored result cannot be read.
    Unreadable,
}

impl FailureKind {
    /// The default blame for a failure of this kind. The code that reports a failure can set another.
    #[must_use]
    pub fn blame(self) -> Blame {
        match self {
            Self::CheckFailed
            | Self::AgentTimeout
            | Self::ConversationTimeout
            | Self::AgentUnreachable
            | Self::AgentFailed
            | Self::AgentRefused
            | Self::AgentThrottled
            | Self::AgentEmpty
            | Self::AgentMalformed
            | Self::AgentExcessive => Blame::Agent,
            Self::SimulatorFailed | Self::SimulatorFault | Self::OutOfScope => Blame::UserSim,
            Self::JudgeFailed
            | Self::JudgeMalformed
            | Self::Undecided
            | Self::EvidenceNotFound
            | Self::JudgeTruncated => Blame::Judge,
            Self::JudgeMissing | Self::NothingJudged | Self::ExecutionNotAllowed | Self::Misconfigured => Blame::Config,
            Self::ProviderExhausted | Self::BudgetUsedUp => Blame::Budget,
            Self::EnvironmentFailed
            | Self::OutOfResources
            | Self::HookFailed
            | Self::CheckMalformed
            | Self::CheckFailedToRun
            | Self::Poisoned
            | Self::Cancelled
            | Self::Dropped
            | Self::RecordRefused
            | Self::Panicked
            | Self::Unreadable => Blame::Infra,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CheckFailed => "check_failed",
            Self::AgentTimeout => "agent_timeout",
            Self::ConversationTimeout => "conversation_timeout",
            Self::AgentUnreachable => "agent_unreachable",
            Self::AgentFailed => "agent_failed",
            Self::AgentRefused => "agent_refused",
            Self::AgentThrottled => "agent_throttled",
            Self::AgentEmpty => "agent_empty",
            Self::AgentMalformed => "agent_malformed",
            Self::AgentExcessive => "agent_excessive",
            Self::SimulatorFailed => "simulator_failed",
            Self::SimulatorFault => "simulator_fault",
            Self::OutOfScope => "out_of_scope",
            Self::JudgeFailed => "judge_failed",
            Self::JudgeMissing => "judge_missing",
            Self::JudgeMalformed => "judge_malformed",
            Self::Undecided => "undecided",
            Self::EvidenceNotFound => "evidence_not_found",
            Self::JudgeTruncated => "judge_truncated",
            Self::NothingJudged => "nothing_judged",
            Self::ExecutionNotAllowed => "execution_not_allowed",
            Self::EnvironmentFailed => "environment_failed",
            Self::OutOfResources => "out_of_resources",
            Self::Misconfigured => "misconfigured",
            Self::HookFailed => "hook_failed",
            Self::CheckMalformed => "check_malformed",
            Self::CheckFailedToRun => "check_failed_to_run",
            Self::ProviderExhausted => "provider_exhausted",
            Self::BudgetUsedUp => "budget_used_up",
            Self::Poisoned => "poisoned",
            Self::Cancelled => "cancelled",
            Self::Dropped => "dropped",
            Self::RecordRefused => "record_refused",
            Self::Panicked => "panicked",
            Self::Unreadable => "unreadable",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    Agent,
    UserSim,
    Judge,
    Infra,
    Config,
    Budget,
}

impl Blame {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::UserSim => "user_sim",
            Self::Judge => "judge",
            Self::Infra => "infra",
            Self::Config => "config",
            Self::Budget => "budget",
        }
    }
}

impl Failure {
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, blame: kind.blame(), message: message.into(), step: None, turn: None }
    }

    #[must_use]
    pub fn in_step(mut self, step: u32) -> Self {
        self.step = Some(step);
        self
    }

    #[must_use]
    pub fn in_turn(mut self, turn: u32) -> Self {
        self.turn = Some(turn);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_a_version_that_knew_no_step_can_be_read() {
        let stored = r#"{"kind":"check_failed","blame":"agent","message":"equals: no","turn":3}"#;
        let failure: Failure = serde_json::from_str(stored).unwrap();
        assert_eq!(failure, Failure::new(FailureKind::CheckFailed, "equals: no").in_turn(3));
        assert_eq!(failure.step, None);
    }
}
