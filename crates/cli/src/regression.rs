//! The gate `regression`: a run is compared with an earlier one at its end.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::Context as _;
use record::{
    Summary,
    summary::{RunState, RunVerdict},
};
use scenario::RunId;
use serde::Deserialize;
use statistics::compare::{
    self,
    found::{CompareVerdict, Comparison},
};

use crate::{
    compared, diagnostics, exit::Exit, history_file::Place, nights, run_folder::RUNS, screen::screen, sentinels,
    settings::Regression, stdout,
};

/// The latest finished run of the same name, and the latest of those whose gates held.
const LAST: &str = "last";
const LAST_GREEN: &str = "last-green";
/// In the folder of the new run.
const JSON: &str = "compare.json";

/// An earlier run, and by how much the success rate may fall below its.
#[derive(Debug)]
pub(crate) struct Baseline {
    folder: PathBuf,
    margin: f64,
    /// Once the new run's trials are written.
    found: OnceLock<Comparison>,
    /// It knows how much nights differ.
    history: Place,
}

/// What the choice of a baseline needs of a `report.json`.
#[derive(Debug, Deserialize)]
struct Report {
    run: Run,
    verdict: RunVerdict,
}

#[derive(Debug, Deserialize)]
struct Run {
    id: RunId,
    name: String,
    started_at: String,
    state: RunState,
}

impl Baseline {
    /// Finds the run to compare with before the new run is played, so that a wrong name is found at once. `flag` is that of
    /// `--baseline`; `name` and `run` are those of the new run. `None`: no comparison, or no earlier run.
    pub(crate) fn choose(
        flag: Option<&str>,
        gate: Option<&Regression>,
        name: &str,
        run: &RunId,
    ) -> anyhow::Result<Option<Self>> {
        let Some(wanted) = flag.or_else(|| gate.map(|gate| gate.baseline.as_str())) else { return Ok(None) };
        let margin = gate.and_then(|gate| compared::margin(&gate.margin).ok()).unwrap_or(compare::MARGIN);
        let green = match wanted {
            LAST => false,
            LAST_GREEN => true,
            run => {
                let folder = compared::folder(run)?;
                return Ok(Some(Self { folder, margin, found: OnceLock::new(), history: Place::default() }));
            }
        };
        let folder = latest(Path::new(RUNS), name, run, green);
        if folder.is_none() {
            diagnostics::note(&format!("there is no {wanted} run {name:?} in {RUNS}/ yet, so nothing is compared"));
        }
        Ok(folder.map(|folder| Self { folder, margin, found: OnceLock::new(), history: Place::default() }))
    }

    pub(crate) fn with_history(self, history: Place) -> Self {
        Self { history, ..self }
    }

    /// Compares a run that is whole, and writes the comparison beside its report. `folder` has its `trials.jsonl`. `None`: the run is not
    /// whole, so it says nothing about a change.
    pub(crate) async fn compare(&self, folder: &Path, summary: &Summary) -> anyhow::Result<Option<Comparison>> {
        if summary.run.state != RunState::Finished {
            return Ok(None);
        }
        let (base, new) = (compared::of_folder(&self.folder)?, compared::with_trials(folder, summary)?);
        let mut found = compare::compare(&base, &new, self.margin);
        found.nights = nights::between(&self.history, &base, &new, &found).await;
        found.sentinels = sentinels::between((&self.folder, &base.run.id), (folder, &new.run.id));
        for (name, text) in [
            (JSON, report::compare::json(&found)),
            ("compare.md", report::compare::markdown(&found)),
            ("compare.html", report::compare::html(&found)?),
        ] {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        }
        // A report that is written again finds the same.
        Ok(Some(self.found.get_or_init(|| found).clone()))
    }

    /// Prints the comparison. Returns the exit code of the gates and of the comparison.
    pub(crate) fn gate(&self, folder: &Path, quiet: bool, exit: Exit) -> anyhow::Result<Exit> {
        let is_decided = matches!(exit, Exit::Held | Exit::GateFailed | Exit::NotEnoughEvidence);
        let Some(found) = self.found.get().filter(|_| is_decided) else { return Ok(exit) };
        if !quiet {
            let text = report::compare::terminal(found, screen());
            stdout::painted(&format!("\n{text}\ncompare {}\n", folder.join("compare.html").display()))?;
        }
        Ok(worst(exit, found.verdict))
    }
}

/// The comparison that was made when the run ended, for a report that is written again.
pub(crate) fn earlier(folder: &Path, run: &RunId) -> Option<Comparison> {
    let text = std::fs::read_to_string(folder.join(JSON)).ok()?;
    serde_json::from_str(&text).ok().filter(|found: &Comparison| found.new.id == run.as_str())
}

