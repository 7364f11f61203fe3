//! All metrics of gabfest: name, kind, labels and meaning.

use std::fmt::Write as _;

use record::Verdict;

use crate::names;

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// The name in OTLP.
    pub name: &'static str,
    pub kind: Kind,
    /// In UCUM, as OpenTelemetry requires; empty for plain numbers.
    pub unit: &'static str,
    pub labels: &'static [&'static str],
    /// Its meaning, as a sentence without the full stop.
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Counter,
    Gauge,
    /// With the upper bounds of its buckets.
    Histogram(&'static [f64]),
}

/// Series that a metric has at most, a verdict not counted: each of them can have every verdict.
pub(super) const MOST_SERIES: usize = 2_000;

impl Metric {
    /// Series that it has at most in one process.
    pub(super) fn most_series(&self) -> usize {
        if self.labels.contains(&VERDICT) { MOST_SERIES * Verdict::ALL.len() } else { MOST_SERIES }
    }

    /// The name in Prometheus.
    #[must_use]
    pub fn prometheus_name(&self) -> String {
        let mut name = self.name.replace('.', "_");
        name.push_str(match self.unit {
            SECONDS => "_seconds",
            BYTES => "_bytes",
            _ => "",
        });
        if self.kind == Kind::Counter {
            name.push_str("_total");
        }
        name
    }
}

const SECONDS: &str = "s";
const BYTES: &str = "By";

