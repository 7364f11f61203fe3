//! The server's own counts: tests compare a client's figures with them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::http::StatusCode;
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{Context, Usage, mock::Role};

use super::calls::{Began, Calls};

/// Counts since the start.
#[derive(Debug, Default)]
pub(super) struct Stats {
    counts: Mutex<Counts>,
    calls: Option<Calls>,
}

#[derive(Debug, Default)]
struct Counts {
    in_flight: u64,
    most_in_flight: u64,
    /// Bodies that were not a chat completion.
    refused: u64,
    roles: BTreeMap<Role, OfRole>,
}

#[derive(Debug)]
struct OfRole {
    statuses: BTreeMap<u16, u64>,
    input_tokens: u64,
    output_tokens: u64,
    malformed: u64,
    hung: u64,
    streams: u64,
    /// Calls whose client went away before the last byte.
    aborted: u64,
    /// In microseconds, from the body being read to the last byte being handed on.
    latency: Histogram<u64>,
    /// In microseconds, to the first byte of content, of successful calls.
    ttft: Histogram<u64>,
}

/// One call that is being answered. If it is dropped before its answer, it counts as aborted.
#[derive(Debug)]
pub(super) struct Call {
    stats: Arc<Stats>,
    role: Role,
    start: Instant,
    /// To the first piece of content.
    first_micros: Option<u64>,
    /// For the file of calls, if there is one.
    began: Option<Began>,
    ended: bool,
}

impl Stats {
    /// `calls`: the file that gets a line for each call.
    pub(super) fn new(calls: Option<Calls>) -> Self {
        Self { calls, ..Self::default() }
    }

    pub(super) fn begin(self: &Arc<Self>, role: Role, start: Instant, context: &Context) -> Call {
        let mut counts = self.lock();
        counts.in_flight += 1;
        counts.most_in_flight = counts.most_in_flight.max(counts.in_flight);
        let began = self.calls.as_ref().map(|_| Began { context: context.clone(), at: start, said: None });
        Call { stats: Arc::clone(self), role, start, first_micros: None, began, ended: false }
    }

    pub(super) fn refused(&self) {
        self.lock().refused += 1;
    }

    /// The page `/stats`.
    pub(super) fn page(&self) -> Value {
        let counts = self.lock();
        let by_role = |of: &dyn Fn(&OfRole) -> Value| -> Map<String, Value> {
            counts.roles.iter().map(|(role, numbers)| (role.name().to_owned(), of(numbers))).collect()
        };
        let sum = |of: &dyn Fn(&OfRole) -> u64| -> u64 { counts.roles.values().map(of).sum() };
        let with_status = |wanted: fn(u16) -> bool| {
            sum(&|role| role.statuses.iter().filter(|(status, _)| wanted(**status)).map(|(_, count)| count).sum())
        };
        let statuses = |role: &OfRole| {
            let named = role.statuses.iter().map(|(status, count)| (status.to_string(), Value::from(*count)));
            Value::Object(named.collect())
        };
        json!({
            "requests": by_role(&statuses),
            "bad_requests": counts.refused,
            "in_flight": { "now": counts.in_flight, "max": counts.most_in_flight },
            "throttled": with_status(|status| status == 429),
            "errors": with_status(|status| status >= 500),
            "malformed": sum(&|role| role.malformed),
            "hung": sum(&|role| role.hung),
            "streams": sum(&|role| role.streams),
            "aborted": sum(&|role| role.aborted),
            "tokens": by_role(&|role| json!({ "input": role.input_tokens, "output": role.output_tokens })),
            "latency_ms": by_role(&|role| quantiles(&role.latency)),
            "ttft_ms": by_role(&|role| quantiles(&role.ttft)),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // A panic elsewhere leaves the counts consistent.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    pub(super) fn streams(&mut self) {
        self.count(|role| role.streams += 1);
    }

    pub(super) fn hangs(&mut self) {
        self.count(|role| role.hung += 1);
    }

    /// The first call records the time to the first token.
    pub(super) fn said_something(&mut self) {
        self.first_micros.get_or_insert_with(|| micros_since(self.start));
    }

    /// What the answer says, for the file of calls.
    pub(super) fn says(&mut self, text: &str) {
        if let Some(began) = &mut self.began {
            began.said = Some(text.to_owned());
        }
    }

    pub(super) fn answered(mut self, status: StatusCode, usage: Usage) {
        self.note(Some(status), Some(usage));
        let latency = micros_since(self.start);
        let ttft = self.first_micros.unwrap_or(latency);
        self.end(|role| {
            *role.statuses.entry(status.as_u16()).or_default() += 1;
            role.input_tokens += usage.input;
            role.output_tokens += usage.output;
            role.latency.saturating_record(latency);
            role.ttft.saturating_record(ttft);
        });
    }

    pub(super) fn failed(mut self, status: StatusCode) {
        self.note(Some(status), None);
        self.end(|role| *role.statuses.entry(status.as_u16()).or_default() += 1);
    }

    /// Status 200, but not a chat completion.
    pub(super) fn malformed(mut self) {
        self.note(Some(StatusCode::OK), None);
        self.end(|role| {
            *role.statuses.entry(StatusCode::OK.as_u16()).or_default() += 1;
            role.malformed += 1;
        });
    }

    fn note(&self, status: Option<StatusCode>, usage: Option<Usage>) {
        if let Some((calls, began)) = self.stats.calls.as_ref().zip(self.began.as_ref()) {
            calls.add(self.role.name(), began, status.map(|status| status.as_u16()), usage);
        }
    }

    fn end(&mut self, change: impl FnOnce(&mut OfRole)) {
        self.ended = true;
        self.count(change);
        self.stats.lock().in_flight -= 1;
    }

    fn count(&self, change: impl FnOnce(&mut OfRole)) {
        change(self.stats.lock().roles.entry(self.role).or_default());
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            self.note(None, None);
            self.end(|role| role.aborted += 1);
        }
    }
}

impl Default for OfRole {
    fn default() -> Self {
        // From a microsecond to a day, to three digits.
        let histogram =
            || Histogram::new_with_bounds(1, 86_400_000_000, 3).expect("the bounds are constants that hold");
        Self {
            statuses: BTreeMap::new(),
            input_tokens: 0,
            output_tokens: 0,
            malformed: 0,
            hung: 0,
            streams: 0,
            aborted: 0,
            latency: histogram(),
            ttft: histogram(),
        }
    }
}

fn quantiles(histogram: &Histogram<u64>) -> Value {
    let ms = |micros: u64| micros as f64 / 1_000.0;
    let at = |quantile: f64| ms(histogram.value_at_quantile(quantile));
    json!({
        "count": histogram.len(),
        "mean": histogram.mean() / 1_000.0,
        "p50": at(0.50),
        "p90": at(0.90),
        "p95": at(0.95),
        "p99": at(0.99),
        "p999": at(0.999),
        "max": ms(histogram.max()),
    })
}

fn micros_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}
