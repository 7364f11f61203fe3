//! The tables by agent, scenario, persona and tag, and by the values of each axis, as texts.

use record::{Summary, breakdown::PartKind, latency::Quantiles, summary::PartSummary, turn_times::Times};

use crate::{
    cases, clip,
    figures::{self, count, millis, usd},
    spending,
};

const VALUE_CHARS: usize = 80;

/// One way to divide a run.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) kind: PartKind,
    /// `agent`, `scenario`, `persona`, `tag`, or the path of an axis.
    pub(crate) by: String,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Planned.
    pub(crate) trials: String,
    /// Held against the agent.
    pub(crate) failures: String,
    pub(crate) rate: String,
    pub(crate) interval: String,
    /// Of response times.
    pub(crate) p50: String,
    pub(crate) p95: String,
    /// Of first tokens: p50 and p95.
    pub(crate) ttft: [String; 2],
    pub(crate) cost: String,
    /// By kind, including ours: `12 check_failed, 3 agent_timeout`.
    pub(crate) kinds: String,
}

/// Only parts that divide the run: a single agent or value is the run itself.
pub(crate) fn tables(summary: &Summary) -> Vec<Table> {
    let mut tables = Vec::new();
    if cases::several_agents(&summary.cases) {
        let rows = summary.by_agent.iter().map(|of| row(of.agent.clone(), &of.figures)).collect();
        tables.push(Table { kind: PartKind::Agent, by: "agent".to_owned(), rows });
    }
    let rows: Vec<Row> = summary.by_scenario.iter().map(|of| row(of.scenario.clone(), &of.figures)).collect();
    tables.push(Table { kind: PartKind::Scenario, by: "scenario".to_owned(), rows });
    let rows: Vec<Row> = summary.by_persona.iter().map(|of| row(of.persona.clone(), &of.figures)).collect();
    tables.push(Table { kind: PartKind::Persona, by: "persona".to_owned(), rows });
    if !summary.by_tag.is_empty() {
        let rows = summary.by_tag.iter().map(|of| row(of.tag.clone(), &of.figures)).collect();
        tables.push(Table { kind: PartKind::Tag, by: "tag".to_owned(), rows });
    }
    for values in summary.by_axis.chunk_by(|one, other| one.parameter == other.parameter) {
        let rows = values.iter().map(|of| row(value(&of.value), &of.figures)).collect();
        tables.push(Table { kind: PartKind::Axis, by: values[0].parameter.clone(), rows });
    }
    tables.retain(|table| matches!(table.kind, PartKind::Agent | PartKind::Tag) || table.rows.len() > 1);
    tables
}

fn row(name: String, of: &PartSummary) -> Row {
    let times = |of_times: fn(&Times) -> &Quantiles| {
        let found = of.latency.as_ref().map(of_times).filter(|of| of.count > 0);
        found.map_or(["–", "–"].map(str::to_owned), |of| [millis(of.p50_ms), figures::percentile(of.p95_ms)])
    };
    // Reports of older versions have only service times.
    let is_old = of.latency.is_some_and(|latency| latency.response.count == 0);
    let [p50, p95] = times(if is_old { |times| &times.turn } else { |times| &times.response });
    let mut kinds: Vec<_> = of.failures.iter().collect();
    kinds.sort_by_key(|failure| std::cmp::Reverse(failure.trials));
    let kinds: Vec<String> = kinds.iter().map(|of| format!("{} {}", count(of.trials), of.kind.name())).collect();
    let estimated = if of.cost_usd > 0.0 { of.estimated_calls } else { 0 };
    let cost = match (of.unpriced_calls, spending::marked(estimated, usd(of.cost_usd))) {
        (0, cost) => cost,
        (_, _) if of.cost_usd <= 0.0 => "unknown".to_owned(),
        (_, cost) => format!("≥ {cost}"),
    };
    Row {
        name,
        trials: count(of.trials),
        failures: count(of.fail + of.agent_errors),
        rate: figures::estimate(&of.success_rate),
        interval: figures::interval(&of.success_rate),
        p50,
        p95,
        ttft: times(|times| &times.ttft),
        cost,
        kinds: kinds.join(", "),
    }
}

/// As written in a matrix, on one line and possibly cut.
pub(crate) fn value(value: &serde_json::Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    clip::ellipsis(&text, VALUE_CHARS)
}
