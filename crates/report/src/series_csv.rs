//! The run over time as CSV: a line for each slice.

use record::{
    Summary,
    latency::Quantiles,
    slices::{Series, SeriesSlice},
};

use crate::form::{Form, Make};

pub const FORM: Form = Form {
    name: "series",
    about: "The run over time as CSV, a line for each slice",
    file: None,
    make: Make::Page(|summary, _, _| Ok(render(summary))),
};

const HEADS: [&str; 21] = [
    "from_ms",
    "width_ms",
    "starts",
    "ends",
    "pass",
    "fail",
    "agent_errors",
    "other_ends",
    "turns",
    "unanswered_turns",
    "response_p50_ms",
    "response_p95_ms",
    "response_p99_ms",
    "response_max_ms",
    "service_p50_ms",
    "service_p95_ms",
    "ttft_p50_ms",
    "ttft_p95_ms",
    "output_tokens",
    "cost_usd",
    "turns_met",
];

/// A percentile of too few samples is an empty field. A run without slices has the heads alone.
#[must_use]
pub fn render(summary: &Summary) -> String {
    let mut text = format!("{}\n", HEADS.join(","));
    if let Some(Series { width_ms, slices }) = &summary.series {
        for slice in slices {
            text.push_str(&format!("{}\n", line(slice, *width_ms).join(",")));
        }
    }
    text
}

fn line(slice: &SeriesSlice, width_ms: u64) -> [String; HEADS.len()] {
    let tail = |found: Option<f64>| found.map(|found| found.to_string()).unwrap_or_default();
    let median = |of: &Quantiles| tail((of.count > 0).then_some(of.p50_ms));
    let highest = tail((slice.response.count > 0).then_some(slice.response.max_ms));
    [
        slice.from_ms.to_string(),
        width_ms.to_string(),
        slice.starts.to_string(),
        slice.ends.to_string(),
        slice.pass.to_string(),
        slice.fail.to_string(),
        slice.agent_errors.to_string(),
        slice.other_ends.to_string(),
        slice.turn.count.to_string(),
        slice.unanswered_turns.to_string(),
        median(&slice.response),
        tail(slice.response.p95_ms),
        tail(slice.response.p99_ms),
        highest,
        median(&slice.turn),
        tail(slice.turn.p95_ms),
        median(&slice.ttft),
        tail(slice.ttft.p95_ms),
        slice.output_tokens.to_string(),
        slice.cost_usd.to_string(),
        slice.turns_met.map(|met| met.to_string()).unwrap_or_default(),
    ]
}
