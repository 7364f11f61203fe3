//! From counts to the summary: every figure of `report.json`.

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, SecondsFormat};
use record::{
    Blame, FailureKind, Role, Summary, Tally,
    call::Spend,
    decision::{load_age_ms, load_stood_still_ms, stands_still_since, stopped, stopping_objectives},
    summary::{
        CaseSummary, KeptTranscripts, LeftOut, Losses, Run, RunDecision, RunState, RunVerdict, SCHEMA_VERSION, Totals,
        Unreadable, Wall,
    },
    tally::Counts,
};
use scenario::{Case, Plan, plan::Group};
use statistics::{
    clustered, custom_checks, flakiness,
    gate::{self, CaseParts, CaseResult, Decision, Unforgivable},
    goodput, judges,
    objective::{self, Used, When},
    sequential::{reason, suite::Suite},
    success, user_faults,
};
use store::{Recovered, RunRow};

use super::{
    breakdown::Tables,
    called::Called,
    contents, load,
    totals::{cancelled_with, totals},
};

/// `suite`: of a run that stops when it is decided.
pub(super) fn of(
    row: &RunRow,
    plan: &Plan,
    tally: &Tally,
    spend: &Spend,
    recovered: &Recovered,
    suite: Option<&Suite>,
) -> Summary {
    let planned = planned_by_case(plan, tally, suite.is_some() && row.state == RunState::Finished);
    let mut results = Vec::with_capacity(planned.len());
    let mut played = Vec::with_capacity(planned.len());
    let mut scenarios: BTreeMap<usize, (f64, Counts)> = BTreeMap::new();
    let titles = plan.titles();
    let mut parts = Vec::with_capacity(planned.len());
    for (case, planned) in planned {
        let Some(group) = plan.groups.get(case.group) else { continue };
        let counts = tally.cases.get(&case.number).copied().unwrap_or_default();
        let required_pass_rate = group.required_pass_rate;
        let called = Called { title: titles[case.group].clone(), variant: plan.variant(&case) };
        let name = called.name_of(&case, plan.agents.len());
        let quarantine = plan.quarantine(&case, &called.title, called.variant.as_deref());
        let result = CaseResult { name, planned, counts, required_pass_rate };
        scenarios.entry(case.group).or_insert((group.weight, Counts::default())).1.merge(&counts);
        parts.push(CaseParts::of(&case, group, &called.title));
        played.push((case, called, group, quarantine));
        results.push(result);
    }
    let trials_of = |wanted: FailureKind| -> u64 {
        let ours = tally.failures.iter().filter(|((kind, blame), _)| *kind == wanted && *blame != Blame::Agent);
        ours.map(|(_, trials)| trials).sum()
    };
    let without_judge = trials_of(FailureKind::JudgeMissing);
    let out_of_quota = trials_of(FailureKind::ProviderExhausted).saturating_add(trials_of(FailureKind::BudgetUsedUp));
    let never = Unforgivable { without_judge, out_of_quota };
    let users = &tally.users.total;
    let of_users =
        plan.gates.max_simulator_faults.map(|most| gate::simulator_faults(most, users.faulty_trials, users.trials));
    let is_quarantined = |index: usize| played[index].3.is_some();
    let names: Vec<String> = results.iter().map(|result| result.name.clone()).collect();
    let decision = match suite {
        Some(suite) => decide(&results, &parts, is_quarantined, |results, parts, counted| {
            // The other gates that were written hold too, on the trials that were played.
            gate::and_rates(decided_early(suite, &names, counted, never), &plan.gates, results, parts, false)
        }),
        // A search goes beyond what the agent bears.
        None if plan.is_search() => gate::evidence(gate::required(&plan.gates), &results, never),
        None => decide(&results, &parts, is_quarantined, |results, parts, _| {
            gate::decide_all(&plan.gates, results, parts, never)
        }),
    };
    let load = tally.load.as_ref().map(|load| load::of(row, load, recovered, &tally.slices, &plan.gates));
    let of_load = load.iter().flat_map(|load| load::gates(load, row.state));
    let when = match row.state {
        RunState::Running => When::Playing(tally.objectives.end_micros()),
        RunState::Finished | RunState::Interrupted | RunState::Cancelled => When::Over,
    };
    let stopping = stopping_objectives(&recovered.decisions);
    let of_objectives =
        objective::gates(&tally.objectives, Used { all: spend, warm_up: tally.warm_up_spend() }, when, &stopping);
    let Decision { gates, verdict, cases: verdicts } =
        of_users.into_iter().chain(of_load).chain(of_objectives).fold(decision, Decision::and);
    let cases: Vec<CaseSummary> = played
        .into_iter()
        .zip(&results)
        .zip(verdicts)
        .map(|(((case, called, group, quarantine), result), verdict)| {
            let quarantine = quarantine.cloned();
            CaseSummary { quarantine, ..case_summary(case, called, group, result, verdict, row.state) }
        })
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
        stopped: stopped(&recovered.decisions).filter(|_| row.state != RunState::Finished).map(str::to_owned),
        decisions: recovered.decisions.iter().map(|decision| decision_of(decision, row.started_at)).collect(),
        // The digests read the whole plan, so live figures go without.
        contents: (row.state != RunState::Running).then(|| contents::of(plan)),
        origin: plan.origin.clone(),
    };
    let weighted_success_rate = success::weighted(scenarios.values().map(|(weight, counts)| (*weight, counts)));
    let of_scenarios =
        |n: fn(&Counts) -> u64| clustered::rate(scenarios.values().map(|(_, counts)| (counts.pass, n(counts))));
    let (success_rate, scope) = of_scenarios(Counts::conclusive);
    let design_effect = scope.design_effect.unwrap_or(1.0);
    let (judged_pass_rate, _) = of_scenarios(Counts::judged);
    let summary = Totals {
        success_rate,
        success_rate_scope: Some(scope),
        judged_pass_rate,
        flaky_cases,
        weighted_success_rate,
        pass_k,
        ..totals(row, tally, spend, recovered)
    };
    let took = row.ended_at.map(|ended_at| u64::try_from(ended_at - row.started_at).unwrap_or(0));
    let wall = took.map(|took| {
        let written = |spend: &Spend| spend.of(Role::Agent).tokens.output;
        let of_warm_up = tally.warm_up_spend().map_or(0, written);
        let tokens = written(spend).saturating_sub(of_warm_up);
        let left_out = LeftOut {
            warm_up_ms: warm_up_ms(row, tally, recovered).min(took),
            stood_still_ms: tally.load.as_ref().map_or(0, |_| load_stood_still_ms(&recovered.decisions)),
        };
        Wall::of(took, left_out, summary.conversations, summary.turns, tokens)
    });
    let Tables { agents, scenarios, personas, tags, axes, checks, metrics, others } = Tables::of(&tally.breakdown);
    Summary {
        schema_version: SCHEMA_VERSION,
        run,
        verdict,
        gates,
        summary,
        cases,
        wall,
        by_agent: agents,
        by_scenario: scenarios,
        by_persona: personas,
        by_tag: tags,
        by_axis: axes,
        other_parts: others,
        goodput: plan.goodput.map(|limits| goodput::of_run(limits.into(), &tally.goodput, wall.as_ref())),
        by_turn: tally.by_number.figures().collect(),
        series: tally.slices.figures(),
        by_check: checks,
        simulated_user: user_faults::of(&tally.users, &tally.total),
        judges: judges::of(&tally.judges, plan.gates.judges.as_ref(), design_effect),
        custom_checks: custom_checks::of(&tally.custom_checks),
        metrics,
        load,
        transcripts: (!plan.transcripts.is_all())
            .then_some(KeptTranscripts { kept: plan.transcripts, dropped: tally.dropped_transcripts }),
        sequential: suite.map(reason::summary),
        // Filled in at the end of the run, by who has the history.
        past: None,
        // Filled in by the callers, which read the store.
        losses: Vec::new(),
        unreadable: Unreadable::default(),
    }
}

