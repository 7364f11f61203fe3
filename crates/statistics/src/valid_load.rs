//! Whether the agent got the load that was asked for. Where it did not, figures do not show what the agent can do.

use record::histogram::Histogram;

/// Starts later than this are not the load that was asked for.
const LATEST_MICROS: u64 = 100_000;
/// A larger share of starts that were dropped is not the load that was asked for.
const MOST_DROPPED: f64 = 0.01;
/// From so many starts on p99 decides, which fewer do not tell; then the median does, since a machine has its moments.
const ENOUGH_FOR_P99: u64 = 662;

/// Too many starts found no free slot. `of`: whose starts they are, such as `` of `visitors` ``.
#[must_use]
pub fn dropped(dropped: u64, starts: u64, of: &str) -> Option<String> {
    let share = dropped as f64 / starts.max(1) as f64;
    (share > MOST_DROPPED).then(|| {
        format!(
            "{dropped} of {starts} starts{of} were dropped ({:.1} %), more than {:.0} %: no slot was free in time, or the coordinator was away; \
             use more workers or a larger --slots: starts a second × seconds of a conversation",
            share * 1e2,
            MOST_DROPPED * 1e2
        )
    })
}

/// Starts were too late.
#[must_use]
pub fn late_starts(late: &Histogram) -> Option<String> {
    let (name, quantile) = if late.count() < ENOUGH_FOR_P99 { ("p50", 0.5) } else { ("p99", 0.99) };
    let micros = late.quantile(quantile);
    (micros > LATEST_MICROS).then(|| {
        let (late, limit) = (micros / 1_000, LATEST_MICROS / 1_000);
        format!(
            "starts were late by {late} ms ({name}), more than {limit} ms: gabfest was the bottleneck; give it more slots or more workers"
        )
    })
}
