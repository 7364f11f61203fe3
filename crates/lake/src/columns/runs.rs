//! The run: one row.

use crate::{
    Facts,
    value::{Unsigned, Value, name},
};

super::table::columns! { row(it: Facts);
    "run" Text "The run's id." it.id.as_str();
    "name" Text "Its name." it.name.as_str();
    "state" Text "`finished`, `interrupted`, `cancelled` or `running`." name(&it.state);
    "verdict" Text "What the gates say: PASS, FAIL or INCONCLUSIVE." it.verdict.as_str();
    "started_at" Time "When it began." it.started_at_ms.saturating_mul(1_000);
    "ended_at" Time "When it ended; null if it was interrupted." it.ended_at_ms.map(|at| at.saturating_mul(1_000));
    "planned" Int "Planned trials." it.planned;
    "seed" Unsigned "The run's seed." Unsigned(it.seed);
    "plan_digest" Text "Runs with the same digest played the same plan." it.plan_digest.as_str();
    "gabfest_version" Text "The version that began it." it.gabfest_version.as_str();
    "unsettled_nanos" Int "The most that calls in flight of lost workers may have cost, in billionths of a dollar." it.unsettled_nanos;
}

pub(crate) fn run(facts: &Facts) -> Vec<Value> {
    row(facts)
}
