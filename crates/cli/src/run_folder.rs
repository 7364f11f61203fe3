//! A run's folder: how its store and report are found by id or by path, and how a run starts in it.
//!
//! A run writes its plan to the folder, then creates its store, and removes the plan once the store has the run. If the
//! process is killed in between, `gabfest run` can start again in the folder, and `gabfest resume` plays the plan if it
//! is there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use scenario::{Plan, RunId};
use serde_json::{Value, json};
use store::{Sqlite, Store as _};

use crate::exit::usage;

/// The folder of runs unless `--out` is set.
pub(crate) const RUNS: &str = "gabfest-runs";
const STORE: &str = "run.db";
/// The plan of a run that may not be in its store yet.
const BEGUN: &str = "begun.json";

#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
}

impl RunFolder {
    /// Creates the folder of a new run and stores its plan there. Refuses a folder that has a run.
    pub(crate) async fn begin(run: &RunId, plan: &Plan, out: Option<&Path>) -> anyhow::Result<Self> {
        let path = out.map_or_else(|| Path::new(RUNS).join(run.as_str()), Path::to_path_buf);
        refuse_file(&path)?;
        let folder = Self { path };
        if folder.store().exists() && folder.holds_a_run().await? {
            return Err(usage(anyhow!(
                "{} holds a run already\nhint: continue it with `gabfest resume {0}`, or choose another --out",
                folder.path.display()
            )));
        }
        fs::create_dir_all(&folder.path).map_err(|error| folder.unwritable("make the run's folder", &error))?;
        let begun = json!({ "run": run.as_str(), "plan": plan.to_json() }).to_string();
        write_whole(&folder.path, BEGUN, &begun).map_err(|error| folder.unwritable("write the plan to", &error))?;
        Ok(folder)
    }

    fn unwritable(&self, what: &str, error: &io::Error) -> anyhow::Error {
        let path = self.path.display();
        usage(anyhow!("failed to {what} {path}: {error}\nhint: name another folder with --out"))
    }

    /// Whether the store has a run. A run that was killed at its start has left an empty store.
    async fn holds_a_run(&self) -> anyhow::Result<bool> {
        let store = match Sqlite::open(&self.store()).await {
            // Another process has it open, so it has a run or is about to.
            Err(store::Error::InUse(_)) => return Ok(true),
            store => store.with_context(|| format!("failed to open {}", self.store().display()))?,
        };
        let runs = store.runs().await?;
        store.close().await?;
        Ok(!runs.is_empty())
    }

    /// The run that was started here and may not be in the store.
    pub(crate) fn begun(&self) -> anyhow::Result<Option<(RunId, Plan)>> {
        let text = match fs::read_to_string(self.path.join(BEGUN)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("failed to read {BEGUN} of {}", self.path.display()))?,
        };
        let begun: Value = serde_json::from_str(&text)
            .with_context(|| format!("failed to read {BEGUN} of {}", self.path.display()))?;
        let (Some(run), Some(plan)) = (begun["run"].as_str(), begun["plan"].as_str()) else {
            return Err(anyhow!("{BEGUN} of {} names no run and no plan", self.path.display()));
        };
        let plan = Plan::from_json(plan).context("failed to read the plan")?;
        Ok(Some((RunId::new(run), plan)))
    }

    /// The store has the run.
    pub(crate) fn is_stored(&self) {
        // A leftover plan is ignored, because the store comes first.
        let _ = fs::remove_file(self.path.join(BEGUN));
    }

    /// Finds a run by its folder, or by its id in the default folder.
    pub(crate) fn find(run: &str) -> anyhow::Result<Self> {
        let folders = [PathBuf::from(run), Path::new(RUNS).join(run)].map(|path| Self { path });
        if let Some(folder) = folders.iter().find(|folder| folder.is_begun()) {
            return Ok(folder.clone());
        }
        let hint = match folders.iter().find(|folder| folder.path.is_dir()) {
            None => format!("name a run's folder, or an id below {RUNS}/"),
            Some(folder) => folder.hint_to_begin(),
        };
        Err(usage(anyhow!("there is no run {run:?}\nhint: {hint}")))
    }

    /// Whether a run was begun here.
    pub(crate) fn is_begun(&self) -> bool {
        self.store().is_file() || self.path.join(BEGUN).is_file()
    }

    /// For a folder without a run that can be resumed.
    pub(crate) fn hint_to_begin(&self) -> String {
        format!("no run has begun in {0}; `gabfest run … --out {0}` begins one there", self.path.display())
    }

    /// The folder that holds the report of a run, and perhaps not its store: `submit --watch` and `watch` write such.
    pub(crate) fn with_report(run: &str) -> Option<PathBuf> {
        [PathBuf::from(run), Path::new(RUNS).join(run)].into_iter().find(|path| path.join("report.json").is_file())
    }

    /// Whether this machine has a run of that name.
    pub(crate) fn exists(run: &str) -> bool {
        Self::find(run).is_ok()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }
}

/// That this place can be a run's folder.
pub(crate) fn refuse_file(path: &Path) -> anyhow::Result<()> {
    if path.exists() && !path.is_dir() {
        return Err(usage(anyhow!("{} is not a folder\nhint: name a folder with --out", path.display())));
    }
    Ok(())
}

/// Writes a file completely or not at all.
fn write_whole(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let part = folder.join(format!(".{name}.part"));
    fs::write(&part, text)?;
    fs::rename(part, folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_not_written_over_a_file() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("out");
        fs::write(&file, "mine").unwrap();
        let error = refuse_file(&file).unwrap_err().to_string();
        assert!(error.ends_with("/out is not a folder\nhint: name a folder with --out"), "{error}");
        assert!(refuse_file(place.path()).is_ok() && refuse_file(&place.path().join("new")).is_ok());
    }
}
