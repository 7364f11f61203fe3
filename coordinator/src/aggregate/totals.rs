//! The figures of a whole run: trials, rates, latencies, tokens and cost.

use std::collections::BTreeMap;

use record::{
    FailureKind, Role, Tally, Usd,
    call::{Spend, SpendLine},
    decision,
    summary::{Attempts, Budget, Cost, FailureCount, Latencies, ModelSpend, Preflight, RunState, Totals, Trials},
    tally::Counts,
};
use statistics::success;
use store::{Recovered, RunRow};

/// Without the figures that are made from cases and scenarios: flaky cases, the weighted rate, the interval of the success rate
/// and k.
pub(super) fn totals(row: &RunRow, tally: &Tally, spend: &Spend, recovered: &Recovered) -> Totals {
    let total = tally.total;
    // Of a load the trials that count: not those that were dropped, of the warm-up, or not played.
    let planned = if tally.load.is_some() { total.ended() } else { row.planned };
    let cancelled = cancelled_with(row.state, planned, &total);
    let trials = Trials {
        planned,
        pass: total.pass,
        fail: total.fail,
        inconclusive: total.inconclusive,
        error: total.error,
        agent_errors: total.agent_errors,
        replayed_failures: total.replayed_failures,
        doubtful: total.doubtful,
        skipped: total.skipped,
        cancelled: total.cancelled + cancelled,
        not_started: planned.saturating_sub(total.ended() + cancelled),
    };
    Totals {
        trials,
        completed_rate: if planned == 0 { 0.0 } else { total.judged() as f64 / planned as f64 },
        conversations: tally.conversations,
        turns: tally.turns,
        success_rate: success::success_rate(&total),
        success_rate_scope: None,
        success_bounds: success::bounds(&total, planned),
        judged_pass_rate: success::judged_pass_rate(&total),
        weighted_success_rate: None,
        pass_k: 1,
        flaky_cases: 0,
        latency: Latencies { times: tally.times.figures(), unanswered_turns: tally.unanswered },
        tokens: by_role(|role| spend.of(role).tokens),
        cost: Cost {
            total_usd: spend.cost().dollars(),
            complete: spend.is_whole(recovered.lost_attempts, recovered.unsettled),
            unpriced_calls: spend.unpriced_calls(),
            estimated_calls: spend.estimated_calls(),
            plain_priced_calls: spend.plain_priced_calls(),
            unknown_attempts: spend.unknown_attempts(recovered.lost_attempts, recovered.unsettled),
        },
        llm_calls: by_role(|role| spend.of(role).calls),
        preflight: preflight(&row.preflight),
        models: models(spend, tally),
        attempts: Attempts {
            total: total.ended() + recovered.lost_attempts + recovered.replayed_attempts,
            lost: recovered.lost_attempts,
            replayed: recovered.replayed_attempts,
            replayed_trials: recovered.replayed_trials,
            replayed_failed: recovered.replayed_failed,
        },
        unsettled_usd: recovered.unsettled.dollars(),
        budget: budget(recovered, spend, tally, trials.not_started),
        failures: tally
            .failures
            .iter()
            .map(|((kind, blame), trials)| FailureCount { kind: *kind, blame: *blame, trials: *trials })
            .collect(),
    }
}

/// The money of a run with a budget.
fn budget(recovered: &Recovered, spend: &Spend, tally: &Tally, not_started: u64) -> Option<Budget> {
    let ledger = &recovered.ledger;
    let broke = tally.failures.iter().filter(|((kind, _), _)| *kind == FailureKind::BudgetUsedUp);
    ledger.max_cost.map(|max_cost| Budget {
        max_cost_usd: max_cost.dollars(),
        spent_usd: spend.cost().dollars(),
        reserved_usd: ledger.reserved().dollars(),
        unsettled_usd: recovered.unsettled.dollars(),
        left_usd: ledger.left().dollars(),
        used_up: decision::is_out_of_money(&recovered.decisions),
        trials_not_played: not_started.saturating_add(broke.map(|(_, trials)| trials).sum()),
    })
}

/// How many trials a cancelled run never played. They count as cancelled, because the run will not resume.
pub(super) fn cancelled_with(state: RunState, planned: u64, counts: &Counts) -> u64 {
    if state == RunState::Cancelled { planned.saturating_sub(counts.ended()) } else { 0 }
}

fn preflight(spend: &Spend) -> Option<Preflight> {
    let mut sum = SpendLine::default();
    spend.lines.values().for_each(|line| sum.add(*line));
    (!spend.is_empty()).then(|| Preflight {
        calls: sum.calls,
        tokens: sum.tokens,
        cost_usd: sum.cost.dollars(),
        unpriced_calls: sum.unpriced_calls,
        estimated_calls: sum.estimated_calls,
    })
}

/// Names every role, so that readers find each of them.
fn by_role<T>(of: impl Fn(Role) -> T) -> BTreeMap<String, T> {
    Role::ALL.into_iter().map(|role| (role.name().to_owned(), of(role))).collect()
}

fn models(spend: &Spend, tally: &Tally) -> Vec<ModelSpend> {
    let line = |((role, model), line): (&(Role, String), &SpendLine)| ModelSpend {
        role: *role,
        model: model.clone(),
        calls: line.calls,
        tokens: line.tokens,
        cost_usd: line.cost.dollars(),
        unpriced_calls: line.unpriced_calls,
        estimated_calls: line.estimated_calls,
        plain_priced_calls: line.plain_priced_calls,
        cut_calls: line.cut_calls,
        reported_usd: (line.reported_cost != Usd(0)).then(|| line.reported_cost.dollars()),
        throttling: tally.call_times.summary(*role, model, line),
    };
    spend.lines.iter().map(line).collect()
}
