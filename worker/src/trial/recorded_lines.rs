//! The lines of a recorded user, said again to the agent.

use record::{Stop, Turn, stop::Stopper};
use scenario::conversation::Condition;

/// What the user said, in order, and how the recorded conversation ended.
#[derive(Debug)]
pub(crate) struct RecordedLines {
    /// Step and line of each turn.
    lines: Vec<(u32, String)>,
    stop: Option<Stop>,
}

impl RecordedLines {
    pub(super) fn of(turns: &[Turn], stop: Option<Stop>) -> Self {
        Self { lines: turns.iter().map(|turn| (turn.step, turn.user.clone())).collect(), stop }
    }

    /// The line after `exchanges` exchanges of the conversation of this step.
    pub(super) fn next(&self, step: u32, exchanges: u32) -> Option<&str> {
        let mut of_step = self.lines.iter().filter(|(of, _)| *of == step);
        of_step.nth(usize::try_from(exchanges).unwrap_or(usize::MAX)).map(|(_, line)| line.as_str())
    }

    /// How a conversation ends that has said all its lines.
    pub(super) fn end(&self, turn: u32) -> Stop {
        let limit = || (Stopper::Limit, Condition::MaxTurnsReached.name().to_owned());
        let (who, signal) = self.stop.as_ref().map_or_else(limit, |stop| (stop.who, stop.signal.clone()));
        Stop { who, signal, turn }
    }
}
