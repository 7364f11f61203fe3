//! Enum values on the wire are the words of reports, so that old and new binaries are compatible.

use record::{
    Blame, FailureKind, Finding, Role, Verdict,
    call::{ErrorKind, Finish},
    named_limits::LimitOf,
    stop::Stopper,
    summary::RunState,
    turn::Origin,
};
use scenario::Strategy;

use crate::v1;

/// A message that this version does not understand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("unknown {what} {word:?} on the wire")]
    UnknownWord { what: &'static str, word: String },
    #[error("the field {0} is missing on the wire")]
    Missing(&'static str),
    #[error("{what} {number} on the wire, where a number is expected that can be kept")]
    NotFinite { what: &'static str, number: String },
    #[error("undecodable bytes on the wire: {0}")]
    Undecodable(String),
}

macro_rules! words {
    ($name:ident, $type:ty, $what:literal, [$($value:path => $word:literal),* $(,)?]) => {
        pub(crate) mod $name {
            use super::*;

            pub(crate) fn word(value: $type) -> &'static str {
                match value {
                    $($value => $word,)*
                }
            }

            pub(crate) fn read(word: &str) -> Result<$type, Error> {
                match word {
                    $($word => Ok($value),)*
                    _ => Err(Error::UnknownWord { what: $what, word: word.to_owned() }),
                }
            }
        }
    };
}

words!(verdict, Verdict, "verdict", [
    Verdict::Pass => "PASS",
    Verdict::Fail => "FAIL",
    Verdict::Inconclusive => "INCONCLUSIVE",
    Verdict::Error => "ERROR",
    Verdict::Skipped => "SKIPPED",
    Verdict::Cancelled => "CANCELLED",
]);
words!(finding, Finding, "finding", [
    Finding::Pass => "pass",
    Finding::Fail => "fail",
    Finding::Inconclusive => "inconclusive",
    Finding::Error => "error",
    Finding::NotApplicable => "not_applicable",
]);
words!(stopper, Stopper, "end of a talk", [
    Stopper::User => "user",
    Stopper::Script => "script",
    Stopper::Condition => "condition",
    Stopper::Limit => "limit",
]);
words!(role, Role, "role", [
    Role::Agent => "agent",
    Role::UserSim => "user_sim",
    Role::Judge => "judge",
    Role::Scorer => "scorer",
]);
words!(error_kind, ErrorKind, "kind of error", [
    ErrorKind::TimedOut => "timed_out",
    ErrorKind::Throttled => "throttled",
    ErrorKind::Refused => "refused",
    ErrorKind::Unreachable => "unreachable",
    ErrorKind::Failed => "failed",
    ErrorKind::OutOfResources => "out_of_resources",
    ErrorKind::Malformed => "malformed",
    ErrorKind::Empty => "empty",
    ErrorKind::Exhausted => "exhausted",
    ErrorKind::NoMoney => "no_money",
    ErrorKind::Unwritable => "unwritable",
    ErrorKind::Other => "other",
]);
words!(finish, Finish, "end of a reply", [
    Finish::Stop => "stop",
    Finish::Length => "length",
    Finish::ToolCalls => "tool_calls",
    Finish::Refused => "refused",
    Finish::Other => "other",
]);
words!(strategy, Strategy, "strategy", [
    Strategy::AllPass => "all_pass",
    Strategy::AnyPass => "any_pass",
]);
words!(speaker, Origin, "speaker", [
    Origin::Scripted => "scripted",
    Origin::Simulated => "simulated",
    Origin::Program => "program",
]);
words!(limit_of, LimitOf, "limit", [
    LimitOf::Requests => "requests",
    LimitOf::Tokens => "tokens",
    LimitOf::InputTokens => "input_tokens",
    LimitOf::OutputTokens => "output_tokens",
]);
words!(blame, Blame, "blame", [
    Blame::Agent => "agent",
    Blame::UserSim => "user_sim",
    Blame::Judge => "judge",
    Blame::Infra => "infra",
    Blame::Config => "config",
    Blame::Budget => "budget",
]);
words!(kind, FailureKind, "failure kind", [
    FailureKind::CheckFailed => "check_failed",
    FailureKind::AgentTimeout => "agent_timeout",
    FailureKind::ConversationTimeout => "conversation_timeout",
    FailureKind::AgentUnreachable => "agent_unreachable",
    FailureKind::AgentFailed => "agent_failed",
    FailureKind::AgentRefused => "agent_refused",
    FailureKind::AgentThrottled => "agent_throttled",
    FailureKind::AgentEmpty => "agent_empty",
    FailureKind::AgentMalformed => "agent_malformed",
    FailureKind::AgentExcessive => "agent_excessive",
    FailureKind::SimulatorFailed => "simulator_failed",
    FailureKind::SimulatorFault => "simulator_fault",
    FailureKind::OutOfScope => "out_of_scope",
    FailureKind::JudgeFailed => "judge_failed",
    FailureKind::JudgeMissing => "judge_missing",
    FailureKind::JudgeMalformed => "judge_malformed",
    FailureKind::Undecided => "undecided",
    FailureKind::EvidenceNotFound => "evidence_not_found",
    FailureKind::JudgeTruncated => "judge_truncated",
    FailureKind::NothingJudged => "nothing_judged",
    FailureKind::ExecutionNotAllowed => "execution_not_allowed",
    FailureKind::EnvironmentFailed => "environment_failed",
    FailureKind::OutOfResources => "out_of_resources",
    FailureKind::Misconfigured => "misconfigured",
    FailureKind::HookFailed => "hook_failed",
    FailureKind::CheckMalformed => "check_malformed",
    FailureKind::CheckFailedToRun => "check_failed_to_run",
    FailureKind::ProviderExhausted => "provider_exhausted",
    FailureKind::BudgetUsedUp => "budget_used_up",
    FailureKind::Poisoned => "poisoned",
    FailureKind::Cancelled => "cancelled",
    FailureKind::Dropped => "dropped",
    FailureKind::RecordRefused => "record_refused",
    FailureKind::Panicked => "panicked",
    FailureKind::Unreadable => "unreadable",
]);

impl From<RunState> for v1::RunState {
    fn from(state: RunState) -> Self {
        match state {
            RunState::Running => Self::Running,
            RunState::Finished => Self::Finished,
            RunState::Interrupted => Self::Interrupted,
            RunState::Cancelled => Self::Cancelled,
        }
    }
}

impl TryFrom<v1::RunState> for RunState {
    type Error = Error;

    fn try_from(state: v1::RunState) -> Result<Self, Error> {
        match state {
            v1::RunState::Running => Ok(Self::Running),
            v1::RunState::Finished => Ok(Self::Finished),
            v1::RunState::Interrupted => Ok(Self::Interrupted),
            v1::RunState::Cancelled => Ok(Self::Cancelled),
            v1::RunState::Unspecified => Err(Error::Missing("state")),
        }
    }
}
