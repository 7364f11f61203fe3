//! What a run left behind: its report, the view of its verdicts, and the mock's own record of the calls.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use invariants::{Findings, Invariant, Known, Ledger, Run};
use serde_json::Value;

use super::place::{CALLS, KEY};

#[derive(Debug, Clone)]
pub(crate) struct Found {
    folder: PathBuf,
    pub(crate) run: Run,
    ledger: Ledger,
    /// The verdict view of the coordinator.
    view: String,
}

impl Found {
    /// Reads the folder of a run. `nanos`: the price of a token that is read, and of one that is written, in nano-dollars.
    pub(crate) fn read(folder: &Path, planned: u64, view: String, nanos: (u64, u64)) -> anyhow::Result<Self> {
        let text = |name: &str| fs::read_to_string(folder.join(name)).with_context(|| format!("failed to read {name}"));
        let lines = |name: &str| -> anyhow::Result<Vec<Value>> {
            let line = |line| serde_json::from_str(line).with_context(|| format!("{name} has a line that is not JSON"));
            text(name)?.lines().map(line).collect()
        };
        let report = serde_json::from_str(&text("out/report.json")?).context("report.json is not JSON")?;
        let (trials, transcripts) = (lines("out/trials.jsonl")?, lines("out/transcripts.jsonl")?);
        let ledger = Ledger::read(&text(CALLS)?, nanos).map_err(|error| anyhow!("{CALLS}: {error}"))?;
        let run = Run { planned, report, trials, transcripts };
        Ok(Self { folder: folder.to_owned(), run, ledger, view })
    }

    /// A number of the summary, such as `/attempts/lost`.
    pub(crate) fn number(&self, pointer: &str) -> u64 {
        self.run.report["summary"].pointer(pointer).and_then(Value::as_u64).unwrap_or(u64::MAX)
    }

    /// Holds it against the invariants. `others`: more folders that may have no key.
    pub(crate) fn findings(&self, calm_view: &str, known: &Known<'_>, others: &[PathBuf]) -> Findings {
        let mut findings = Findings::default();
        findings.look(&self.run, Some(&self.ledger), known);
        findings.add(Invariant::Same, invariants::same(calm_view, &self.view));
        for folder in others.iter().chain([&self.folder]) {
            findings.add(Invariant::Secrets, with_key(folder));
        }
        findings
    }
}

/// The files that have the key of the fleet's endpoint in plain bytes.
fn with_key(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // A server may remove files meanwhile.
        for path in fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let has_key =
                fs::read(&path).is_ok_and(|bytes| bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
            if has_key {
                found.push(format!("{} has the key of the endpoint", path.display()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_any_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("w1.log"), "nothing").unwrap();
        assert_eq!(with_key(folder.path()), Vec::<String>::new());
        fs::write(folder.path().join("deep/data.db"), [b"\x00\xff", KEY.as_bytes()].concat()).unwrap();
        let found = with_key(folder.path());
        assert!(found.len() == 1 && found[0].contains("deep/data.db has the key"), "{found:?}");
    }
}
