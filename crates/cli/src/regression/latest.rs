//! The latest earlier run of a name, for `last` and `last-green`. A run that should be there and is not, or that cannot be read, is never
//! the same as no run: that would turn the gate off.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use history::History;
use record::summary::{RunState, RunVerdict};
use scenario::RunId;
use serde::Deserialize;
use statistics::{compare::found::CompareVerdict, nights::NightRun};

use super::earlier;
use crate::{diagnostics, exit::usage, history_file::Place};

/// Which run is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    /// The new run. Only runs that began before it are earlier ones.
    pub(super) run: &'a RunId,
    /// All gates held.
    pub(super) green: bool,
}

/// What the choice needs of a `report.json`.
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

/// An earlier run of the name.
#[derive(Debug)]
struct Earlier {
    /// The digits of the second in which it began, then its id.
    began: (String, String),
    state: Found,
}

#[derive(Debug)]
enum Found {
    Whole(PathBuf),
    Broken(PathBuf, String),
    /// The history has it, and its folder is not there.
    Gone,
}

/// The folder of the latest finished run that is wanted. `None`: there is none yet.
pub(super) async fn find(runs: &Path, wanted: Wanted<'_>, history: &Place) -> anyhow::Result<Option<PathBuf>> {
    choose(all(runs, wanted, &known(history).await), runs)
}

/// A history that cannot be read is a warning at the end of the run.
async fn known(history: &Place) -> Vec<NightRun> {
    let Some(path) = history.path().filter(|path| path.is_file()) else { return Vec::new() };
    let Ok(mut history) = History::read(&path).await else { return Vec::new() };
    let runs = history.runs().await.unwrap_or_default();
    let _ = history.close().await;
    runs
}

fn choose(mut all: Vec<Earlier>, runs: &Path) -> anyhow::Result<Option<PathBuf>> {
    all.sort_by(|a, b| b.began.cmp(&a.began));
    let mut gone = None;
    for Earlier { began: (_, id), state } in all {
        match (state, gone.take()) {
            (Found::Broken(folder, why), _) => {
                let folder = folder.display();
                return Err(usage(anyhow!(
                    "the latest earlier run cannot be read: {folder}/report.json: {why}\nhint: `gabfest report {folder}` writes it again if the folder has run.db; or delete the folder, or name another run with --baseline RUN"
                )));
            }
            (Found::Gone, latest) => gone = Some(latest.unwrap_or(id)),
            (Found::Whole(folder), Some(latest)) => {
                diagnostics::warn_always(&format!(
                    "the run {latest} is in the history and not in {}/, so this run is compared with the one before it, {}",
                    runs.display(),
                    folder.display()
                ));
                return Ok(Some(folder));
            }
            (Found::Whole(folder), None) => return Ok(Some(folder)),
        }
    }
    gone.map_or(Ok(None), |id| {
        Err(usage(anyhow!(
            "there is nothing to compare with: the run {id} is in the history and not in {}/\nhint: put its folder back, or name a run's folder with --baseline; --history none compares from the next run on",
            runs.display()
        )))
    })
}

/// The earlier runs in the folder and in the history.
fn all(runs: &Path, wanted: Wanted<'_>, known: &[NightRun]) -> Vec<Earlier> {
    let mut found = Vec::new();
    let mut there = BTreeSet::new();
    for folder in runs.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()) {
        let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match read(&folder) {
            Ok(None) => {}
            Ok(Some(Report { run, verdict })) => {
                there.insert(run.id.as_str().to_owned());
                let is_green = || verdict == RunVerdict::Pass && is_not_worse(&folder, &run.id);
                if run.name == wanted.name
                    && wanted.is_after(run.id.as_str())
                    && run.state == RunState::Finished
                    && (!wanted.green || is_green())
                {
                    let began = (digits(&run.started_at), run.id.as_str().to_owned());
                    found.push(Earlier { began, state: Found::Whole(folder) });
                }
            }
            Err(why) => {
                there.insert(id.clone());
                let night = known.iter().find(|night| night.id == id);
                if wanted.is_after(&id) && night.is_none_or(|night| wanted.is(night)) {
                    // A run of an unknown time could be the latest.
                    let second = second_of(&id).map_or_else(|| "9".to_owned(), digits);
                    found.push(Earlier { began: (second, id), state: Found::Broken(folder, why) });
                }
            }
        }
    }
    let gone =
        known.iter().filter(|night| !there.contains(&night.id) && wanted.is_after(&night.id) && wanted.is(night));
    found
        .extend(gone.map(|night| Earlier { began: (digits(&night.started_at), night.id.clone()), state: Found::Gone }));
    found
}

