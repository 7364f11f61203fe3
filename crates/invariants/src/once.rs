//! I1: each trial is there once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{Run, number, some};

const VERDICTS: [&str; 6] = ["PASS", "FAIL", "INCONCLUSIVE", "ERROR", "SKIPPED", "CANCELLED"];

/// Each number of the plan has one line in each file, and the verdicts add up.
#[must_use]
pub fn once(run: &Run) -> Vec<String> {
    let mut broken = lines("trials.jsonl", &run.trials, run.planned);
    broken.extend(lines("transcripts.jsonl", &run.transcripts, run.planned));
    let mut rows = vec![
        ("trials planned".to_owned(), number(run, "/trials/planned"), run.planned),
        ("trials not started".to_owned(), number(run, "/trials/not_started"), 0),
    ];
    for verdict in VERDICTS {
        let count = run.trials.iter().filter(|line| line["verdict"] == verdict).count() as u64;
        rows.push((format!("trials {verdict}"), number(run, &format!("/trials/{}", verdict.to_lowercase())), count));
    }
    broken.extend(differing(rows));
    if run.report["run"]["state"] != "finished" {
        broken.push(format!("report.json says that the run is {}", run.report["run"]["state"]));
    }
    broken
}

/// What the report says, and what is true.
pub(crate) fn differing(rows: impl IntoIterator<Item = (String, u64, u64)>) -> impl Iterator<Item = String> {
    rows.into_iter()
        .filter(|(_, said, truth)| said != truth)
        .map(|(what, said, truth)| format!("{what}: report.json says {said}, and it is {truth}"))
}

fn lines(file: &str, lines: &[Value], planned: u64) -> Vec<String> {
    let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
    for line in lines {
        *seen.entry(line["number"].as_u64().unwrap_or(u64::MAX)).or_default() += 1;
    }
    let ids: BTreeSet<&str> = lines.iter().filter_map(|line| line["trial_id"].as_str()).collect();
    let doubled: Vec<u64> = seen.iter().filter(|(_, times)| **times > 1).map(|(number, _)| *number).collect();
    let missing: Vec<u64> = (0..planned).filter(|number| !seen.contains_key(number)).collect();
    let strange: Vec<u64> = seen.keys().copied().filter(|number| *number >= planned).collect();
    let mut broken = Vec::new();
    for (what, numbers) in [("more than once", doubled), ("not", missing), ("although it was not planned", strange)] {
        if !numbers.is_empty() {
            broken.push(format!("{file} has {} trials {what}: {}", numbers.len(), some(&numbers)));
        }
    }
    let numbers = lines.iter().map(|line| line["number"].as_u64());
    if !numbers.is_sorted() {
        broken.push(format!("{file} does not have its trials in order"));
    }
    if ids.len() != seen.len() {
        broken.push(format!("{file} has {} ids of {} trials", ids.len(), seen.len()));
    }
    broken
}
