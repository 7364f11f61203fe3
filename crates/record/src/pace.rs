//! Rate-limit waits and durations of calls, with retries and without, by role and model.
//!
//! A trial has the times of its calls, so that percentiles include only winning attempts, as for latencies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Call, Role, by_model,
    call::SpendLine,
    latency::{Latency, Quantiles},
};

/// Up to this many times are kept as they are. More go into a histogram, which takes the memory of 20,000.
const FEW: usize = 256;

/// The times of a trial's calls, by role and model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<PaceEntry>", into = "Vec<PaceEntry>")]
pub struct Pace {
    pub lines: BTreeMap<(Role, String), PaceLine>,
}

/// A stored line with its key. JSON allows only strings as keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaceEntry {
    pub role: Role,
    pub model: String,
    pub line: PaceLine,
}

/// In microseconds, in the order of the calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PaceLine {
    /// Rate-limit waits, one for each call.
    pub waits: Vec<u64>,
    /// From the request to the last byte, of the try that was answered; one a call that was answered.
    pub services: Vec<u64>,
    /// The same, plus earlier tries and the pauses after them.
    pub wholes: Vec<u64>,
}

impl From<Vec<PaceEntry>> for Pace {
    fn from(entries: Vec<PaceEntry>) -> Self {
        let mut pace = Self::default();
        for entry in entries {
            pace.add_line(entry.role, &entry.model, entry.line);
        }
        pace
    }
}

impl From<Pace> for Vec<PaceEntry> {
    fn from(pace: Pace) -> Self {
        pace.lines.into_iter().map(|((role, model), line)| PaceEntry { role, model, line }).collect()
    }
}

impl Pace {
    pub fn add_call(&mut self, call: &Call) {
        let line = by_model::line(&mut self.lines, call.role, &call.model, PaceLine::add);
        line.waits.push(call.wait_micros);
        if call.error.is_none() {
            line.services.push(call.total_micros);
            line.wholes.push(call.total_micros.saturating_add(call.retried_micros));
        }
    }

    pub fn add_line(&mut self, role: Role, model: &str, line: PaceLine) {
        by_model::line(&mut self.lines, role, model, PaceLine::add).add(line);
    }
}

impl PaceLine {
    fn add(&mut self, other: Self) {
        self.waits.extend(other.waits);
        self.services.extend(other.services);
        self.wholes.extend(other.wholes);
    }
}

/// The times of many trials. Percentiles are read from these.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Paces {
    lines: BTreeMap<(Role, String), Times>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Times {
    wait: Spread,
    service: Spread,
    whole: Spread,
}

/// A few times, or the histogram of many. A server that names another model in each reply makes a line of each, and must
/// not make a histogram of each.
#[derive(Debug, Clone, Default)]
struct Spread {
    few: Vec<u64>,
    many: Option<Box<Latency>>,
}

impl Paces {
    pub fn add(&mut self, pace: &Pace) {
        for ((role, model), line) in &pace.lines {
            let times = by_model::line(&mut self.lines, *role, model, Times::add);
            times.wait.record(&line.waits);
            times.service.record(&line.services);
            times.whole.record(&line.wholes);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for ((role, model), of) in &other.lines {
            by_model::line(&mut self.lines, *role, model, Times::add).merge(of);
        }
    }

    /// With the sums of `spend`, the line of the same role and model.
    #[must_use]
    pub fn summary(&self, role: Role, model: &str, spend: &SpendLine) -> Throttling {
        let times = self.lines.get(&(role, model.to_owned())).cloned().unwrap_or_default();
        Throttling {
            tries: spend.tries,
            throttled_tries: spend.throttled_tries,
            wait_sum_ms: spend.wait_micros as f64 / 1_000.0,
            wait: times.wait.quantiles(),
            service: times.service.quantiles(),
            with_retries: times.whole.quantiles(),
        }
    }
}

impl Times {
    fn add(&mut self, other: Self) {
        self.merge(&other);
    }

    fn merge(&mut self, other: &Self) {
        self.wait.merge(&other.wait);
        self.service.merge(&other.service);
        self.whole.merge(&other.whole);
    }
}

/// How an endpoint and its limits delayed calls.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Throttling {
    /// Requests that were made, winning attempts and lost ones: each call has one, and one more for each time that
    /// it was repeated. One that was sent anew, because the server had closed a kept connection, counts once.
    pub tries: u64,
    /// Tries with a 429 as the answer.
    pub throttled_tries: u64,
    /// Rate-limit waits (for the limits in the settings, and in pauses that the endpoint asked for), all calls together,
    /// winning attempts and lost ones.
    pub wait_sum_ms: f64,
    /// The rate-limit wait of each call, of winning attempts.
    pub wait: Quantiles,
    /// Of calls that were answered, in winning attempts: from the request to the last byte, of the last try.
    pub service: Quantiles,
    /// Of the same calls, from the first try to the last byte, without rate-limit waits.
    pub with_retries: Quantiles,
}