/// A failed gate comes before too little evidence.
fn worst(exit: Exit, found: CompareVerdict) -> Exit {
    match (exit, found) {
        (Exit::GateFailed, _) | (_, CompareVerdict::Worse) => Exit::GateFailed,
        (Exit::NotEnoughEvidence, _) | (_, CompareVerdict::CannotTell) => Exit::NotEnoughEvidence,
        (exit, CompareVerdict::Better | CompareVerdict::NotWorse) => exit,
    }
}

/// The folder of the latest finished run of this name that began before `run`.
fn latest(runs: &Path, name: &str, run: &RunId, green: bool) -> Option<PathBuf> {
    let folders = runs.read_dir().ok()?.flatten().map(|entry| entry.path());
    let read = |folder: PathBuf| -> Option<(Report, PathBuf)> {
        let text = std::fs::read_to_string(folder.join("report.json")).ok()?;
        Some((serde_json::from_str(&text).ok()?, folder))
    };
    folders
        .filter_map(read)
        .filter(|(Report { run: of, verdict }, _)| {
            let is_before = of.id != *run && second_of(&of.id).is_none_or(|second| Some(second) <= second_of(run));
            of.name == name && is_before && of.state == RunState::Finished && (!green || *verdict == RunVerdict::Pass)
        })
        .max_by(|(a, _), (b, _)| (&a.run.started_at, &a.run.id).cmp(&(&b.run.started_at, &b.run.id)))
        .map(|(_, folder)| folder)
}

/// `20260314-020000` of an id that gabfest made.
fn second_of(run: &RunId) -> Option<&str> {
    const LENGTH: usize = 15;
    run.as_str().get(..LENGTH).filter(|second| second.chars().all(|letter| letter.is_ascii_digit() || letter == '-'))
}

/// For commands that play elsewhere: they have no folder of earlier runs.
pub(crate) fn announce_unused(gate: Option<&Regression>) {
    if gate.is_some() {
        diagnostics::note(
            "gates.regression is for `gabfest run` and `gabfest resume`; compare this run's report with `gabfest compare`",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baseline_is_the_latest_earlier_run_of_the_name() {
        let place = tempfile::tempdir().unwrap();
        let write = |id: &str, name: &str, started: &str, state: &str, verdict: &str| {
            let folder = place.path().join(id);
            std::fs::create_dir(&folder).unwrap();
            let report = serde_json::json!({
                "run": { "id": id, "name": name, "started_at": started, "state": state }, "verdict": verdict,
            });
            std::fs::write(folder.join("report.json"), report.to_string()).unwrap();
        };
        write("20260101-000000-aaaa", "nightly", "2026-01-01T00:00:00Z", "finished", "PASS");
        write("20260102-000000-aaaa", "nightly", "2026-01-02T00:00:00Z", "finished", "FAIL");
        write("20260103-000000-aaaa", "other", "2026-01-03T00:00:00Z", "finished", "PASS");
        write("20260104-000000-aaaa", "nightly", "2026-01-04T00:00:00Z", "interrupted", "PASS");
        write("20260106-000000-aaaa", "nightly", "2026-01-06T00:00:00Z", "finished", "PASS");
        std::fs::create_dir(place.path().join("killed")).unwrap();
        let found = |name, run: &str, green| {
            latest(place.path(), name, &RunId::new(run), green).map(|folder| folder.file_name().unwrap().to_owned())
        };
        let now = "20260105-000000-aaaa";
        assert_eq!(found("nightly", now, false), Some("20260102-000000-aaaa".into()));
        assert_eq!(found("nightly", now, true), Some("20260101-000000-aaaa".into()));
        assert_eq!((found("new", now, false), found("nightly", "20260101-000000-aaaa", false)), (None, None));
    }

    #[test]
    fn a_failed_gate_comes_before_too_little_evidence() {
        use CompareVerdict::{Better, CannotTell, NotWorse, Worse};
        for (exit, found, both) in [
            (Exit::Held, NotWorse, Exit::Held),
            (Exit::Held, Better, Exit::Held),
            (Exit::Held, Worse, Exit::GateFailed),
            (Exit::Held, CannotTell, Exit::NotEnoughEvidence),
            (Exit::NotEnoughEvidence, Worse, Exit::GateFailed),
            (Exit::NotEnoughEvidence, NotWorse, Exit::NotEnoughEvidence),
            (Exit::GateFailed, CannotTell, Exit::GateFailed),
        ] {
            assert_eq!(worst(exit, found), both, "{exit:?} {found:?}");
        }
    }
}
