//! I5: limits.

use std::time::Duration;

use crate::Ledger;

/// Of a limit, in any time.
const OVER: f64 = 1.02;

/// What a fleet may call.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    pub requests_per_minute: u32,
    /// In a short time, each may make a call that it saved up. `None`: only minutes are looked at, because calls come late on a busy
    /// machine and then come together.
    pub workers: Option<u32>,
}

/// No second, no ten seconds and no minute has more calls, of all roles, than the limit allows.
#[must_use]
pub fn limits(ledger: &Ledger, Limit { requests_per_minute, workers }: Limit) -> Vec<String> {
    let mut times: Vec<Duration> = ledger.0.iter().map(|call| call.at).collect();
    times.sort();
    let mut broken = Vec::new();
    let short = workers.into_iter().flat_map(|workers| [(1, f64::from(workers)), (10, f64::from(workers))]);
    for (seconds, more) in short.chain([(60, 1.0)]) {
        let most = most_within(&times, Duration::from_secs(seconds));
        if most as f64 > f64::from(requests_per_minute) * seconds as f64 / 60.0 * OVER + more {
            broken.push(format!("{most} calls in {seconds} s, and the limit is {requests_per_minute} a minute"));
        }
    }
    broken
}

/// The calls of the fullest time of this length. `times` is sorted.
fn most_within(times: &[Duration], length: Duration) -> usize {
    let mut end = 0;
    let mut most = 0;
    for (first, at) in times.iter().enumerate() {
        while end < times.len() && times[end] < *at + length {
            end += 1;
        }
        most = most.max(end - first);
    }
    most
}
