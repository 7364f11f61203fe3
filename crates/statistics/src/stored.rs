//! Reads a stored summary: `report.json` of this version and of older ones.

use record::{
    Summary,
    latency::Quantiles,
    summary::{SCHEMA_VERSION, Trials},
    tally::Counts,
};
use serde_json::{Map, Value, json};

use crate::{flakiness, success};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("read the report as JSON")]
    Malformed(#[from] serde_json::Error),
    #[error("read a report of version {found}; this build reads versions 1 to {SCHEMA_VERSION}")]
    Version { found: u64 },
}

/// # Errors
/// The text is not a summary, or has a later version.
pub fn read(json: &[u8]) -> Result<Summary, Error> {
    let mut document: Value = serde_json::from_slice(json)?;
    match document.get("schema_version").and_then(Value::as_u64) {
        Some(1) => {
            rates_of_version_1(&mut document);
            times_of_version_2(&mut document);
        }
        Some(2) => times_of_version_2(&mut document),
        Some(version) if version <= u64::from(SCHEMA_VERSION) => {}
        found => return Err(Error::Version { found: found.unwrap_or(0) }),
    }
    Ok(serde_json::from_value(document)?)
}

/// Version 1 had only the judged pass rate, called `pass_rate`, and did not record how many errors of a case are the agent's.
/// If a run has errors of the agent and others, a case's errors count as not the agent's: the total is right, and the case's
/// bounds hold.
fn rates_of_version_1(document: &mut Value) {
    let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_u64).unwrap_or(0);
    let totals = &document["summary"];
    let trials = &totals["trials"];
    let blamed = totals["failures"].as_array().into_iter().flatten().filter(|failure| failure["blame"] == "agent");
    let blamed: u64 = blamed.map(|failure| number(failure, "trials")).sum();
    let (planned, errors) = (number(trials, "planned"), number(trials, "error"));
    let agent_errors = blamed.saturating_sub(number(trials, "fail")).min(errors);
    if let Some(trials) = document.pointer_mut("/summary/trials").and_then(Value::as_object_mut) {
        trials.insert("agent_errors".to_owned(), json!(agent_errors));
    }
    let repeats = document["cases"].as_array().into_iter().flatten().map(|case| number(case, "trials"));
    let pass_k = flakiness::usual_k(repeats.collect::<Vec<_>>());
    let counts = serde_json::from_value::<Trials>(document["summary"]["trials"].clone()).unwrap_or_default().counts();
    if let Some(totals) = document.pointer_mut("/summary").and_then(Value::as_object_mut) {
        rates(totals, &counts, planned);
        totals.remove("weighted_pass_rate");
        totals.insert("weighted_success_rate".to_owned(), Value::Null);
        totals.insert("pass_k".to_owned(), json!(pass_k));
    }
    let cases = document.get_mut("cases").and_then(Value::as_array_mut).into_iter().flatten();
    for case in cases.filter_map(Value::as_object_mut) {
        let number = |key: &str| case.get(key).and_then(Value::as_u64).unwrap_or(0);
        let error = number("error");
        let agent_errors = if agent_errors == errors { error } else { 0 };
        let (pass, fail, inconclusive) = (number("pass"), number("fail"), number("inconclusive"));
        let (skipped, cancelled, planned) = (number("skipped"), number("cancelled"), number("trials"));
        let counts = Counts { pass, fail, inconclusive, error, skipped, cancelled, agent_errors, ..Counts::default() };
        case.insert("agent_errors".to_owned(), json!(agent_errors));
        rates(case, &counts, planned);
    }
}

/// Version 2 had only service times of each part, and percentiles of any number of them, which stay.
fn times_of_version_2(document: &mut Value) {
    if let Some(version) = document.get_mut("schema_version") {
        *version = json!(SCHEMA_VERSION);
    }
    for table in ["by_agent", "by_tag", "by_axis"] {
        let rows = document.get_mut(table).and_then(Value::as_array_mut).into_iter().flatten();
        for latency in rows.filter_map(|row| row.get_mut("latency")).filter(|latency| latency.is_object()) {
            *latency = json!({ "turn": latency.take(), "ttft": Quantiles::default() });
        }
    }
}

fn rates(of: &mut Map<String, Value>, counts: &Counts, planned: u64) {
    of.remove("pass_rate");
    of.insert("success_rate".to_owned(), json!(success::success_rate(counts)));
    of.insert("success_bounds".to_owned(), json!(success::bounds(counts, planned)));
    of.insert("judged_pass_rate".to_owned(), json!(success::judged_pass_rate(counts)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `gabfest run` of version 0.1.0 wrote.
    const VERSION_1: &[u8] = include_bytes!("stored/version_1.json");

    #[test]
    fn a_report_of_version_1_is_read_with_the_success_rate_that_its_counts_say() {
        let summary = read(VERSION_1).unwrap();
        let totals = &summary.summary;
        assert_eq!((summary.schema_version, totals.trials.agent_errors), (SCHEMA_VERSION, 1));
        assert_eq!((totals.success_rate.estimate, totals.success_rate.n), (Some(4.0 / 7.0), 7));
        assert_eq!((totals.judged_pass_rate.estimate, totals.judged_pass_rate.n), (Some(4.0 / 6.0), 6));
        assert_eq!((totals.success_bounds.low, totals.success_bounds.high), (4.0 / 11.0, 8.0 / 11.0));
        // One of the two errors of the last case is the agent's, and nothing says so.
        let case = &summary.cases[2];
        assert_eq!((case.error, case.agent_errors, case.success_bounds.high), (2, 0, 1.0));
        assert_eq!(summary.cases[0].success_rate.estimate, Some(1.0));
    }

    #[test]
    fn a_report_of_this_version_is_read_as_it_is() {
        let summary = read(VERSION_1).unwrap();
        let again = read(serde_json::to_string(&summary).unwrap().as_bytes()).unwrap();
        assert_eq!(again, summary);
    }

    #[test]
    fn a_report_of_version_2_keeps_the_service_times_of_its_parts() {
        let mut document = serde_json::to_value(read(VERSION_1).unwrap()).unwrap();
        document["schema_version"] = json!(2);
        let times = json!({
            "count": 3, "p50_ms": 1.0, "p90_ms": 2.0, "p95_ms": 2.0, "p99_ms": 2.0, "p999_ms": 2.0, "max_ms": 2.0, "mean_ms": 1.5
        });
        let success_rate = json!({ "estimate": 1.0, "low": 0.4, "high": 1.0, "method": "wilson 95%", "n": 3 });
        document["by_agent"] = json!([{
            "agent": "a", "trials": 3, "pass": 3, "fail": 0, "agent_errors": 0, "inconclusive": 0, "error": 0, "skipped": 0,
            "cancelled": 0, "success_rate": success_rate, "latency": times, "unanswered_turns": 0, "cost_usd": 0.0,
            "unpriced_calls": 0, "failures": []
        }]);
        let found = read(document.to_string().as_bytes()).unwrap();
        let latency = found.by_agent[0].figures.latency.unwrap();
        assert_eq!((latency.turn.count, latency.turn.p99_ms, latency.response.count), (3, Some(2.0), 0));
        assert_eq!(found.schema_version, SCHEMA_VERSION);
    }

    #[test]
    fn a_later_version_is_an_error_that_says_so() {
        let error = read(br#"{"schema_version": 99}"#).unwrap_err();
        assert_eq!(error.to_string(), "read a report of version 99; this build reads versions 1 to 3");
        assert!(matches!(read(b"{}"), Err(Error::Version { found: 0 })));
    }
}
