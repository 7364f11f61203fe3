//! An attempt that has ended, and the times of its parts.

use record::{Call, Trial, Turn, Verdict, session::session_id};
use scenario::{Case, RunId};

use crate::trace::span::Times;

/// A finished attempt.
#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    pub run: &'a RunId,
    /// The plan's name.
    pub suite: &'a str,
    pub case: &'a Case,
    /// The start in Unix microseconds. Times in records count from here.
    pub began_micros: u64,
    pub trial: &'a Trial,
    /// Empty if nothing was played.
    pub turns: &'a [Turn],
    /// Calls without a turn.
    pub calls: &'a [Call],
    /// The first turn of each conversation with the agent.
    pub conversations: &'a [u32],
}

impl Played<'_> {
    /// Whether it is exported regardless of the sampler. Skipped trials are not: a plan without a judge has thousands of
    /// identical ones.
    pub(in crate::trace) fn is_always_exported(&self) -> bool {
        !matches!(self.trial.verdict, Verdict::Pass | Verdict::Skipped)
    }

    pub(in crate::trace) fn times(&self) -> Times {
        let from = self.began_micros;
        let whole = Times { from, to: from.saturating_add(self.trial.duration_ms.saturating_mul(1_000)) };
        let whole = self.turns.iter().fold(whole, |times, turn| times.with(self.times_of_turn(turn)));
        let own = self.turns.iter().flat_map(|turn| &turn.calls).filter(|call| call.of_trial).chain(self.calls);
        own.fold(whole, |times, call| times.with(self.times_of_call(call)))
    }

    /// From the first action of the turn to the last, including judges.
    pub(super) fn times_of_turn(&self, turn: &Turn) -> Times {
        let from = self.began_micros.saturating_add(turn.started_micros);
        let own = Times { from, to: from.saturating_add(turn.duration_micros) };
        turn.calls.iter().filter(|call| !call.of_trial).fold(own, |times, one| times.with(self.times_of_call(one)))
    }

    /// The time of the last try only. The waits before it have their own attributes.
    pub(super) fn times_of_call(&self, call: &Call) -> Times {
        let waited = call.wait_micros.saturating_add(call.connect_micros.unwrap_or(0));
        let before = waited.saturating_add(call.retried_micros);
        let from = self.began_micros.saturating_add(call.started_micros).saturating_add(before);
        Times { from, to: from.saturating_add(call.total_micros) }
    }

    /// A unique id of the conversation. The trial's id repeats in every run of its plan and in each attempt.
    pub(super) fn session(&self) -> String {
        session_id(self.run, &self.trial.trial_id, self.trial.epoch)
    }

    /// The number of a turn's conversation, from 1. Calls without a turn belong to the first.
    pub(super) fn conversation_of(&self, turn: Option<&Turn>) -> u32 {
        let begun = |turn: &Turn| self.conversations.iter().filter(|first| **first <= turn.number).count();
        u32::try_from(turn.map_or(1, begun)).unwrap_or(u32::MAX).max(1)
    }
}
