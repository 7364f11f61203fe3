//! Counts the bytes of a trial: a conversation that is too long to record ends.

use record::{Failure, FailureKind, Turn, bounds, turn::Origin};

/// The bytes that each side has contributed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    by_agent: usize,
    by_user: usize,
}

impl Size {
    pub(super) fn add(&mut self, turn: &Turn) {
        let all = bounds::size_of_turn(turn);
        self.by_user += turn.user.len();
        self.by_agent += all - turn.user.len();
    }

    /// The failure of a trial that is too long. It blames the side that has written more.
    pub(super) fn failure(self, speaker: Origin) -> Option<Failure> {
        let Self { by_agent, by_user } = self;
        let all = by_agent + by_user;
        if all <= bounds::MOST_TRIAL_BYTES {
            return None;
        }
        let kind = match speaker {
            _ if by_agent >= by_user => FailureKind::AgentExcessive,
            Origin::Simulated => FailureKind::SimulatorFailed,
            Origin::Scripted | Origin::Program => FailureKind::Misconfigured,
        };
        let message = format!(
            "the conversation has come to {all} bytes, {by_user} of them the user's; at most {} are kept",
            bounds::MOST_TRIAL_BYTES
        );
        Some(Failure::new(kind, message))
    }
}
