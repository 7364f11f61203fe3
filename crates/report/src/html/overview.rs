//! The top of the page: the verdict, its gates and the key figures.

use std::collections::BTreeMap;

use record::{
    Summary, Verdict,
    summary::{RunVerdict, Trials},
};
use serde::Serialize;

use super::{
    conversation::{Conversation, Conversations},
    section::capitalized,
};
use crate::{
    document::Headline,
    ending::Ending,
    failures::Group,
    figures::{self, count, millis, percent, percentile, usd},
    marks::Mark,
    spending,
};

/// Width of the bars' drawing, in its own units.
const BAR: f64 = 1_000.0;

#[derive(Serialize)]
pub(super) struct Overview {
    name: String,
    id: String,
    when: String,
    seed: String,
    plan_digest: String,
    version: String,
    note: Option<String>,
    /// What needs a look before the verdict is believed.
    alerts: Vec<String>,
    verdict: Mark,
    sentence: String,
    exit: &'static str,
    /// Why trials were skipped, each reason once.
    /// Cases that no gate depends on.
    left_out: Option<String>,
    skipped: Vec<String>,
    gates: Vec<Gate>,
    first_failure: Option<FirstFailure>,
    parts: Vec<Part>,
    figures: Vec<Figure>,
}

#[derive(Serialize)]
struct Gate {
    name: String,
    mark: Mark,
    reason: String,
}

#[derive(Serialize)]
struct FirstFailure {
    href: String,
    words: String,
}

/// A piece of the bar of all planned trials.
#[derive(Serialize)]
struct Part {
    class: &'static str,
    word: &'static str,
    count: String,
    from: String,
    width: String,
}

#[derive(Serialize)]
struct Figure {
    key: &'static str,
    name: &'static str,
    value: String,
    details: Vec<String>,
    warning: Option<String>,
    interval: Option<Interval>,
}

#[derive(Serialize)]
struct Interval {
    low: String,
    width: String,
    estimate: String,
}

impl Overview {
    pub(super) fn of(summary: &Summary, headline: &Headline, groups: &[Group], conversations: &Conversations) -> Self {
        let run = &summary.run;
        Self {
            name: run.name.clone(),
            id: run.id.to_string(),
            when: figures::span(&run.started_at, run.ended_at.as_deref()),
            seed: run.seed.to_string(),
            plan_digest: run.plan_digest.short().to_owned(),
            version: run.gabfest_version.clone(),
            note: headline.note.as_deref().map(capitalized),
            alerts: headline.alerts().map(|alert| capitalized(&alert)).collect(),
            verdict: headline.mark,
            sentence: sentence(summary),
            exit: Ending::of(summary).words(),
            left_out: headline.left_out().map(|text| capitalized(&text)),
            skipped: skipped(groups),
            gates: summary
                .gates
                .iter()
                .map(|gate| Gate {
                    name: gate.name.clone(),
                    mark: Mark::of_run(gate.verdict),
                    reason: gate.reason.clone(),
                })
                .collect(),
            first_failure: conversations.worst().map(first_failure),
            parts: parts(&summary.summary.trials),
            figures: figures(summary),
        }
    }
}

fn first_failure(of: &Conversation) -> FirstFailure {
    let what = match of.verdict {
        Verdict::Fail => "failure",
        Verdict::Error => "error",
        _ => "inconclusive conversation",
    };
    let place = of.place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
    FirstFailure { href: of.failing_anchor.clone(), words: format!("Go to the first {what}: {}{place}", of.name) }
}

fn skipped(groups: &[Group]) -> Vec<String> {
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for group in groups.iter().filter(|group| group.verdict() == Verdict::Skipped) {
        *reasons.entry(group.reason()).or_default() += group.trials;
    }
    let words = |(reason, trials): (String, u64)| {
        format!("{}: {reason}", figures::plural(trials, "trial skipped", "trials skipped"))
    };
    reasons.into_iter().map(words).collect()
}

fn sentence(summary: &Summary) -> String {
    let with = |verdict| summary.gates.iter().filter(|gate| gate.verdict == verdict).count() as u64;
    let gates = figures::plural(summary.gates.len() as u64, "gate", "gates");
    let gates = match (summary.gates.len(), with(RunVerdict::Fail), with(RunVerdict::Inconclusive)) {
        (0, _, _) => "No gate was set.".to_owned(),
        (_, 0, 0) => format!("{gates} held."),
        (_, 0, open) => format!("{} of {gates} could not be decided.", count(open)),
        (_, failed, 0) => format!("{} of {gates} failed.", count(failed)),
        (_, failed, open) => format!("{} of {gates} failed, {} could not be decided.", count(failed), count(open)),
    };
    let trials = summary.summary.trials;
    let of = figures::plural(trials.counts().conclusive(), "trial", "trials");
    format!("{gates} {} of {of} passed.", count(trials.pass))
}