/// One gate in place of those about success rates. `names`: of all cases; `counted`: the cases with a verdict, by their places.
fn decided_early(suite: &Suite, names: &[String], counted: &[usize], never: Unforgivable) -> Decision {
    let gate = reason::gate(suite, |case| names.get(case).cloned().unwrap_or_default());
    let all = reason::cases(suite);
    let cases = counted.iter().filter_map(|case| all.get(*case).copied()).collect();
    let decision = Decision { verdict: gate.verdict, gates: vec![gate], cases };
    match never.without_judge {
        0 => decision,
        skipped => decision.and(gate::judge_available(skipped)),
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
        quarantine: None,
    }
}

/// The decision of the gates over the cases that are not in quarantine, with a verdict for every case.
fn decide(
    results: &[CaseResult],
    parts: &[CaseParts],
    is_quarantined: impl Fn(usize) -> bool,
    of: impl Fn(&[CaseResult], &[CaseParts], &[usize]) -> Decision,
) -> Decision {
    let every: Vec<usize> = (0..results.len()).collect();
    let all = of(results, parts, &every);
    let counted: Vec<usize> = every.into_iter().filter(|index| !is_quarantined(*index)).collect();
    if counted.len() == results.len() {
        return all;
    }
    let results: Vec<CaseResult> = counted.iter().map(|index| results[*index].clone()).collect();
    let parts: Vec<CaseParts> = counted.iter().map(|index| parts[*index].clone()).collect();
    Decision { cases: all.cases, ..of(&results, &parts, &counted) }
}

