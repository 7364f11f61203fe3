//! The file of a coordinator's store, as people name it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use store::{Error, Sqlite};

use crate::exit::usage;

const COORDINATOR: &str = "GABFEST_COORDINATOR";
/// The names of stores in folders: of a coordinator, of a run.
const NAMES: [&str; 2] = ["gabfest.db", "run.db"];

/// A file, or the folder of a coordinator or a run.
pub(crate) fn path(named: &Path) -> anyhow::Result<PathBuf> {
    let inside = NAMES.map(|name| named.join(name));
    let found = inside.iter().map(PathBuf::as_path).chain([named]).find(|path| path.is_file());
    found.map(Path::to_path_buf).ok_or_else(|| {
        usage(anyhow!(
            "there is no store {}\nhint: name its file, its folder, or a postgres:// address",
            named.display()
        ))
    })
}

/// The coordinator that is meant: `--store` wins over the variable, which names one for all commands.
pub(crate) fn coordinator<'a>(coordinator: Option<&'a str>, store: Option<&str>) -> anyhow::Result<Option<&'a str>> {
    let is_variable = |address: &str| std::env::var(COORDINATOR).is_ok_and(|variable| variable == address);
    match (coordinator, store) {
        (Some(address), Some(_)) if is_variable(address) => Ok(None),
        (Some(_), Some(_)) => {
            Err(usage(anyhow!("--store and --coordinator name two places\nhint: leave out one of them")))
        }
        (coordinator, _) => Ok(coordinator),
    }
}

/// Opens it, and brings it to this version's schema.
pub(crate) async fn open(named: &Path) -> anyhow::Result<Sqlite> {
    let path = path(named)?;
    match Sqlite::open(&path).await {
        Err(error @ Error::InUse(_)) => Err(usage(anyhow!(
            "{error}\nhint: stop the coordinator or the run that has it open; `gabfest report` and `gabfest export` read from a coordinator (--coordinator URL)"
        ))),
        opened => opened.with_context(|| format!("failed to open {}", path.display())),
    }
}
