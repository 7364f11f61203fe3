//! I5: limits.

use std::time::Duration;

use crate::Ledger;

/// Of a limit, in any time.
const OVER: f64 = 1.02;

/// What a fleet may call.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    pub requests_per_minute: u32,
    /// In a short time, each may make a call that it saved up.
    pub workers: u32,
    /// So late a call may arrive on a busy machine, and then come together with later ones.
    pub late: Duration,
}

/// No second, no ten seconds and no minute has more calls than the limit allows.
#[must_use]
pub fn limits(ledger: &Ledger, Limit { requests_per_minute, workers, late }: Limit) -> Vec<String> {
    let mut times: Vec<Duration> = ledger.0.iter().map(|call| call.at).collect();
    times.sort();
    let mut broken = Vec::new();
    for (seconds, more) in [(1, f64::from(workers)), (10, f64::from(workers)), (60, 1.0)] {
        let length = Duration::from_secs(seconds);
        let most = most_within(&times, length);
        let allowed = f64::from(requests_per_minute) * (length + late).as_secs_f64() / 60.0 * OVER + more;
        if most as f64 > allowed {
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
