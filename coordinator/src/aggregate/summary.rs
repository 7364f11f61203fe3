//! From counts to the summary: every figure of `report.json`.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat};
use record::{
    Role, Summary, Tally, Tokens,
    call::Spend,
    summary::{Attempts, CaseSummary, Cost, FailureCount, Latencies, ModelSpend, Run, SCHEMA_VERSION, Totals, Trials},
    tally::Counts,
};
use scenario::{Case, Plan, plan::Group};
use statistics::{
    gate::{self, CaseResult, Required},
    interval, repeats,
};
use store::{Recovered, RunRow};

pub(super) fn of(row: &RunRow, plan: &Plan, tally: &Tally, spend: &Spend, recovered: &Recovered) -> Summary {
    let planned = planned_by_case(plan);
    let mut results = Vec::with_capacity(planned.len());
    let mut cases = Vec::with_capacity(planned.len());
    let mut weighted = Weighted::default();
    for (case, planned) in planned {
        let Some(group) = plan.groups.get(case.group) else { continue };
        let counts = tally.cases.get(&case.number).copied().unwrap_or_default();
        let required_pass_rate = group.required_pass_rate;
        let result = CaseResult { name: name_of(&case, plan.agents.len()), planned, counts, required_pass_rate };
        weighted.add(group.weight, &counts);
        cases.push(case_summary(case, group, &result));
        results.push(result);
    }
    let required = Required { pass_rate: plan.gates.pass_rate, max_unjudged: plan.gates.max_unjudged };
    let (gates, verdict) = gate::decide(required, &results);
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
    };
    let summary =
        Totals { flaky_cases, weighted_pass_rate: weighted.mean(), ..totals(row.planned, tally, spend, recovered) };
    Summary { schema_version: SCHEMA_VERSION, run, verdict, gates, summary, cases }
}

fn totals(planned: u64, tally: &Tally, spend: &Spend, recovered: &Recovered) -> Totals {
    let total = tally.total;
    let trials = Trials {
        planned,
        pass: total.pass,
        fail: total.fail,
        inconclusive: total.inconclusive,
        error: total.error,
        skipped: total.skipped,
        cancelled: total.cancelled,
        not_started: planned.saturating_sub(total.ended()),
    };
    Totals {
        trials,
        completed_rate: if planned == 0 { 0.0 } else { total.judged() as f64 / planned as f64 },
        conversations: tally.conversations,
        turns: tally.turns,
        pass_rate: interval(total.pass, total.judged()),
        weighted_pass_rate: None,
        flaky_cases: 0,
        latency: Latencies { turn: tally.turn_latency.quantiles(), ttft: tally.ttft.quantiles() },
        tokens: by_role(|role| spend.of(role).tokens),
        cost: Cost {
            total_usd: spend.cost().dollars(),
            complete: spend.unpriced_calls() == 0,
            unpriced_calls: spend.unpriced_calls(),
        },
        llm_calls: by_role(|role| spend.of(role).calls),
        models: models(spend),
        attempts: Attempts { total: total.ended() + recovered.lost_attempts, lost: recovered.lost_attempts },
        unsettled_usd: recovered.unsettled.dollars(),
        failures: tally
            .failures
            .iter()
            .map(|((kind, blame), trials)| FailureCount { kind: *kind, blame: *blame, trials: *trials })
            .collect(),
    }
}

/// Every role is named, also one that used nothing: readers need not ask whether it is there.
fn by_role<T>(of: impl Fn(Role) -> T) -> BTreeMap<String, T> {
    Role::ALL.into_iter().map(|role| (role.name().to_owned(), of(role))).collect()
}

fn models(spend: &Spend) -> Vec<ModelSpend> {
    let line = |((role, model), line): (&(Role, String), &record::call::SpendLine)| ModelSpend {
        role: *role,
        model: model.clone(),
        calls: line.calls,
        tokens: Tokens { input: line.tokens.input, output: line.tokens.output },
        cost_usd: line.cost.dollars(),
        unpriced_calls: line.unpriced_calls,
    };
    spend.lines.iter().map(line).collect()
}

fn case_summary(case: Case, group: &Group, result: &CaseResult) -> CaseSummary {
    let counts = &result.counts;
    CaseSummary {
        id: case.id,
        number: case.number,
        scenario: case.scenario,
        format: group.format.name().to_owned(),
        source: group.source.path.clone(),
        combination: case.combination,
        persona: case.persona,
        agent: case.agent,
        parameters: case.parameters.into_iter().collect(),
        trials: result.planned,
        pass: counts.pass,
        fail: counts.fail,
        inconclusive: counts.inconclusive,
        error: counts.error,
        skipped: counts.skipped,
        cancelled: counts.cancelled,
        pass_rate: interval(counts.pass, counts.judged()),
        flaky: repeats::is_flaky(counts),
        pass_hat_k: repeats::pass_hat_k(counts.pass, counts.judged()),
        verdict: result.verdict(),
    }
}

/// Every case with the number of its trials, in the plan's order.
fn planned_by_case(plan: &Plan) -> Vec<(Case, u64)> {
    (0..plan.case_count())
        .filter_map(|number| plan.case(number))
        .map(|case| {
            let repeats = plan.groups.get(case.group).map_or(0, |group| u64::from(group.repeats));
            (case, repeats)
        })
        .collect()
}

/// What a person calls the case.
fn name_of(case: &Case, agents: usize) -> String {
    let agent = (agents > 1).then_some(&case.agent);
    let rest = [case.combination.as_ref(), case.persona.as_ref(), agent];
    rest.into_iter().flatten().fold(case.scenario.clone(), |name, part| format!("{name} / {part}"))
}

/// The mean of pass rates by weight.
#[derive(Debug, Default)]
struct Weighted {
    sum: f64,
    weights: f64,
}

impl Weighted {
    fn add(&mut self, weight: f64, counts: &Counts) {
        if counts.judged() > 0 {
            self.sum += weight * counts.pass as f64 / counts.judged() as f64;
            self.weights += weight;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.weights > 0.0).then(|| self.sum / self.weights)
    }
}

fn rfc3339(unix_millis: i64) -> String {
    DateTime::from_timestamp_millis(unix_millis).unwrap_or_default().to_rfc3339_opts(SecondsFormat::Millis, true)
}
