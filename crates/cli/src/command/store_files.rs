//! The file of a coordinator's store, as people name it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use store::{Error, Sqlite};

use crate::exit::usage;

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

/// Opens it, and brings it to this version's schema.
pub(crate) async fn open(named: &Path) -> anyhow::Result<Sqlite> {
    let path = path(named)?;
    match Sqlite::open(&path).await {
        Err(error @ Error::InUse(_)) => {
            Err(usage(anyhow!("{error}\nhint: name the coordinator that has it open with --coordinator URL")))
        }
        opened => opened.with_context(|| format!("failed to open {}", path.display())),
    }
}
