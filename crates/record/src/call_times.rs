//! Rate-limit waits and durations of calls, with retries and without, and the limits that providers name, by role and model.
//!
//! A trial has the times of its calls, so that percentiles include only winning attempts, as for latencies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Call, Role, by_model,
    call::SpendLine,
    histogram::Histogram,
    latency::Quantiles,
    named_limits::{LearnedLimit, LimitOf, LimitRange},
};

/// The times of a trial's calls, by role and model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<CallTimesEntry>", into = "Vec<CallTimesEntry>")]
pub struct CallTimes {
    pub lines: BTreeMap<(Role, String), CallTimesLine>,
}

/// A stored line with its key. JSON allows only strings as keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTimesEntry {
    pub role: Role,
    pub model: String,
    pub line: CallTimesLine,
}

/// In microseconds, in the order of the calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallTimesLine {
    /// Rate-limit waits, one for each call.
    pub waits: Vec<u64>,
    /// From the request to the last byte, of the try that was answered; one a call that was answered.
    pub services: Vec<u64>,
    /// The same, plus earlier tries and the pauses after them.
    pub wholes: Vec<u64>,
    /// The provider's limits of a minute that the endpoint knew after these calls.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<LimitOf, LimitRange>,
    /// To the first byte of content, one a streamed reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ttfts: Vec<u64>,
    /// The mean time between two pieces, one a streamed reply of several pieces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inter_tokens: Vec<u64>,
    /// [`Call::per_token_micros`], one a streamed reply of several tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_tokens: Vec<u64>,
}

impl From<Vec<CallTimesEntry>> for CallTimes {
    fn from(entries: Vec<CallTimesEntry>) -> Self {
        let mut call_times = Self::default();
        for entry in entries {
            call_times.add_line(entry.role, &entry.model, entry.line);
        }
        call_times
    }
}

impl From<CallTimes> for Vec<CallTimesEntry> {
    fn from(call_times: CallTimes) -> Self {
        call_times.lines.into_iter().map(|((role, model), line)| CallTimesEntry { role, model, line }).collect()
    }
}

impl CallTimes {
    pub fn add_call(&mut self, call: &Call) {
        let line = by_model::line(&mut self.lines, call.role, &call.model, CallTimesLine::add);
        line.waits.push(call.wait_micros);
        if call.error.is_none() {
            line.services.push(call.total_micros);
            line.wholes.push(call.total_micros.saturating_add(call.retried_micros));
            line.ttfts.extend(call.ttft_micros);
            line.inter_tokens.extend(call.inter_token_micros);
            line.per_tokens.extend(call.per_token_micros());
        }
        for (of, limit) in &call.limits {
            line.take(*of, LimitRange::one(*limit));
        }
    }

    pub fn add_line(&mut self, role: Role, model: &str, line: CallTimesLine) {
        by_model::line(&mut self.lines, role, model, CallTimesLine::add).add(line);
    }
}

impl CallTimesLine {
    fn add(&mut self, other: Self) {
        self.waits.extend(other.waits);
        self.services.extend(other.services);
        self.wholes.extend(other.wholes);
        self.ttfts.extend(other.ttfts);
        self.inter_tokens.extend(other.inter_tokens);
        self.per_tokens.extend(other.per_tokens);
        other.limits.into_iter().for_each(|(of, range)| self.take(of, range));
    }

    fn take(&mut self, of: LimitOf, range: LimitRange) {
        self.limits.entry(of).or_insert(range).merge(range);
    }
}

/// The times of many trials. Percentiles are read from these.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MergedCallTimes {
    lines: BTreeMap<(Role, String), Times>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Times {
    wait: Histogram,
    service: Histogram,
    whole: Histogram,
    ttft: Histogram,
    inter_token: Histogram,
    per_token: Histogram,
    limits: BTreeMap<LimitOf, Held>,
}

/// A provider's limit over many trials.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Held {
    range: LimitRange,
    first_trial: u64,
}