impl Spread {
    fn record(&mut self, times: &[u64]) {
        match &mut self.many {
            Some(many) => times.iter().for_each(|micros| many.record(*micros)),
            None => {
                self.few.extend(times);
                if self.few.len() > FEW {
                    self.many = Some(Box::new(self.histogram()));
                    self.few = Vec::new();
                }
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        if let Some(theirs) = &other.many {
            let mut many = self.histogram();
            many.merge(theirs);
            *self = Self { few: Vec::new(), many: Some(Box::new(many)) };
        }
        self.record(&other.few);
    }

    fn histogram(&self) -> Latency {
        let mut all = self.many.as_deref().cloned().unwrap_or_default();
        self.few.iter().for_each(|micros| all.record(*micros));
        all
    }

    fn quantiles(&self) -> Quantiles {
        if self.few.is_empty() && self.many.is_none() { Quantiles::default() } else { self.histogram().quantiles() }
    }
}

/// Two values are equal if they hold the same times, in any order of merging.
impl PartialEq for Spread {
    fn eq(&self, other: &Self) -> bool {
        self.histogram() == other.histogram()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokens;

    fn call(model: &str, wait: u64, retried: u64, total: u64, error: Option<&str>) -> Call {
        Call {
            role: Role::Agent,
            endpoint: "e".to_owned(),
            model: model.to_owned(),
            started_micros: 0,
            wait_micros: wait,
            connect_micros: None,
            ttft_micros: None,
            inter_token_micros: None,
            total_micros: total,
            retried_micros: retried,
            tokens: Tokens::default(),
            estimated: false,
            cost: None,
            plain_priced: false,
            reported_cost: None,
            finish: None,
            tries: 1,
            throttled_tries: 0,
            lost_tries: 0,
            error: error.map(str::to_owned),
            error_kind: None,
            of_trial: false,
        }
    }

    #[test]
    fn waits_are_of_all_calls_and_times_of_those_that_were_answered() {
        let mut pace = Pace::default();
        pace.add_call(&call("m", 3_000, 0, 50_000, None));
        pace.add_call(&call("m", 9_000_000, 4_000_000, 50_000, None));
        pace.add_call(&call("m", 1_000, 8_000_000, 7, Some("throttled")));
        let mut paces = Paces::default();
        paces.add(&pace);
        let spend =
            SpendLine { calls: 3, tries: 77, throttled_tries: 74, wait_micros: 9_004_000, ..SpendLine::default() };
        let found = paces.summary(Role::Agent, "m", &spend);
        assert_eq!((found.tries, found.throttled_tries, found.wait_sum_ms), (77, 74, 9_004.0));
        assert_eq!((found.wait.count, found.service.count, found.with_retries.count), (3, 2, 2));
        assert!((found.service.p95_ms - 50.0).abs() < 0.1, "{found:?}");
        assert!((found.with_retries.p95_ms - 4_050.0).abs() < 4.1, "{found:?}");
        assert_eq!(paces.summary(Role::Judge, "m", &SpendLine::default()), Throttling::default());
    }

    #[test]
    fn any_parts_merge_to_the_same() {
        let parts: Vec<Pace> = (0..40_u64)
            .map(|part| {
                let mut pace = Pace::default();
                for n in 0..part * 3 {
                    let model = if n % 5 == 0 { "rare" } else { "m" };
                    pace.add_call(&call(model, n * 1_000, n * 7_000, 1 + n * n, None));
                }
                pace
            })
            .collect();
        let mut at_once = Paces::default();
        parts.iter().for_each(|part| at_once.add(part));
        for cut in [0, 1, 7, 39] {
            let (mut first, mut second) = (Paces::default(), Paces::default());
            parts[..cut].iter().for_each(|part| first.add(part));
            parts[cut..].iter().rev().for_each(|part| second.add(part));
            let mut other_way = second.clone();
            first.merge(&second);
            other_way.merge(&{
                let mut first = Paces::default();
                parts[..cut].iter().for_each(|part| first.add(part));
                first
            });
            assert_eq!((&first, &other_way), (&at_once, &at_once), "{cut}");
            let line = SpendLine::default();
            assert_eq!(first.summary(Role::Agent, "m", &line), at_once.summary(Role::Agent, "m", &line));
        }
    }

    #[test]
    fn it_is_stored_and_read() {
        let mut pace = Pace::default();
        pace.add_call(&call("m", 1, 2, 3, None));
        let text = serde_json::to_string(&pace).unwrap();
        assert_eq!(text, r#"[{"role":"agent","model":"m","line":{"waits":[1],"services":[3],"wholes":[5]}}]"#);
        assert_eq!(serde_json::from_str::<Pace>(&text).unwrap(), pace);
    }
}
