//! What a coordinator does with runs that ended: exports them, and deletes old ones.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use anyhow::Context as _;
use lake::Manifest;
use record::summary::RunState;
use scenario::RunId;
use store::{Engine, RunRow, Store as _};
use tokio_util::sync::CancellationToken;

use crate::{
    clock,
    exporting::{FromStore, export, place},
    retention::{Candidate, Rules},
};

/// Between two looks at the runs.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// A run that could not be exported is tried again after so many looks.
const LOOKS_AFTER_FAILURE: u32 = 12;

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Runs that ended")]
pub(super) struct EndedRuns {
    /// Write each finished run as Parquet files to this folder or bucket (`s3://…`, `gs://…`, `az://…`), which has `{run}` in it
    /// for the run's id
    #[arg(long, value_name = "PLACE", env = "GABFEST_EXPORT", value_parser = with_run)]
    export: Option<String>,
    #[command(flatten)]
    rules: Rules,
}

fn with_run(text: &str) -> Result<String, String> {
    if text.contains("{run}") { Ok(text.to_owned()) } else { Err("write {run} where the run's id belongs".to_owned()) }
}

impl EndedRuns {
    /// That the place can be used.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        match &self.export {
            // A folder is made for each run, and none to look at it.
            Some(text) if text.contains("://") => place(text, "check").map(drop),
            _ => Ok(()),
        }
    }
}

/// Until the coordinator drains. A run is deleted only after its export.
pub(super) async fn keep(store: Arc<Engine>, args: EndedRuns, drain: CancellationToken) {
    // What a killed coordinator did not finish.
    coordinator::sweep(Arc::clone(&store)).await;
    if args.export.is_none() && args.rules.is_empty() {
        return;
    }
    let mut keeper = Keeper { store, args, exported: BTreeSet::new(), waits: 0 };
    while !drain.is_cancelled() {
        if let Err(error) = keeper.look().await {
            tracing::warn!("failed to look after runs that ended: {error:#}");
        }
        tokio::select! {
            () = drain.cancelled() => {}
            () = tokio::time::sleep(BETWEEN_LOOKS) => {}
        }
    }
}

struct Keeper {
    store: Arc<Engine>,
    args: EndedRuns,
    /// With when they ended: a resumed run ends again.
    exported: BTreeSet<(RunId, Option<i64>)>,
    /// Looks until an export is tried again.
    waits: u32,
}

impl Keeper {
    async fn look(&mut self) -> anyhow::Result<()> {
        let rows = self.store.runs().await?;
        if let Some(to) = self.args.export.clone().filter(|_| self.waits == 0) {
            for row in rows.iter().filter(|row| row.state == RunState::Finished) {
                if let Err(error) = self.export(&to, row).await {
                    tracing::warn!(run = %row.id, "{}", redact::redact(&format!("{error:#}")));
                    self.waits = LOOKS_AFTER_FAILURE;
                    break;
                }
            }
        }
        self.waits = self.waits.saturating_sub(1);
        let candidate = |row: &RunRow| Candidate { run: row.clone(), started_at: row.started_at, state: row.state };
        for row in self.args.rules.choose(rows.iter().map(candidate).collect(), clock::now_millis()) {
            let is_due = self.args.export.is_some() && row.state == RunState::Finished;
            if is_due && !self.exported.contains(&(row.id.clone(), row.ended_at)) {
                continue;
            }
            match self.store.delete_run(&row.id).await {
                Ok(()) => tracing::info!(run = %row.id, "an old run is deleted"),
                // A worker still holds trials of it, or somebody deleted it.
                Err(store::Error::Running(_) | store::Error::UnknownRun(_)) => {}
                Err(error) => return Err(error).context("failed to delete an old run"),
            }
        }
        coordinator::sweep(Arc::clone(&self.store)).await;
        Ok(())
    }

    /// An export that is there already is not written again, by this coordinator or the next.
    async fn export(&mut self, to: &str, row: &RunRow) -> anyhow::Result<()> {
        let key = (row.id.clone(), row.ended_at);
        if self.exported.contains(&key) {
            return Ok(());
        }
        let place = place(to, row.id.as_str())?;
        let there = Manifest::at(&place).await.context("failed to look at the place of the export")?;
        let is_there = there.is_some_and(|there| {
            there.run.id == row.id.as_str() && there.run.ended_at_ms == row.ended_at && there.run.state == row.state
        });
        if !is_there {
            let shown = place.to_string();
            let mut source = FromStore::new(Arc::clone(&self.store), row.id.clone(), false);
            export(&mut source, place).await.with_context(|| format!("failed to export to {shown}"))?;
            tracing::info!(run = %row.id, place = shown, "a run is exported");
        }
        self.exported.insert(key);
        Ok(())
    }
}
