//! The run as one span in its own trace, to which the traces of its trials link.

use opentelemetry::{
    KeyValue,
    trace::{SpanKind, Status},
};
use record::{
    Summary,
    summary::{RunState, RunVerdict},
};

use scenario::RunId;

use super::{
    ids,
    span::{Span, Times, integer},
    texts::Texts,
};
use crate::names;

/// The data of a finished run.
#[derive(Debug, Clone, Copy)]
pub struct EndedRun<'a> {
    pub summary: &'a Summary,
    /// Unix milliseconds.
    pub started_at: i64,
    pub ended_at: i64,
}

pub(super) fn span(ended: &EndedRun<'_>, texts: &Texts) -> Span {
    let Summary { run, summary: totals, verdict, .. } = ended.summary;
    let status = match (run.state, verdict) {
        (RunState::Finished, RunVerdict::Pass) => "success",
        (RunState::Finished, RunVerdict::Fail | RunVerdict::Inconclusive) => "failure",
        (RunState::Running, _) => "in_progress",
        (RunState::Interrupted | RunState::Cancelled, _) => "aborted",
    };
    let trials = &totals.trials;
    let mut attributes = vec![
        texts.name(names::SUITE, &run.name),
        KeyValue::new(names::SPAN_KIND, "CHAIN"),
        KeyValue::new(names::RUN_STATUS, status),
        texts.name(names::RUN, run.id.as_str()),
        KeyValue::new(names::TURNS, integer(totals.turns)),
        KeyValue::new(names::COST, totals.cost.total_usd),
        KeyValue::new(names::PLANNED, integer(trials.planned)),
    ];
    for (verdict, count) in [
        ("pass", trials.pass),
        ("fail", trials.fail),
        ("inconclusive", trials.inconclusive),
        ("error", trials.error),
        ("skipped", trials.skipped),
        ("cancelled", trials.cancelled),
    ] {
        attributes.push(KeyValue::new(format!("{}{verdict}", names::TRIALS), integer(count)));
    }
    Span {
        trace: ids::run_trace(&run.id),
        id: id(&run.id, run.state, ended.ended_at),
        parent: 0,
        kind: SpanKind::Internal,
        name: format!("run {}", texts.short_text(&run.name)).into(),
        times: Times { from: micros(ended.started_at), to: micros(ended.ended_at.max(ended.started_at)) },
        attributes,
        events: Vec::new(),
        links: Vec::new(),
        status: match status {
            "success" => Status::Ok,
            "failure" => Status::error("a gate did not hold"),
            _ => Status::Unset,
        },
    }
}

/// An interrupted run can be resumed and end again. Trials link to its last end.
fn id(run: &RunId, state: RunState, ended_at: i64) -> u64 {
    match state {
        RunState::Finished | RunState::Cancelled => ids::run_span(run),
        RunState::Running | RunState::Interrupted => ids::stop_span(run, ended_at),
    }
}

fn micros(unix_millis: i64) -> u64 {
    u64::try_from(unix_millis).unwrap_or(0).saturating_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_resumed_ends_twice_under_two_ids() {
        let run = RunId::new("r");
        let ends = [(RunState::Interrupted, 1), (RunState::Interrupted, 2), (RunState::Finished, 3)];
        let [first, second, last] = ends.map(|(state, ended_at)| id(&run, state, ended_at));
        assert!(first != second && second != last && first != last);
        assert_eq!([id(&run, RunState::Cancelled, 4), last], [ids::run_span(&run); 2]);
    }
}