fn parts(trials: &Trials) -> Vec<Part> {
    let all = [
        ("pass", "passed", trials.pass),
        ("fail", "failed", trials.fail),
        ("error", "error", trials.error),
        ("inconclusive", "inconclusive", trials.inconclusive),
        ("skipped", "skipped", trials.skipped),
        ("cancelled", "cancelled", trials.cancelled),
        ("waiting", "not started", trials.not_started),
    ];
    let sum: u64 = all.iter().map(|(_, _, number)| number).sum();
    let mut from = 0.0;
    let mut parts = Vec::new();
    for (class, word, number) in all {
        if number > 0 {
            let width = number as f64 / sum as f64 * BAR;
            parts.push(Part {
                class,
                word,
                count: count(number),
                from: format!("{from:.1}"),
                // A gap of two units separates neighbours without relying on their colours.
                width: format!("{:.1}", (width - 2.0).max(2.0)),
            });
            from += width;
        }
    }
    parts
}

fn figures(summary: &Summary) -> Vec<Figure> {
    let totals = &summary.summary;
    let trials = totals.trials;
    let rate = &totals.success_rate;
    let judged = trials.pass + trials.fail;
    let figure = |key, name, value: String, details: Vec<String>| Figure {
        key,
        name,
        value,
        details,
        warning: None,
        interval: None,
    };
    let mut all = Vec::new();
    all.push(Figure {
        interval: (rate.n > 0).then(|| Interval {
            low: format!("{:.1}", rate.low * BAR),
            width: format!("{:.1}", ((rate.high - rate.low) * BAR).max(4.0)),
            estimate: format!("{:.1}", rate.estimate.unwrap_or(0.0) * BAR),
        }),
        ..figure(
            "success-rate",
            "Success rate",
            figures::estimate(rate),
            [
                Some(format!("{} of {}", count(trials.pass), figures::plural(rate.n, "trial", "trials"))),
                Some(format!("{} interval {}{}", rate.method, figures::interval(rate), figures::scope(totals))),
                figures::bounds(totals),
                figures::judged_pass_rate(totals),
                figures::replayed_failures(totals),
                figures::weighted(summary),
            ]
            .into_iter()
            .flatten()
            .collect(),
        )
    });
    all.push(figure(
        "completed",
        "Completed",
        percent(totals.completed_rate),
        vec![
            format!("{} of {} planned", count(judged), count(trials.planned)),
            format!(
                "{}, {}",
                figures::plural(totals.conversations, "conversation", "conversations"),
                figures::plural(totals.turns, "turn", "turns")
            ),
        ],
    ));
    all.push(figure(
        "flaky",
        "Flaky cases",
        count(totals.flaky_cases),
        vec![format!("of {}", figures::plural(summary.cases.len() as u64, "case", "cases"))],
    ));
    if let Some(wall) = summary.wall {
        let pace = [
            wall.conversations_per_minute.filter(|_| totals.conversations > 0).map(|rate| (rate, "conversations/min")),
            wall.turns_per_second.map(|rate| (rate, "turns/s")),
        ];
        let details = pace.into_iter().flatten().map(|(rate, unit)| format!("{} {unit}", figures::decimal(rate)));
        let details = details.chain(figures::left_out(&wall).map(str::to_owned));
        all.push(figure("wall", "Wall time", millis(wall.duration_ms as f64), details.collect()));
    }
    let times = &totals.latency.times;
    let turn = if times.response.count > 0 { &times.response } else { &times.turn };
    if turn.count > 0 {
        let details = vec![format!("p95 {}", percentile(turn.p95_ms)), format!("p99 {}", percentile(turn.p99_ms))];
        all.push(Figure {
            warning: figures::unanswered(&totals.latency),
            ..figure("latency", "Response, median", millis(turn.p50_ms), details)
        });
    }
    let ttft = &times.ttft;
    if ttft.count > 0 {
        let details = vec![format!("p95 {}", percentile(ttft.p95_ms)), format!("p99 {}", percentile(ttft.p99_ms))];
        all.push(figure("ttft", "First token, median", millis(ttft.p50_ms), details));
    }
    let input: u64 = totals.tokens.values().map(|tokens| tokens.input).sum();
    let output: u64 = totals.tokens.values().map(|tokens| tokens.output).sum();
    let details = vec![format!("{} in", count(input)), format!("{} out", count(output))];
    let tokens = spending::marked(totals.cost.estimated_calls, count(input + output));
    all.push(figure("tokens", "Tokens", tokens, details));
    all.push(Figure {
        warning: spending::incomplete(totals).map(|reasons| format!("incomplete: {reasons}")),
        ..figure(
            "cost",
            "Cost",
            spending::total(totals),
            (totals.unsettled_usd > 0.0)
                .then(|| format!("at most {} unsettled", usd(totals.unsettled_usd)))
                .into_iter()
                .chain(totals.budget.map(|budget| format!("of a budget of {}", usd(budget.max_cost_usd))))
                .collect(),
        )
    });
    all.push(figure(
        "attempts",
        "Attempts",
        count(totals.attempts.total),
        vec![format!("{} lost and played again", count(totals.attempts.lost))],
    ));
    all
}
