//! How often checks of the user's own give another answer to the same transcript.

use record::{summary::CustomCheckSummary, tally::CustomChecks};

use crate::wilson::interval;

#[must_use]
pub fn of(checks: &CustomChecks) -> Vec<CustomCheckSummary> {
    let summary = |(check, counts): (&str, &record::tally::CustomCounts)| CustomCheckSummary {
        check: check.to_owned(),
        answers: counts.answers,
        programs: counts.programs.iter().cloned().collect(),
        asked_twice: counts.asked_twice,
        differed: counts.differed,
        unstable: interval(counts.differed, counts.asked_twice),
    };
    checks.iter().map(summary).collect()
}
