//! Failures, by the agent's fault or not.

use record::{Blame, Summary};

use super::{
    model::{Block, Fault, Kind, LineKind, Section},
    room::Room,
};
use crate::{figures, unreadable};

/// Failures that count against the agent.
pub(super) fn of_agent(summary: &Summary) -> Section {
    let faults = faults(summary, |blame| blame == Blame::Agent);
    Section::new(Kind::AgentFailures, "Held against the agent", (!faults.is_empty()).then_some(Block::Faults(faults)))
}

/// Failures that do not.
pub(super) fn section(summary: &Summary, room: Room) -> Section {
    let totals = &summary.summary;
    let faults = faults(summary, |blame| blame != Blame::Agent);
    let mut lines = Vec::new();
    lines.extend(figures::lost(summary));
    lines.extend(figures::replayed(&totals.attempts));
    lines.extend(unreadable::lines(summary, room.unreadable));
    let faults = (!faults.is_empty()).then_some(Block::Faults(faults));
    let lines = (!lines.is_empty()).then_some(Block::Lines { kind: LineKind::Item, lines });
    Section::new(Kind::Faults, "Not the agent's fault", faults.into_iter().chain(lines))
}

fn faults(summary: &Summary, is_wanted: impl Fn(Blame) -> bool) -> Vec<Fault> {
    let failures = summary.summary.failures.iter().filter(|failure| is_wanted(failure.blame));
    failures
        .map(|failure| Fault { trials: failure.trials, kind: failure.kind.name(), blame: failure.blame.name() })
        .collect()
}
