//! The tables by agent, by tag and by the values of each axis, as texts.

use record::{Summary, summary::PartSummary};

use crate::{
    cases, clip,
    figures::{self, count, millis, usd},
    spending,
};

const VALUE_CHARS: usize = 80;

/// One way to divide a run.
#[derive(Debug)]
pub(crate) struct Table {
    /// `agent`, `tag`, or the path of an axis.
    pub(crate) by: String,
    pub(crate) is_axis: bool,
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
    pub(crate) p50: String,
    pub(crate) p95: String,
    pub(crate) cost: String,
    /// By kind, ours too: `12 check_failed, 3 agent_timeout`.
    pub(crate) kinds: String,
}

/// Only those that divide the run: one agent or one value are the run itself.
pub(crate) fn tables(summary: &Summary) -> Vec<Table> {
    let mut tables = Vec::new();
    if cases::several_agents(&summary.cases) {
        let rows = summary.by_agent.iter().map(|of| row(of.agent.clone(), &of.figures)).collect();
        tables.push(Table { by: "agent".to_owned(), is_axis: false, rows });
    }
    if !summary.by_tag.is_empty() {
        let rows = summary.by_tag.iter().map(|of| row(of.tag.clone(), &of.figures)).collect();
        tables.push(Table { by: "tag".to_owned(), is_axis: false, rows });
    }
    for values in summary.by_axis.chunk_by(|one, other| one.parameter == other.parameter) {
        let rows = values.iter().map(|of| row(value(&of.value), &of.figures)).collect();
        tables.push(Table { by: values[0].parameter.clone(), is_axis: true, rows });
    }
    tables.retain(|table| !table.is_axis || table.rows.len() > 1);
    tables
}

fn row(name: String, of: &PartSummary) -> Row {
    let measured = of.latency.filter(|latency| latency.count > 0);
    let time = |of: fn(&record::latency::Quantiles) -> f64| {
        measured.as_ref().map_or_else(|| "–".to_owned(), |latency| millis(of(latency)))
    };
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
        p50: time(|latency| latency.p50_ms),
        p95: time(|latency| latency.p95_ms),
        cost,
        kinds: kinds.join(", "),
    }
}

/// As it is written in a matrix, on one line and perhaps cut.
pub(crate) fn value(value: &serde_json::Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    clip::ellipsis(&text, VALUE_CHARS)
}
