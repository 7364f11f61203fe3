//! What an export says of the run and its cases.

use std::collections::BTreeSet;

use chrono::DateTime;
use lake::{Case, Facts};
use record::Summary;
use scenario::Plan;
use serde_json::Value;

pub(super) fn of(summary: &Summary) -> Facts {
    let run = &summary.run;
    let millis = |text: &str| DateTime::parse_from_rfc3339(text).map_or(0, |at| at.timestamp_millis());
    let verdict = serde_json::to_value(summary.verdict).ok();
    Facts {
        id: run.id.as_str().to_owned(),
        name: run.name.clone(),
        state: run.state,
        verdict: verdict.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(),
        started_at_ms: millis(&run.started_at),
        ended_at_ms: run.ended_at.as_deref().map(millis),
        planned: summary.summary.trials.planned,
        seed: run.seed,
        plan_digest: run.plan_digest.to_string(),
        gabfest_version: run.gabfest_version.clone(),
        unsettled_nanos: (summary.summary.unsettled_usd * 1e9).round() as i64,
    }
}

/// By their numbers.
pub(super) fn cases(plan: &Plan, summary: &Summary) -> Vec<Case> {
    let titles = plan.titles();
    let quarantined: BTreeSet<u64> =
        summary.cases.iter().filter(|case| case.quarantine.is_some()).map(|case| case.number).collect();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let cases = plan.cases().map(|case| {
        let group = plan.groups.get(case.group);
        Case {
            scenario: titles.get(case.group).cloned().unwrap_or_else(|| case.scenario.clone()),
            source: group.map(|group| group.source.path.clone()).unwrap_or_default(),
            format: group.map(|group| group.format.clone()).unwrap_or_default(),
            variant: plan.variant(&case),
            quarantined: quarantined.contains(&case.number),
            axes: case.parameters.iter().map(|(path, value)| (path.clone(), text(value))).collect(),
            combination: case.combination,
            persona: case.persona,
            agent: case.agent,
        }
    });
    cases.collect()
}