impl Wanted<'_> {
    fn is(&self, night: &NightRun) -> bool {
        let is_green = night.exit_code == 0 && night.verdict == RunVerdict::Pass;
        night.name == self.name && night.state == RunState::Finished && (!self.green || is_green)
    }

    fn is_after(&self, id: &str) -> bool {
        id != self.run.as_str() && second_of(id).is_none_or(|second| Some(second) <= second_of(self.run.as_str()))
    }
}

/// `None`: the folder has no report. The error says what is wrong with it.
fn read(folder: &Path) -> Result<Option<Report>, String> {
    match std::fs::read_to_string(folder.join("report.json")) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| error.to_string()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The comparison is one of the gates. The verdict in reports of earlier versions does not contain it.
fn is_not_worse(folder: &Path, run: &RunId) -> bool {
    earlier(folder, run).is_none_or(|found| matches!(found.verdict, CompareVerdict::Better | CompareVerdict::NotWorse))
}

/// `20260314-020000` of an id that gabfest made.
fn second_of(id: &str) -> Option<&str> {
    const LENGTH: usize = 15;
    id.get(..LENGTH).filter(|second| second.chars().all(|letter| letter.is_ascii_digit() || letter == '-'))
}

/// `20260314020000` of `2026-03-14T02:00:00.123Z` and of `20260314-020000`.
fn digits(time: &str) -> String {
    const LENGTH: usize = 14;
    time.chars().filter(char::is_ascii_digit).take(LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(runs: &Path, id: &str, name: &str, started: &str, state: &str, verdict: &str) {
        let folder = runs.join(id);
        std::fs::create_dir(&folder).unwrap();
        let report = serde_json::json!({
            "run": { "id": id, "name": name, "started_at": started, "state": state }, "verdict": verdict,
        });
        std::fs::write(folder.join("report.json"), report.to_string()).unwrap();
    }

    fn found(runs: &Path, name: &str, run: &str, green: bool) -> Result<Option<String>, String> {
        let run = RunId::new(run);
        let folder = choose(all(runs, Wanted { name, run: &run, green }, &[]), runs);
        let id = |folder: PathBuf| folder.file_name().unwrap().to_string_lossy().into_owned();
        folder.map(|folder| folder.map(id)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_baseline_is_the_latest_earlier_run_of_the_name() {
        let place = tempfile::tempdir().unwrap();
        let runs = place.path();
        write(runs, "20260101-000000-aaaa", "nightly", "2026-01-01T00:00:00Z", "finished", "PASS");
        write(runs, "20260102-000000-aaaa", "nightly", "2026-01-02T00:00:00Z", "finished", "FAIL");
        write(runs, "20260103-000000-aaaa", "other", "2026-01-03T00:00:00Z", "finished", "PASS");
        write(runs, "20260104-000000-aaaa", "nightly", "2026-01-04T00:00:00Z", "interrupted", "PASS");
        write(runs, "20260106-000000-aaaa", "nightly", "2026-01-06T00:00:00Z", "finished", "PASS");
        std::fs::create_dir(runs.join("killed")).unwrap();
        let now = "20260105-000000-aaaa";
        assert_eq!(found(runs, "nightly", now, false), Ok(Some("20260102-000000-aaaa".into())));
        assert_eq!(found(runs, "nightly", now, true), Ok(Some("20260101-000000-aaaa".into())));
        assert_eq!(found(runs, "new", now, false), Ok(None));
        assert_eq!(found(runs, "nightly", "20260101-000000-aaaa", false), Ok(None));
        // A run that cannot be read is an error if it could be the latest.
        std::fs::write(runs.join("20260101-000000-aaaa/report.json"), "{").unwrap();
        assert_eq!(found(runs, "nightly", now, false), Ok(Some("20260102-000000-aaaa".into())));
        let error = found(runs, "nightly", now, true).unwrap_err();
        assert!(error.contains("20260101-000000-aaaa/report.json: EOF") && error.contains("hint: "), "{error}");
    }
}
