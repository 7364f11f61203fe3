//! Checks the results of a run: each trial once, consistent totals, and the verdicts of an undisturbed run.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::Context as _;
use serde_json::Value;

/// The number of differences to list; the others are only counted.
const NAMED: usize = 3;
const VERDICTS: [&str; 6] = ["PASS", "FAIL", "INCONCLUSIVE", "ERROR", "SKIPPED", "CANCELLED"];

/// The files of a report, and the verdict view of the coordinator.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) report: Value,
    pub(crate) trials: Vec<Value>,
    pub(crate) transcripts: Vec<Value>,
    pub(crate) view: String,
}

impl Found {
    pub(crate) fn read(out: &Path, view: String) -> anyhow::Result<Self> {
        let text =
            |name: &str| std::fs::read_to_string(out.join(name)).with_context(|| format!("failed to read {name}"));
        let lines = |name: &str| -> anyhow::Result<Vec<Value>> {
            let line = |line| serde_json::from_str(line).with_context(|| format!("{name} has a line that is not JSON"));
            text(name)?.lines().map(line).collect()
        };
        let report = serde_json::from_str(&text("report.json")?).context("report.json is not JSON")?;
        Ok(Self { report, trials: lines("trials.jsonl")?, transcripts: lines("transcripts.jsonl")?, view })
    }

    /// A number of the summary, such as `/attempts/lost`.
    pub(crate) fn number(&self, pointer: &str) -> u64 {
        self.report["summary"].pointer(pointer).and_then(Value::as_u64).unwrap_or(u64::MAX)
    }

    /// What is wrong with the results.
    pub(crate) fn broken(&self, planned: u64, calm_view: &str) -> Vec<String> {
        let mut broken = once("trials.jsonl", &self.trials, planned);
        broken.extend(once("transcripts.jsonl", &self.transcripts, planned));
        broken.extend(self.totals(planned));
        broken.extend(self.money());
        broken.extend(differences(calm_view, &self.view));
        broken
    }

    /// That a run with a budget cost no more, and that every part of it is in the report.
    fn money(&self) -> Vec<String> {
        let budget = &self.report["summary"]["budget"];
        if budget.is_null() {
            return Vec::new();
        }
        let usd = |name: &str| budget[name].as_f64().unwrap_or(f64::NAN);
        let parts = ["spent_usd", "reserved_usd", "unsettled_usd", "left_usd"].map(usd);
        let (most, sum) = (usd("max_cost_usd"), parts.iter().sum::<f64>());
        let fits = (sum - most).abs() < 1e-9 && parts.iter().all(|part| *part >= 0.0);
        if fits { Vec::new() } else { vec![format!("the budget of ${most} does not fit its parts: {budget}")] }
    }

    fn totals(&self, planned: u64) -> Vec<String> {
        let count = |verdict: &str| self.trials.iter().filter(|line| line["verdict"] == verdict).count() as u64;
        let turns = self.trials.iter().filter_map(|line| line["turns"].as_u64()).sum();
        let spoken = self.transcripts.iter().filter_map(|line| line["turns"].as_array()).map(Vec::len).sum::<usize>();
        let mut rows: Vec<(String, u64, u64)> = vec![
            ("trials planned".to_owned(), self.number("/trials/planned"), planned),
            ("trials not started".to_owned(), self.number("/trials/not_started"), 0),
            ("turns".to_owned(), self.number("/turns"), turns),
            ("turns in the transcripts".to_owned(), spoken as u64, turns),
            (
                "attempts".to_owned(),
                self.number("/attempts/total"),
                planned.saturating_add(self.number("/attempts/lost")).saturating_add(self.number("/attempts/replayed")),
            ),
        ];
        for verdict in VERDICTS {
            let said = self.number(&format!("/trials/{}", verdict.to_lowercase()));
            rows.push((format!("trials {verdict}"), said, count(verdict)));
        }
        let mut broken: Vec<String> = rows
            .into_iter()
            .filter(|(_, said, truth)| said != truth)
            .map(|(what, said, truth)| format!("{what}: report.json says {said}, and it is {truth}"))
            .collect();
        if self.report["run"]["state"] != "finished" {
            broken.push(format!("report.json says that the run is {}", self.report["run"]["state"]));
        }
        broken
    }
}

/// Each number of the plan on one line.
fn once(file: &str, lines: &[Value], planned: u64) -> Vec<String> {
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
    if ids.len() != seen.len() {
        broken.push(format!("{file} has {} ids of {} trials", ids.len(), seen.len()));
    }
    broken
}

fn some(numbers: &[u64]) -> String {
    let named: Vec<String> = numbers.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if numbers.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", named.join(", "))
}

/// Line by line, a trial each; first the trials that our side broke.
fn differences(calm: &str, view: &str) -> Vec<String> {
    if calm == view {
        return Vec::new();
    }
    let by_trial = |text: &str| -> BTreeMap<u64, Value> {
        let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        values.map(|value| (value["trial"].as_u64().unwrap_or(u64::MAX), value)).collect()
    };
    let (before, after) = (by_trial(calm), by_trial(view));
    let numbers: BTreeSet<u64> = before.keys().chain(after.keys()).copied().collect();
    let said = |value: Option<&Value>| match value {
        Some(value) => {
            format!("{} {} {}", text(&value["verdict"]), text(&value["failure_kind"]), text(&value["blame"]))
        }
        None => "missing".to_owned(),
    };
    let mut different: Vec<(bool, String)> = numbers
        .into_iter()
        .filter(|number| before.get(number) != after.get(number))
        .map(|number| {
            let (then, now) = (before.get(&number), after.get(&number));
            let ours =
                now.is_some_and(|now| now["verdict"] == "ERROR") && then.is_some_and(|then| then["verdict"] != "ERROR");
            (!ours, format!("trial {number}: undisturbed {}, here {}", said(then).trim(), said(now).trim()))
        })
        .collect();
    different.sort();
    if different.is_empty() {
        return vec!["the verdict view has the same trials in another form or order".to_owned()];
    }
    let named: Vec<&str> = different.iter().take(NAMED).map(|(_, text)| text.as_str()).collect();
    vec![format!("{} trials differ in the verdict view: {}", different.len(), named.join("; "))]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