impl MergedCallTimes {
    /// Adds the call_times of the trial with this number.
    pub fn add(&mut self, trial: u64, call_times: &CallTimes) {
        for ((role, model), line) in &call_times.lines {
            let times = by_model::line(&mut self.lines, *role, model, Times::add);
            for (histogram, micros) in [
                (&mut times.wait, &line.waits),
                (&mut times.service, &line.services),
                (&mut times.whole, &line.wholes),
                (&mut times.ttft, &line.ttfts),
                (&mut times.inter_token, &line.inter_tokens),
                (&mut times.per_token, &line.per_tokens),
            ] {
                micros.iter().for_each(|micros| histogram.record(*micros));
            }
            for (of, range) in &line.limits {
                times.hold(*of, Held { range: *range, first_trial: trial });
            }
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
        let times = self.lines.get(&(role, model.to_owned()));
        let quantiles =
            |of: fn(&Times) -> &Histogram| times.map_or_else(Quantiles::default, |it| Quantiles::of(of(it)));
        Throttling {
            tries: spend.tries,
            throttled_tries: spend.throttled_tries,
            wait_sum_ms: spend.wait_micros as f64 / 1_000.0,
            wait: quantiles(|times| &times.wait),
            service: quantiles(|times| &times.service),
            with_retries: quantiles(|times| &times.whole),
            ttft: quantiles(|times| &times.ttft),
            inter_token: quantiles(|times| &times.inter_token),
            per_output_token: quantiles(|times| &times.per_token),
            limits: times
                .map(|times| times.limits.iter().map(|(of, held)| held.learned(*of)).collect())
                .unwrap_or_default(),
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
        self.ttft.merge(&other.ttft);
        self.inter_token.merge(&other.inter_token);
        self.per_token.merge(&other.per_token);
        other.limits.iter().for_each(|(of, held)| self.hold(*of, *held));
    }

    fn hold(&mut self, of: LimitOf, other: Held) {
        let held = self.limits.entry(of).or_insert(other);
        held.range.merge(other.range);
        held.first_trial = held.first_trial.min(other.first_trial);
    }
}

impl Held {
    fn learned(self, of: LimitOf) -> LearnedLimit {
        let Self { range: LimitRange { lowest, highest }, first_trial } = self;
        LearnedLimit { of, lowest, highest, first_trial }
    }
}

/// How an endpoint and its limits delayed calls.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Limits of a minute that the provider named, in winning attempts. Absent if it named none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LearnedLimit>,
    /// Of streamed replies, in winning attempts: from the request to the first byte of content, of the last try.
    #[serde(default)]
    pub ttft: Quantiles,
    /// The mean time between two pieces of each streamed reply.
    #[serde(default)]
    pub inter_token: Quantiles,
    /// Of each streamed reply: (last byte − first token) / (output tokens − 1). `estimated_calls` says of how many calls the
    /// tokens are estimated.
    #[serde(default)]
    pub per_output_token: Quantiles,
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
            texts: None,
            estimated: false,
            cost: None,
            plain_priced: false,
            limits: BTreeMap::new(),
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
        let mut call_times = CallTimes::default();
        call_times.add_call(&call("m", 3_000, 0, 50_000, None));
        call_times.add_call(&call("m", 9_000_000, 4_000_000, 50_000, None));
        call_times.add_call(&call("m", 1_000, 8_000_000, 7, Some("throttled")));
        let mut merged = MergedCallTimes::default();
        merged.add(1, &call_times);
        let spend =
            SpendLine { calls: 3, tries: 77, throttled_tries: 74, wait_micros: 9_004_000, ..SpendLine::default() };
        let found = merged.summary(Role::Agent, "m", &spend);
        assert_eq!((found.tries, found.throttled_tries, found.wait_sum_ms), (77, 74, 9_004.0));
        assert_eq!((found.wait.count, found.service.count, found.with_retries.count), (3, 2, 2));
        assert_eq!((found.service.max_ms, found.with_retries.max_ms), (50.0, 4_050.0));
        assert_eq!(found.ttft.count, 0, "nothing was streamed");
        assert_eq!(merged.summary(Role::Judge, "m", &SpendLine::default()), Throttling::default());
    }

