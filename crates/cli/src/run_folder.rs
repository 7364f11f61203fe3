//! A run's folder: where its store and its report are, found by id or by path.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use scenario::RunId;

use crate::exit::usage;

/// Where runs are kept unless `--out` says otherwise.
pub(crate) const RUNS: &str = "gabfest-runs";
const STORE: &str = "run.db";

#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
}

impl RunFolder {
    /// Makes the folder of a new run.
    pub(crate) fn create(run: &RunId, out: Option<&Path>) -> anyhow::Result<Self> {
        let path = out.map_or_else(|| Path::new(RUNS).join(run.as_str()), Path::to_path_buf);
        let folder = Self { path };
        if folder.store().exists() {
            return Err(usage(anyhow!(
                "{} holds a run already\nhint: go on with it by `gabfest resume {0}`, or choose another --out",
                folder.path.display()
            )));
        }
        std::fs::create_dir_all(&folder.path)
            .map_err(|error| anyhow!("failed to make the run's folder {}: {error}", folder.path.display()))?;
        Ok(folder)
    }

    /// Finds a run by its folder, or by its id among the usual runs.
    pub(crate) fn find(run: &str) -> anyhow::Result<Self> {
        for path in [PathBuf::from(run), Path::new(RUNS).join(run)] {
            let folder = Self { path };
            if folder.store().is_file() {
                return Ok(folder);
            }
        }
        Err(usage(anyhow!("there is no run {run:?}\nhint: name a run's folder, or an id below {RUNS}/")))
    }

    /// The folder that holds the report of a run, and perhaps not its store: `submit --watch` and `watch` write such.
    pub(crate) fn with_report(run: &str) -> Option<PathBuf> {
        [PathBuf::from(run), Path::new(RUNS).join(run)].into_iter().find(|path| path.join("report.json").is_file())
    }

    /// Whether a run is kept on this machine under that name.
    pub(crate) fn exists(run: &str) -> bool {
        Self::find(run).is_ok()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }
}