/// Every case with the number of its trials, in the plan's order. A load plays what its pace draws: of its cases those that
/// count, with the trials that ended. A run that was decided early planned what it played.
fn planned_by_case(plan: &Plan, tally: &Tally, decided_early: bool) -> Vec<(Case, u64)> {
    let ended = |case: &Case| tally.cases.get(&case.number).map_or(0, Counts::ended);
    if decided_early {
        return plan.cases().map(|case| (ended(&case), case)).map(|(planned, case)| (case, planned)).collect();
    }
    if plan.load.is_some() {
        return plan
            .cases()
            .map(|case| (ended(&case), case))
            .filter(|(ended, _)| *ended > 0)
            .map(|(ended, case)| (case, ended))
            .collect();
    }
    plan.cases()
        .map(|case| {
            let repeats = plan.groups.get(case.group).map_or(0, |group| u64::from(group.repeats));
            (case, repeats)
        })
        .collect()
}

/// How long the warm-up of a load took; 0 without one.
fn warm_up_ms(row: &RunRow, tally: &Tally, recovered: &Recovered) -> u64 {
    let planned = tally.load.as_ref().map_or(0, |load| millis(load.schedule().warm_up()));
    let stopped = stands_still_since(&recovered.decisions).into_iter().chain(row.ended_at).min();
    let played = recovered.load_began_at.zip(row.ended_at.and(stopped));
    let played = played.map_or(0, |(began, stopped)| load_age_ms(&recovered.decisions, began, stopped));
    planned.min(played)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// `lost`: times in Unix milliseconds, and attempts.
pub(super) fn losses(row: &RunRow, recovered: &Recovered, lost: &[(i64, u64)]) -> Vec<Losses> {
    // As `series`, which counts from the beginning of a load.
    let after = |at: i64| match recovered.load_began_at {
        Some(began) => load_age_ms(&recovered.decisions, began, at),
        None => u64::try_from(at - row.started_at).unwrap_or(0),
    };
    lost.iter().map(|(at, conversations)| Losses { after_ms: after(*at), conversations: *conversations }).collect()
}

fn decision_of(decision: &record::decision::Decision, started_at: i64) -> RunDecision {
    let after_ms = u64::try_from(decision.at.saturating_sub(started_at)).unwrap_or(0);
    let load_ms = decision.load_micros.map(|micros| micros / 1_000);
    let record::decision::Decision { at, by, what, .. } = decision.clone();
    RunDecision { at: rfc3339(at), after_ms, load_ms, by, what }
}

fn rfc3339(unix_millis: i64) -> String {
    DateTime::from_timestamp_millis(unix_millis).unwrap_or_default().to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests;
