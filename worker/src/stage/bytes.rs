//! How much a trial has come to: a conversation that is too long to be kept ends.

use record::{Failure, FailureKind, Turn, bounds, turn::Speaker};

/// Who has said how much.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bytes {
    by_agent: usize,
    by_user: usize,
}

impl Bytes {
    pub(super) fn add(&mut self, turn: &Turn) {
        let all = bounds::size_of_turn(turn);
        self.by_user += turn.user.len();
        self.by_agent += all - turn.user.len();
    }

    /// A conversation that is too long to be kept ends, blamed on who has said more.
    pub(super) fn failure(self, speaker: Speaker) -> Option<Failure> {
        let Self { by_agent, by_user } = self;
        let all = by_agent + by_user;
        let kind = match speaker {
            _ if by_agent >= by_user => FailureKind::AgentExcessive,
            Speaker::Simulated => FailureKind::SimulatorFailed,
            Speaker::Scripted | Speaker::Program => FailureKind::Misconfigured,
        };
        let most = bounds::MOST_TRIAL_BYTES;
        let message =
            format!("the conversation has come to {all} bytes, {by_user} of them the user's; at most {most} are kept");
        (all > most).then(|| Failure::new(kind, message))
    }
}
