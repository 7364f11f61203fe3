//! `export` in `gabfest.yaml` and `--export`: a run is exported when it ends.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, anyhow};
use record::summary::RunState;
use scenario::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FromStore, Source as _, export, of_place, place};
use crate::{diagnostics, embedded, exit::Exit, run_folder::RunFolder, stdout};

/// The place of an export unless one is named: in the run's folder.
const USUAL: &str = "export";

/// The settings file: where runs are exported to when they end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    /// The folder or bucket of each run's export: `exports/{run}`, `s3://bucket/gabfest/{run}`. `{run}` stands for the run's
    /// id (`export` in the run's folder).
    pub(crate) to: Option<String>,
    /// Which runs are exported: `finished`, or `ended`, which are those that were interrupted too (`finished`).
    pub(crate) when: When,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum When {
    #[default]
    Finished,
    Ended,
}

impl When {
    pub(crate) fn wants(self, state: RunState) -> bool {
        match self {
            Self::Finished => state == RunState::Finished,
            Self::Ended => state != RunState::Running,
        }
    }
}

/// The flag.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ExportTo {
    /// Write the finished run as Parquet files to this folder or bucket (`s3://…`, `gs://…`, `az://…`); `{run}` is its id
    /// [default: `export` in the run's folder]
    #[arg(long, value_name = "PLACE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    export: Option<String>,
}

impl ExportTo {
    /// Before anything is played: that the place can be used, and holds no other run.
    pub(crate) async fn check(&self, settings: Option<&Settings>, run: &RunId) -> anyhow::Result<()> {
        let Some(to) = self.chosen(settings).and_then(|(to, _)| to) else { return Ok(()) };
        let place = place(&to, run.as_str())?;
        match lake::Manifest::at(&place).await.map_err(of_place)? {
            Some(there) if there.run.id != run.as_str() => {
                Err(of_place(lake::Error::Taken { place: place.to_string(), run: there.run.id }))
            }
            _ => Ok(()),
        }
    }

    /// Exports the run in a folder as the flag or the settings say. The run keeps its exit code if the export fails, except
    /// that a run whose gates held is not 0.
    pub(crate) async fn at_end(
        &self,
        settings: Option<&Settings>,
        folder: &RunFolder,
        quiet: bool,
        exit: anyhow::Result<Exit>,
    ) -> anyhow::Result<Exit> {
        let (Some((to, when)), Ok(ended)) = (self.chosen(settings), &exit) else { return exit };
        match of_folder(&folder.path, to.as_deref(), when, quiet).await {
            Ok(()) => exit,
            Err(error) if *ended == Exit::Held => Err(error),
            Err(error) => {
                diagnostics::print_error(&error);
                exit
            }
        }
    }

    /// The flag takes precedence. `None`: nothing is exported.
    fn chosen(&self, settings: Option<&Settings>) -> Option<(Option<String>, When)> {
        let some = |to: String| Some(to).filter(|to| !to.is_empty());
        let when = settings.map_or(When::default(), |settings| settings.when);
        match (&self.export, settings) {
            (Some(to), _) => Some((some(to.clone()), when)),
            (None, Some(settings)) => Some((settings.to.clone(), when)),
            (None, None) => None,
        }
    }
}

async fn of_folder(folder: &Path, to: Option<&str>, when: When, quiet: bool) -> anyhow::Result<()> {
    let store = embedded::open(&RunFolder { path: folder.to_path_buf() }.store()).await?;
    let Some((run, _)) = embedded::only_run(&store).await? else { return Ok(()) };
    let mut source = FromStore::new(Arc::clone(&store), run.clone(), true);
    let exported = async {
        if !when.wants(source.summary().await?.run.state) {
            return Ok(());
        }
        let text = to.map_or_else(|| folder.join(USUAL).display().to_string(), str::to_owned);
        let place = place(&text, run.as_str())?;
        let shown = place.to_string();
        export(&mut source, place).await.with_context(|| format!("failed to export the run to {shown}"))?;
        if !quiet {
            stdout::line(&format!("export  {shown}/{}", lake::MANIFEST))?;
        }
        anyhow::Ok(())
    };
    let exported = exported.await;
    drop(source);
    if let Ok(store) = Arc::try_unwrap(store) {
        store.close().await?;
    }
    exported.map_err(|error| {
        anyhow!("{}\nhint: `gabfest export {}` exports it later", diagnostics::error_text(&error), folder.display())
    })
}