/// Of the GenAI conventions.
const CALL_SECONDS: &[f64] = &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// Of the GenAI conventions.
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
const WAIT_SECONDS: &[f64] = &[0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
const LATE_SECONDS: &[f64] = &[0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
const CONVERSATION_SECONDS: &[f64] =
    &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0];
const COMMIT_SECONDS: &[f64] = &[0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const MODEL: &str = "model";
pub(super) const SUITE: &str = "suite";
pub(super) const SCENARIO: &str = "scenario";
pub(super) const PERSONA: &str = "persona";
pub(super) const VERDICT: &str = "verdict";
pub(super) const CHECK: &str = "check";
pub(super) const FINDING: &str = "finding";
pub(super) const STATE: &str = "state";
pub(super) const SIGNAL: &str = "signal";
pub(super) const STATUS: &str = "status";
pub(super) const BLAME: &str = "blame";
pub(super) const ENDPOINT: &str = "endpoint";
pub(super) const ROLE: &str = "role";
pub(super) const OUTCOME: &str = "outcome";
pub(super) const MODEL_LABEL: &str = MODEL;

macro_rules! metrics {
    ($list:ident: $($id:ident = $kind:expr, $name:literal, $unit:literal, [$($label:expr),*], $help:literal;)*) => {
        $(pub(super) const $id: Metric =
            Metric { name: $name, kind: $kind, unit: $unit, labels: &[$($label),*], help: $help };)*
        /// In the order of the documentation.
        pub const $list: &[Metric] = &[$($id),*];
    };
}

metrics! { WORKER:
    CALL_DURATION = Kind::Histogram(CALL_SECONDS), "gen_ai.client.operation.duration", "s",
        [names::OPERATION, names::PROVIDER, names::REQUEST_MODEL, names::RESPONSE_MODEL, names::ROLE, names::ERROR_TYPE],
        "Duration of calls, without rate-limit waits; failed calls have error_type";
    FIRST_CHUNK = Kind::Histogram(CALL_SECONDS), "gen_ai.client.operation.time_to_first_chunk", "s",
        [names::OPERATION, names::PROVIDER, names::REQUEST_MODEL, names::RESPONSE_MODEL, names::ROLE],
        "Time to the first content of streamed answers";
    TOKEN_USAGE = Kind::Histogram(TOKENS), "gen_ai.client.token.usage", "{token}",
        [names::OPERATION, names::PROVIDER, names::TOKEN_TYPE, names::REQUEST_MODEL, names::RESPONSE_MODEL, names::ROLE],
        "Tokens of a call";
    CALLS = Kind::Counter, "gabfest.calls", "{call}", [ROLE, MODEL, OUTCOME],
        "Calls to agents and models, by requested model; outcome is ok or error";
    COST = Kind::Counter, "gabfest.cost.usd", "{USD}", [ROLE, MODEL],
        "Cost of calls in US dollars, as far as prices are known";
    ESTIMATED = Kind::Counter, "gabfest.calls.estimated", "{call}", [ROLE, MODEL],
        "Calls whose tokens and cost are estimated, because the endpoint did not report its usage";
    THROTTLED = Kind::Counter, "gabfest.call.throttled_tries", "{try}", [ROLE, MODEL],
        "Tries of calls that got an HTTP 429";
    LIMIT_WAIT = Kind::Histogram(WAIT_SECONDS), "gabfest.limit.wait", "s", [ENDPOINT],
        "Rate-limit wait of calls, by endpoint";
    RETRIED = Kind::Histogram(WAIT_SECONDS), "gabfest.call.retried", "s", [ENDPOINT],
        "Time that repeated calls took before their last try, pauses included";
    TURNS = Kind::Counter, "gabfest.turns", "{turn}", [SUITE, SCENARIO, PERSONA],
        "Turns that ended";
    TURN_DURATION = Kind::Histogram(CALL_SECONDS), "gabfest.turn.duration", "s", [SUITE, SCENARIO, PERSONA],
        "Duration of the agent's whole reply, without rate-limit waits";
    TURN_FIRST_TOKEN = Kind::Histogram(CALL_SECONDS), "gabfest.turn.time_to_first_token", "s",
        [SUITE, SCENARIO, PERSONA],
        "Time to the first content of the agent's streamed replies";
    TURN_RESPONSE = Kind::Histogram(CALL_SECONDS), "gabfest.turn.response", "s", [SUITE],
        "Response time: from the moment a turn is due to the last byte of the reply";
    TURN_WAIT = Kind::Histogram(WAIT_SECONDS), "gabfest.turn.wait", "s", [SUITE],
        "Part of the response time that is a wait for rate limits";
    START_LATE = Kind::Histogram(LATE_SECONDS), "gabfest.start.late", "s", [SUITE],
        "How much later than its time an arrival of a load started; first attempts only";
    CONVERSATIONS = Kind::Counter, "gabfest.conversations", "{conversation}", [SUITE, SCENARIO, PERSONA, VERDICT],
        "Conversations in the trials that this worker played to their end, counted as in the report";
    TRIALS_PLAYED = Kind::Counter, "gabfest.trials.played", "{trial}", [SUITE, SCENARIO, PERSONA, VERDICT],
        "Trials that this worker played to their end";
    CHECKS = Kind::Counter, "gabfest.checks", "{finding}", [CHECK, FINDING],
        "Findings of checks with a name, in the trials that this worker played to their end";
    CONVERSATION_DURATION = Kind::Histogram(CONVERSATION_SECONDS), "gabfest.conversation.duration", "s",
        [SUITE, SCENARIO],
        "Duration of trials, from the first message to the verdict";
    CONVERSATION_COST = Kind::Counter, "gabfest.conversation.cost.usd", "{USD}", [SUITE, SCENARIO, VERDICT],
        "Cost in US dollars of trials that were played to their end";
    LIMIT_CONCURRENCY = Kind::Gauge, "gabfest.limit.concurrency", "{call}", [ENDPOINT],
        "Calls at the same time that `concurrency: auto` allows the whole fleet, by endpoint";
    BREAKER_OPEN = Kind::Gauge, "gabfest.breaker.open", "{endpoint}", [ENDPOINT],
        "1 while the circuit breaker of an endpoint is open or half open, else 0";
    SLOTS_HERE = Kind::Gauge, "gabfest.worker.slots", "{slot}", [STATE],
        "Slots of this worker; state is busy or free";
    UNACKNOWLEDGED = Kind::Gauge, "gabfest.worker.unacknowledged", "{trial}", [],
        "Ended trials that the coordinator has not acknowledged yet";
    OUTBOX = Kind::Gauge, "gabfest.worker.outbox", "By", [],
        "Size of results that the coordinator has not acknowledged yet; at 16 MiB no new turn starts";
    MESSAGES = Kind::Gauge, "gabfest.worker.messages", "{message}", [],
        "Messages that wait for the stream to the coordinator, at most 64";
}

metrics! { COORDINATOR:
    WORKERS = Kind::Gauge, "gabfest.workers", "{worker}", [],
        "Workers with an open stream";
    QUARANTINED = Kind::Gauge, "gabfest.workers.quarantined", "{worker}", [],
        "Connected workers that get nothing new, as they break far more trials than others";
    SLOTS = Kind::Gauge, "gabfest.slots", "{slot}", [STATE],
        "Slots of all connected workers; state is busy or free";
    COMMANDS = Kind::Gauge, "gabfest.coordinator.commands", "{command}", [],
        "Messages of workers and calls that wait for the coordinator, at most 256";
    BATCHES = Kind::Gauge, "gabfest.coordinator.batches", "By", [],
        "Size of batches that wait for the store; at 16 MiB no stream is read";
    ORDERS = Kind::Gauge, "gabfest.coordinator.orders", "{message}", [],
        "Messages that wait for the stream to a worker, at most 256: of the worker with the most";
    QUEUE_DEPTH = Kind::Gauge, "gabfest.queue.depth", "{trial}", [SUITE],
        "Trials that are neither leased nor done; 0 after the end of the run";
    TRIALS_LEASED = Kind::Gauge, "gabfest.trials.leased", "{trial}", [SUITE],
        "Trials that workers hold";
    TRIALS_PLANNED = Kind::Gauge, "gabfest.trials.planned", "{trial}", [SUITE],
        "Trials of the latest run";
    TRIALS_DONE = Kind::Gauge, "gabfest.trials.done", "{trial}", [SUITE],
        "Trials of the latest run that are committed";
    RUN_PAUSED = Kind::Gauge, "gabfest.run.paused", "{run}", [SUITE],
        "1 while the latest run is paused, else 0";
    RUN_BUDGET = Kind::Gauge, "gabfest.run.budget.usd", "{USD}", [SUITE],
        "The most that the latest run may cost, in US dollars, if it has a budget";
    RUN_SPENT = Kind::Gauge, "gabfest.run.spent.usd", "{USD}", [SUITE],
        "What the latest run with a budget has cost so far, in US dollars";
    RUN_RESERVED = Kind::Gauge, "gabfest.run.reserved.usd", "{USD}", [SUITE],
        "What workers hold of the budget of the latest run, in US dollars, for calls in flight and calls to come";
    LOAD_OFFERED = Kind::Gauge, "gabfest.load.offered", "{conversation}", [SUITE],
        "Conversations of the latest run with a load whose time has come; of slots, those that began";
    LOAD_COMPLETED = Kind::Gauge, "gabfest.load.completed", "{conversation}", [SUITE],
        "Those of them that ended, dropped ones aside";
    LOAD_DROPPED = Kind::Gauge, "gabfest.load.dropped", "{conversation}", [SUITE],
        "Those of them that found no free slot in time";
    LOAD_RUNNING = Kind::Gauge, "gabfest.load.running", "{conversation}", [SUITE],
        "Conversations of the load that run now, or wait for a free slot";
    LEASES_GRANTED = Kind::Counter, "gabfest.leases.granted", "{trial}", [],
        "Leased trials; a trial counts once for each lease";
    LEASES_LOST = Kind::Counter, "gabfest.leases.lost", "{trial}", [],
        "Trials that had begun, were lost with their worker, and are played again";
    COMMIT_DURATION = Kind::Histogram(COMMIT_SECONDS), "gabfest.store.commit.duration", "s", [],
        "Time that the store took to commit a batch";
    VERDICTS = Kind::Counter, "gabfest.verdicts", "{trial}", [SUITE, SCENARIO, VERDICT],
        "Committed trials";
    ERRORS = Kind::Counter, "gabfest.errors", "{trial}", [SUITE, BLAME],
        "Committed trials that are ERROR or INCONCLUSIVE, by blame";
    SUCCESS_RATE = Kind::Gauge, "gabfest.success_rate", "", [SUITE, SCENARIO],
        "Share of passed trials among those that passed, failed or ended with an error of the agent, 0 to 1; without scenario: of the whole suite";
    SUCCESS_RATE_LOW = Kind::Gauge, "gabfest.success_rate.low", "", [SUITE],
        "Lower end of the report's 95 % interval of the success rate";
    SUCCESS_RATE_HIGH = Kind::Gauge, "gabfest.success_rate.high", "", [SUITE],
        "Upper end of the report's 95 % interval of the success rate";
    JUDGED_PASS_RATE = Kind::Gauge, "gabfest.judged_pass_rate", "", [SUITE],
        "Share of passed trials among those that passed or failed, 0 to 1; errors of the agent do not count";
    CASES_FAILING = Kind::Gauge, "gabfest.cases.failing", "{case}", [SUITE, SCENARIO],
        "Cases with the verdict FAIL";
    CASES_FLAKY = Kind::Gauge, "gabfest.cases.flaky", "{case}", [SUITE, SCENARIO],
        "Cases that passed at least once, and failed or ended in an error of the agent at least once";
    RUN_DURATION = Kind::Gauge, "gabfest.run.duration", "s", [SUITE],
        "Time from the start of the run to its end";
    RUN_COST = Kind::Gauge, "gabfest.run.cost.usd", "{USD}", [SUITE],
        "Cost of the run in US dollars, including lost attempts";
    RUN_TRIALS = Kind::Gauge, "gabfest.run.trials", "{trial}", [SUITE, VERDICT],
        "Trials of the run by verdict; trials that did not end have none";
    RUN_FINISHED = Kind::Gauge, "gabfest.run.finished.timestamp", "s", [SUITE],
        "End of the run, in seconds since 1970";
    RUNS = Kind::Counter, "gabfest.runs", "{run}", [SUITE, STATUS],
        "Runs that ended: success (every gate of the coordinator held), failure, or aborted (interrupted or cancelled)";
}

metrics! { EVERY_PROCESS:
    DROPPED = Kind::Counter, "gabfest.telemetry.dropped", "{item}", [SIGNAL],
        "Spans and log records that were dropped because the queue was full or the collector failed; signal is spans or logs";
}

metrics! { LATEST:
    INPUT_TOKENS = Kind::Counter, "gen_ai.client.inference.usage.input_tokens", "{token}",
        [names::OPERATION, names::PROVIDER, names::REQUEST_MODEL, names::RESPONSE_MODEL, names::ROLE], "Input tokens";
    OUTPUT_TOKENS = Kind::Counter, "gen_ai.client.inference.usage.output_tokens", "{token}",
        [names::OPERATION, names::PROVIDER, names::REQUEST_MODEL, names::RESPONSE_MODEL, names::ROLE], "Output tokens";
    CALL_INPUT_TOKENS = Kind::Histogram(TOKENS), "gen_ai.client.inference.operation.input_tokens", "{token}",
        [names::OPERATION, names::PROVIDER, names::REQUEST_MODEL, names::RESPONSE_MODEL, names::ROLE], "Input tokens of a call";
    CALL_OUTPUT_TOKENS = Kind::Histogram(TOKENS), "gen_ai.client.inference.operation.output_tokens", "{token}",
        [names::OPERATION, names::PROVIDER, names::REQUEST_MODEL, names::RESPONSE_MODEL, names::ROLE], "Output tokens of a call";
}

/// All metrics.
pub(super) fn all() -> impl Iterator<Item = &'static Metric> {
    [WORKER, COORDINATOR, EVERY_PROCESS, LATEST].into_iter().flatten()
}

/// The tables of the documentation.
#[must_use]
pub fn tables() -> String {
    let mut text = String::new();
    for (title, metrics) in [
        ("Worker", WORKER),
        ("Coordinator", COORDINATOR),
        ("Both", EVERY_PROCESS),
        (
            "Instead of `gen_ai_client_token_usage`, with `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`",
            LATEST,
        ),
    ] {
        let _ = writeln!(text, "**{title}**\n\n| metric | kind | labels | meaning |\n|---|---|---|---|");
        for metric in metrics {
            let labels: Vec<String> =
                metric.labels.iter().map(|label| format!("`{}`", label.replace('.', "_"))).collect();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} |",
                metric.prometheus_name(),
                metric.kind.word(),
                labels.join(", "),
                metric.help
            );
        }
        text.push('\n');
    }
    text
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of the page are made here: `UPDATE_DOCS=1` writes them.
    #[test]
    fn the_page_lists_what_there_is() {
        const BEGIN: &str = "<!-- metrics: made by crates/telemetry/src/metrics/catalogue.rs -->\n";
        const END: &str = "<!-- /metrics -->";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md");
        let page = std::fs::read_to_string(path).unwrap();
        let begin = page.find(BEGIN).expect("the page has the mark") + BEGIN.len();
        let end = begin + page[begin..].find(END).expect("the page has the second mark");
        let made = format!("\n{}", tables());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, format!("{}{made}{}", &page[..begin], &page[end..])).unwrap();
            return;
        }
        assert_eq!(&page[begin..end], made, "docs/telemetry.md is stale: run this test with UPDATE_DOCS=1");
    }

    #[test]
    fn names_are_unique_and_bounds_ascend() {
        let mut seen = std::collections::BTreeSet::new();
        for metric in [WORKER, COORDINATOR, EVERY_PROCESS, LATEST].concat() {
            assert!(seen.insert(metric.prometheus_name()), "{}", metric.name);
            if let Kind::Histogram(bounds) = metric.kind {
                assert!(bounds.is_sorted_by(|a, b| a < b), "{}", metric.name);
            }
        }
    }
}
