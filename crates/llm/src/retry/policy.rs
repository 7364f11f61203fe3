//! Which errors are worth another try (a 429, a refused connection, …), and for how long.

use std::time::Duration;

use crate::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    callee: Callee,
    /// Tries of a failing call. A 429 is not a failure: only the deadline limits it.
    pub(super) tries: u32,
    /// From the first try, without rate-limit waits. No pause extends beyond it, or beyond the request's own time.
    pub(super) deadline: Duration,
    /// The upper bound of the first pause, which doubles with each pause.
    pub(super) shortest_pause: Duration,
    /// The upper bound of every pause.
    pub(super) longest_pause: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Callee {
    Model,
    Agent,
}

impl Policy {
    /// For models, which keep no state: every passing fault.
    #[must_use]
    pub fn model() -> Self {
        Self {
            callee: Callee::Model,
            tries: 5,
            deadline: Duration::from_secs(600),
            shortest_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(60),
        }
    }

    /// For agents, which keep state: only calls that cannot have reached the agent.
    #[must_use]
    pub fn agent() -> Self {
        Self { callee: Callee::Agent, ..Self::model() }
    }

    /// The same with other bounds.
    #[must_use]
    pub fn bounded(self, tries: u32, deadline: Duration) -> Self {
        Self { tries, deadline, ..self }
    }

    pub(super) fn is_agent(&self) -> bool {
        self.callee == Callee::Agent
    }

    /// Whether the same call may be retried after this error.
    #[must_use]
    pub fn allows(&self, error: &Error) -> bool {
        match error {
            Error::Throttled { .. }
            | Error::Unreachable { sent: false, .. }
            | Error::OutOfResources { sent: false, .. } => true,
            Error::TimedOut { .. }
            | Error::Malformed { .. }
            | Error::Unreachable { sent: true, .. }
            | Error::OutOfResources { sent: true, .. } => self.callee == Callee::Model,
            Error::Refused { .. }
            | Error::Unsupported { .. }
            | Error::Exhausted { .. }
            | Error::NoMoney { .. }
            | Error::Unwritable { .. }
            | Error::NoKey { .. }
            | Error::NotRecorded { .. } => false,
        }
    }
}
