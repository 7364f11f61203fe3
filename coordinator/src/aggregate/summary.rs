//! From counts to the summary: every figure of `report.json`.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat};
use record::{
    Blame, FailureKind, Summary, Tally,
    call::Spend,
    summary::{CaseSummary, Run, RunState, RunVerdict, SCHEMA_VERSION, Totals, Unreadable, Wall},
    tally::Counts,
};
use scenario::{
    Case, Plan,
    plan::{Gates, Group},
};
use statistics::{
    flakiness,
    gate::{self, CaseResult, Decision, Required, Unforgivable},
    judges, success, user_faults,
};
use store::{Recovered, RunRow};

use super::{
    breakdown::Tables,
    called::Called,
    totals::{cancelled_with, totals},
};

pub(super) fn of(row: &RunRow, plan: &Plan, tally: &Tally, spend: &Spend, recovered: &Recovered) -> Summary {
    let planned = planned_by_case(plan);
    let mut results = Vec::with_capacity(planned.len());
    let mut played = Vec::with_capacity(planned.len());
    let mut scenarios: BTreeMap<usize, (f64, Counts)> = BTreeMap::new();
    let titles = plan.titles();
    for (case, planned) in planned {
        let Some(group) = plan.groups.get(case.group) else { continue };
        let counts = tally.cases.get(&case.number).copied().unwrap_or_default();
        let required_pass_rate = group.required_pass_rate;
        let called = Called { title: titles[case.group].clone(), variant: plan.variant(&case) };
        let name = called.name_of(&case, plan.agents.len());
        let result = CaseResult { name, planned, counts, required_pass_rate };
        scenarios.entry(case.group).or_insert((group.weight, Counts::default())).1.merge(&counts);
        played.push((case, called, group));
        results.push(result);
    }
    let Gates { pass_rate, case_pass_rate, max_unjudged, max_unjudged_cases, max_simulator_faults, .. } = plan.gates;
    let required = Required { pass_rate, case_pass_rate, max_unjudged, max_unjudged_cases };
    let trials_of = |wanted: FailureKind| -> u64 {
        let ours = tally.failures.iter().filter(|((kind, blame), _)| *kind == wanted && *blame != Blame::Agent);
        ours.map(|(_, trials)| trials).sum()
    };
    let without_judge = trials_of(FailureKind::JudgeMissing);
    let never = Unforgivable { without_judge, out_of_quota: trials_of(FailureKind::ProviderExhausted) };
    let users = &tally.users.total;
    let of_users = max_simulator_faults.map(|most| gate::simulator_faults(most, users.faulty_trials, users.trials));
    let decision = gate::decide(required, &results, never);
    let Decision { gates, verdict, cases: verdicts } = of_users.into_iter().fold(decision, Decision::and);
    let cases: Vec<CaseSummary> = played
        .into_iter()
        .zip(&results)
        .zip(verdicts)
        .map(|(((case, called, group), result), verdict)| case_summary(case, called, group, result, verdict, row.state))
        .collect();
    let pass_k = plan.pass_k.unwrap_or_else(|| flakiness::usual_k(results.iter().map(|result| result.planned)));
    let flaky_cases = cases.iter().filter(|case| case.flaky).count() as u64;
    let run = Run {
        id: row.id.clone(),
        name: row.name.clone(),
        started_at: rfc3339(row.started_at),
        ended_at: row.ended_at.map(rfc3339),
        seed: row.seed,
        plan_digest: row.plan_digest.clone(),
        gabfest_version: row.version.clone(),
        state: row.state,
        exhausted: row.exhausted,
    };
    let weighted_success_rate = success::weighted(scenarios.values().map(|(weight, counts)| (*weight, counts)));
    let summary = Totals { flaky_cases, weighted_success_rate, pass_k, ..totals(row, tally, spend, recovered) };
    let took = row.ended_at.map(|ended_at| u64::try_from(ended_at - row.started_at).unwrap_or(0));
    let wall = took.map(|took| Wall::of(took, summary.conversations, summary.turns));
    let Tables { agents, tags, axes, checks, metrics } = Tables::of(&tally.breakdown);
    Summary {
        schema_version: SCHEMA_VERSION,
        run,
        verdict,
        gates,
        summary,
        cases,
        wall,
        by_agent: agents,
        by_tag: tags,
        by_axis: axes,
        by_check: checks,
        simulated_user: user_faults::of(&tally.users, &tally.total),
        judges: judges::of(&tally.judges),
        metrics,
        // Found out where the trials are read.
        unreadable: Unreadable::default(),
    }
}

fn case_summary(
    case: Case,
    called: Called,
    group: &Group,
    result: &CaseResult,
    verdict: RunVerdict,
    state: RunState,
) -> CaseSummary {
    let counts = &result.counts;
    CaseSummary {
        id: case.id,
        number: case.number,
        scenario: case.scenario,
        title: called.title,
        format: group.format.clone(),
        source: group.source.path.clone(),
        combination: case.combination,
        variant: called.variant,
        persona: case.persona,
        agent: case.agent,
        parameters: case.parameters.into_iter().collect(),
        weight: group.weight,
        trials: result.planned,
        pass: counts.pass,
        fail: counts.fail,
        inconclusive: counts.inconclusive,
        error: counts.error,
        agent_errors: counts.agent_errors,
        replayed_failures: counts.replayed_failures,
        doubtful: counts.doubtful,
        skipped: counts.skipped,
        cancelled: counts.cancelled + cancelled_with(state, result.planned, counts),
        success_rate: success::success_rate(counts),
        success_bounds: success::bounds(counts, result.planned),
        judged_pass_rate: success::judged_pass_rate(counts),
        flaky: flakiness::is_flaky(counts),
        pass_hat_k: flakiness::pass_hat_k(counts),
        verdict,
    }
}

/// Every case with the number of its trials, in the plan's order.
fn planned_by_case(plan: &Plan) -> Vec<(Case, u64)> {
    plan.cases()
        .map(|case| {
            let repeats = plan.groups.get(case.group).map_or(0, |group| u64::from(group.repeats));
            (case, repeats)
        })
        .collect()
}

fn rfc3339(unix_millis: i64) -> String {
    DateTime::from_timestamp_millis(unix_millis).unwrap_or_default().to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests;
