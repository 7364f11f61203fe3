//! How long a call took on this machine, by `gabfest ping` or in the last run. `--dry-run` estimates with it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde_json::Value;

/// The folder of runs, and of the measurements of `ping`.
const FOLDER: &str = "gabfest-runs";
const PINGS: &str = "ping.json";
/// Reports of runs that are looked through, the latest first.
const MOST_RUNS: usize = 20;

/// The time of one call, and its source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measured {
    pub(crate) seconds: f64,
    pub(crate) by: String,
}

/// Adds new measurements to the old ones. Does nothing if the folder is not writable.
pub(crate) fn keep(seconds: &BTreeMap<String, f64>) {
    if seconds.is_empty() {
        return;
    }
    let path = Path::new(FOLDER).join(PINGS);
    let mut all = pings(&path);
    all.extend(seconds.clone());
    let written =
        fs::create_dir_all(FOLDER).and_then(|()| fs::write(&path, serde_json::to_vec_pretty(&all).unwrap_or_default()));
    if let Err(error) = written {
        tracing::debug!(%error, "what was measured is not kept");
    }
}

/// The time of an agent: of its replies in the last run against it alone, or else of its answer to a ping.
pub(crate) fn of_agent(agent: &str) -> Option<Measured> {
    last_run(agent).or_else(|| of_endpoint(agent))
}

/// Of an endpoint that plays the user or the judge: its answer to a ping.
pub(crate) fn of_endpoint(name: &str) -> Option<Measured> {
    let seconds = *pings(&Path::new(FOLDER).join(PINGS)).get(name)?;
    Some(Measured { seconds, by: "`gabfest ping`".to_owned() })
}

fn pings(path: &Path) -> BTreeMap<String, f64> {
    fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn last_run(agent: &str) -> Option<Measured> {
    let entries = fs::read_dir(FOLDER).ok()?.flatten();
    let mut reports: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.path().join("report.json");
            Some((fs::metadata(&path).ok()?.modified().ok()?, path))
        })
        .collect();
    reports.sort();
    reports.into_iter().rev().take(MOST_RUNS).find_map(|(_, path)| of_report(&fs::read(path).ok()?, agent))
}

fn of_report(bytes: &[u8], agent: &str) -> Option<Measured> {
    let report: Value = serde_json::from_slice(bytes).ok()?;
    let cases = report.get("cases")?.as_array()?;
    if cases.is_empty() || !cases.iter().all(|case| case["agent"] == agent) {
        return None;
    }
    let turn = report.pointer("/summary/latency/turn")?;
    let seconds = turn["mean_ms"].as_f64().filter(|_| turn["count"].as_u64() > Some(0))? / 1e3;
    let run = report.pointer("/run/id").and_then(Value::as_str).unwrap_or_default();
    Some(Measured { seconds, by: format!("run {run}") })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_gives_the_time_of_its_only_agent() {
        let report = |agents: &[&str], count: u64| {
            let cases: Vec<Value> = agents.iter().map(|agent| json!({ "agent": agent })).collect();
            json!({
                "run": { "id": "r1" }, "cases": cases,
                "summary": { "latency": { "turn": { "count": count, "mean_ms": 1_500.0 } } },
            })
            .to_string()
        };
        let found = of_report(report(&["shop", "shop"], 9).as_bytes(), "shop");
        assert_eq!(found, Some(Measured { seconds: 1.5, by: "run r1".to_owned() }));
        for (agents, count) in [(&["shop", "other"][..], 9), (&["other"], 9), (&[], 9), (&["shop"], 0)] {
            assert_eq!(of_report(report(agents, count).as_bytes(), "shop"), None, "{agents:?}");
        }
        assert_eq!(of_report(b"{}", "shop"), None);
    }
}
