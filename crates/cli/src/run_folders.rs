//! The folders of runs: which there are, and deleting them. Their history is a file of its own and stays.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use chrono::DateTime;
use record::summary::RunState;

use crate::{
    clock, diagnostics,
    exit::usage,
    retention::{Candidate, Rules},
    run_folder::RunFolder,
    settings::Settings,
};

/// The runs in a folder. One that is being played, by any process, is running.
pub(crate) fn in_folder(dir: &Path) -> anyhow::Result<Vec<Candidate<PathBuf>>> {
    let mut runs = Vec::new();
    let entries = match dir.read_dir() {
        Ok(entries) => entries,
        Err(error) => return Err(usage(anyhow!("there are no runs in {}: {error}", dir.display()))),
    };
    for entry in entries {
        let path = entry.with_context(|| format!("failed to read {}", dir.display()))?.path();
        if path.is_symlink() || !is_run(&path) {
            continue;
        }
        let state = if is_in_use(&path)? { RunState::Running } else { RunState::Finished };
        runs.push(Candidate { started_at: started_at(&path)?, run: path, state });
    }
    Ok(runs)
}

/// A run by its folder or its id.
pub(crate) fn named(run: &str, dir: &Path) -> anyhow::Result<PathBuf> {
    let found = [PathBuf::from(run), dir.join(run)].into_iter().find(|path| is_run(path));
    let Some(path) = found else {
        return Err(usage(anyhow!(
            "there is no run {run:?}\nhint: name a run's folder, or an id below {}",
            dir.display()
        )));
    };
    if is_in_use(&path)? {
        return Err(usage(anyhow!("the run in {} is being played, so it is not deleted", path.display())));
    }
    Ok(path)
}

/// Deletes a folder with everything in it. Its store goes last, so that a deletion that broke off can be repeated.
pub(crate) fn delete(folder: &Path) -> anyhow::Result<()> {
    let failed = || format!("failed to delete {}", folder.display());
    let store = RunFolder { path: folder.to_path_buf() }.store();
    for entry in folder.read_dir().with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path == store || is_report(&path) {
            continue;
        }
        let removed =
            if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.with_context(failed)?;
    }
    fs::remove_dir_all(folder).with_context(failed)
}

fn is_report(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "report.json")
}

fn is_run(path: &Path) -> bool {
    path.is_dir() && (path.join("report.json").is_file() || RunFolder { path: path.to_path_buf() }.is_begun())
}

/// Whether a process has the run's store open.
fn is_in_use(folder: &Path) -> anyhow::Result<bool> {
    let lock = RunFolder { path: folder.to_path_buf() }.store().with_extension("db.lock");
    let Ok(file) = File::options().write(true).open(&lock) else { return Ok(false) };
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("failed to look at {}", lock.display())),
    }
}

/// What the settings say about folders of earlier runs.
#[derive(Debug)]
pub(crate) struct Retention(Rules);

impl Retention {
    /// # Errors
    /// The settings have no valid age.
    pub(crate) fn of(settings: &Settings) -> anyhow::Result<Self> {
        let rules = settings.retention.as_ref().map(Rules::of_settings).transpose();
        let rules = rules.map_err(|reason| usage(anyhow!("retention.older_than in the settings: {reason}")))?;
        Ok(Self(rules.unwrap_or_default()))
    }

    /// Deletes folders of earlier runs at the end of one. A folder that cannot be deleted changes nothing about the run.
    pub(crate) fn apply(&self, dir: &Path, own: &Path) {
        let Self(rules) = self;
        if rules.is_empty() {
            return;
        }
        let deleted = || {
            for folder in rules.choose(in_folder(dir)?, clock::now_millis()) {
                if folder != own {
                    delete(&folder)?;
                    tracing::info!(folder = %folder.display(), "an old run is deleted");
                }
            }
            anyhow::Ok(())
        };
        if let Err(error) = deleted() {
            diagnostics::warn(&format!("old runs are not deleted: {}", diagnostics::error_text(&error)));
        }
    }
}

/// As its report says, or its files.
fn started_at(folder: &Path) -> anyhow::Result<i64> {
    let report = fs::read_to_string(folder.join("report.json")).ok();
    let report = report.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let written = report.as_ref().and_then(|report| report.pointer("/run/started_at")?.as_str());
    if let Some(at) = written.and_then(|text| DateTime::parse_from_rfc3339(text).ok()) {
        return Ok(at.timestamp_millis());
    }
    let at = fs::metadata(folder).and_then(|of| of.modified());
    let at = at.with_context(|| format!("failed to look at {}", folder.display()))?;
    let since = at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Ok(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
