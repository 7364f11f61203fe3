//! I6: money.

use crate::{Ledger, Run};

/// Rounding of dollars in JSON.
const ROUNDED: f64 = 1e-9;

/// The parts of the run's budget add up to it, and what the agent charged is within what the report knows of.
#[must_use]
pub fn money(run: &Run, ledger: Option<&Ledger>) -> Vec<String> {
    let budget = &run.report["summary"]["budget"];
    let usd = |name: &str| budget[name].as_f64().unwrap_or(f64::NAN);
    let parts = ["spent_usd", "reserved_usd", "unsettled_usd", "left_usd"].map(usd);
    let (most, sum) = (usd("max_cost_usd"), parts.iter().sum::<f64>());
    let mut broken = Vec::new();
    // A figure that is missing is NaN, which fits nothing.
    let fits = (sum - most).abs() < ROUNDED && parts.iter().all(|part| *part >= 0.0);
    if !fits {
        broken.push(format!("the budget of ${most} does not fit its parts: {budget}"));
    }
    let Some(ledger) = ledger else { return broken };
    let charged = ledger.cost_nanos() as f64 / 1e9;
    let known = usd("spent_usd") + usd("unsettled_usd");
    if charged <= 0.0 && ledger.of_agent().any(|call| call.said.is_some()) {
        broken.push("the agent answered, and charged nothing".to_owned());
    }
    if charged > most + ROUNDED {
        broken.push(format!("the agent charged ${charged:.6}, and the budget is ${most:.6}"));
    }
    if known.is_nan() || charged > known + ROUNDED {
        broken.push(format!("the agent charged ${charged:.6}, and the report knows of ${known:.6}"));
    }
    broken
}
