//! Ids of traces and spans: functions of what they identify, so that they are known in advance and found again.

use scenario::{RunId, ids::seed_of};

/// The trace of an attempt, and whether it is exported in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub trace: u128,
    /// The `sampled` flag for others: the spans are certainly exported. A failed attempt is exported anyway.
    pub sampled: bool,
    /// Whether the sampler selected it. Even without exported spans, its judgments are exported.
    pub(super) taken: bool,
}

/// The trace of one attempt at a trial.
#[must_use]
pub fn trace(run: &RunId, trial: u64, epoch: u32) -> u128 {
    wide(|half| seed_of(&[b"trace", half, run.as_str().as_bytes(), &trial.to_le_bytes(), &epoch.to_le_bytes()]))
}

/// The trace of a run itself.
#[must_use]
pub fn run_trace(run: &RunId) -> u128 {
    wide(|half| seed_of(&[b"run trace", half, run.as_str().as_bytes()]))
}

/// The span of a run in its own trace.
#[must_use]
pub fn run_span(run: &RunId) -> u64 {
    seed_of(&[b"run span", run.as_str().as_bytes()]).max(1)
}

/// The span of a run that stopped and can continue. It is different each time, because [`run_span`] belongs to the final end.
#[must_use]
pub fn stop_span(run: &RunId, ended_at: i64) -> u64 {
    seed_of(&[b"stop span", run.as_str().as_bytes(), &ended_at.to_le_bytes()]).max(1)
}

/// The root of an attempt's trace, which represents the run. Not [`run_span`]: some backends accept an id only once, even
/// in different traces.
#[must_use]
pub fn root_span(trace: u128) -> u64 {
    within(trace, 0, 1)
}

#[must_use]
pub fn trial_span(trace: u128) -> u64 {
    within(trace, 0, 0)
}

/// `turn` counts from 1.
#[must_use]
pub fn turn_span(trace: u128, turn: u32) -> u64 {
    within(trace, turn, 0)
}

/// The agent's call in a turn: the parent of the agent's own spans.
#[must_use]
pub fn agent_span(trace: u128, turn: u32) -> u64 {
    within(trace, turn, 1)
}

/// Another call of a turn, by its index among the turn's calls. Turn 0 has the calls without a turn.
#[must_use]
pub fn call_span(trace: u128, turn: u32, index: usize) -> u64 {
    within(trace, turn, u32::try_from(index).unwrap_or(u32::MAX - 2).saturating_add(2))
}

/// A tool call of a turn, by its index among the turn's tool calls.
#[must_use]
pub fn tool_span(trace: u128, turn: u32, index: usize) -> u64 {
    // Calls count up from 2, so they never get as far as the upper half.
    within(trace, turn, 1 << 31 | u32::try_from(index).unwrap_or(u32::MAX))
}

/// A tool call of the simulated user, by its index among those of the turn.
#[must_use]
pub fn user_tool_span(trace: u128, turn: u32, index: usize) -> u64 {
    // The quarter below the agent's tool calls.
    within(trace, turn, 1 << 30 | u32::try_from(index).unwrap_or(u32::MAX >> 2))
}

/// Mixes a place into the bits of a trace. Each step is invertible (it is the end of SplitMix64), so the spans of a trace
/// differ, which is the only requirement.
fn within(trace: u128, turn: u32, place: u32) -> u64 {
    let mut bits = (trace as u64) ^ (u64::from(turn) << 32 | u64::from(place));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // Zero would mean no span.
    (bits ^ (bits >> 31)).max(1)
}

fn wide(half: impl Fn(&[u8]) -> u64) -> u128 {
    (u128::from(half(&[0])) << 64 | u128::from(half(&[1]))).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_attempt_is_a_trace_and_each_place_in_it_a_span() {
        let (run, other) = (RunId::new("r1"), RunId::new("r2"));
        let traces = [trace(&run, 0, 1), trace(&run, 0, 2), trace(&run, 1, 1), trace(&other, 0, 1), run_trace(&run)];
        assert_eq!(BTreeSet::from(traces).len(), 5);
        assert_eq!(trace(&run, 0, 1), trace(&RunId::new("r1"), 0, 1));
        assert_ne!(run_span(&run), run_span(&other));
        let trace = traces[0];
        let mut spans = BTreeSet::from([root_span(trace), trial_span(trace)]);
        for turn in 1..=50 {
            spans.extend([turn_span(trace, turn), agent_span(trace, turn)]);
            spans.extend((0..20).map(|index| call_span(trace, turn, index)));
            spans.extend((0..20).map(|index| tool_span(trace, turn, index)));
            spans.extend((0..20).map(|index| user_tool_span(trace, turn, index)));
        }
        assert_eq!(spans.len(), 2 + 50 * 62);
        assert!(!spans.contains(&0));
    }

    /// Agents store these ids in their traces and logs, so they must not change by accident.
    #[test]
    fn ids_never_change() {
        let id = trace(&RunId::new("20260101-000000-abcd"), 7, 1);
        let shown = format!("{id:032x} {:016x} {:016x}", trial_span(id), agent_span(id, 3));
        insta::assert_snapshot!(shown);
    }
}