    #[test]
    fn any_parts_merge_to_the_same() {
        let parts: Vec<CallTimes> = (0..40_u64)
            .map(|part| {
                let mut call_times = CallTimes::default();
                for n in 0..part * 3 {
                    let model = if n % 5 == 0 { "rare" } else { "m" };
                    call_times.add_call(&call(model, n * 1_000, n * 7_000, 1 + n * n, None));
                }
                call_times
            })
            .collect();
        let mut at_once = MergedCallTimes::default();
        parts.iter().for_each(|part| at_once.add(1, part));
        for cut in [0, 1, 7, 39] {
            let (mut first, mut second) = (MergedCallTimes::default(), MergedCallTimes::default());
            parts[..cut].iter().for_each(|part| first.add(1, part));
            parts[cut..].iter().rev().for_each(|part| second.add(1, part));
            let mut other_way = second.clone();
            first.merge(&second);
            other_way.merge(&{
                let mut first = MergedCallTimes::default();
                parts[..cut].iter().for_each(|part| first.add(1, part));
                first
            });
            assert_eq!((&first, &other_way), (&at_once, &at_once), "{cut}");
            let line = SpendLine::default();
            assert_eq!(first.summary(Role::Agent, "m", &line), at_once.summary(Role::Agent, "m", &line));
        }
    }

    #[test]
    fn limits_have_their_range_and_the_first_trial_that_knew_them() {
        let paced = |limits: &[(LimitOf, u64)]| {
            let mut call_times = CallTimes::default();
            for (of, limit) in limits {
                let limits = BTreeMap::from([(*of, *limit)]);
                call_times.add_call(&Call { limits, ..call("m", 0, 0, 1, None) });
            }
            call_times
        };
        let parts = [
            (7, paced(&[(LimitOf::Requests, 500), (LimitOf::Tokens, 9_000)])),
            (4, paced(&[(LimitOf::Requests, 300), (LimitOf::Requests, 400)])),
            (2, paced(&[])),
        ];
        let learned = |of, lowest, highest, first_trial| LearnedLimit { of, lowest, highest, first_trial };
        let expected = [learned(LimitOf::Requests, 300, 500, 4), learned(LimitOf::Tokens, 9_000, 9_000, 7)];
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let mut merged = MergedCallTimes::default();
            for part in order {
                let (trial, call_times) = &parts[part];
                let mut one = MergedCallTimes::default();
                one.add(*trial, call_times);
                merged.merge(&one);
            }
            assert_eq!(merged.summary(Role::Agent, "m", &SpendLine::default()).limits, expected, "{order:?}");
        }
    }

    #[test]
    fn it_is_stored_and_read() {
        let mut call_times = CallTimes::default();
        call_times.add_call(&call("m", 1, 2, 3, None));
        let streamed = Call { ttft_micros: Some(1), inter_token_micros: Some(7), ..call("n", 0, 0, 5, None) };
        let tokens = Tokens { output: 3, ..Tokens::default() };
        call_times.add_call(&Call { tokens, ..streamed });
        let text = serde_json::to_string(&call_times).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"[{"role":"agent","model":"m","line":{"waits":[1],"services":[3],"wholes":[5]}},"#,
                r#"{"role":"agent","model":"n","line":{"waits":[0],"services":[5],"wholes":[5],"#,
                r#""ttfts":[1],"inter_tokens":[7],"per_tokens":[2]}}]"#,
            )
        );
        assert_eq!(serde_json::from_str::<CallTimes>(&text).unwrap(), call_times);
        call_times.add_call(&Call { limits: BTreeMap::from([(LimitOf::OutputTokens, 9)]), ..call("m", 1, 2, 3, None) });
        let text = serde_json::to_string(&call_times).unwrap();
        assert!(text.contains(r#""limits":{"output_tokens":{"lowest":9,"highest":9}}"#), "{text}");
        assert_eq!(serde_json::from_str::<CallTimes>(&text).unwrap(), call_times);
    }
}
