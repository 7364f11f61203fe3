//! `gabfest export`: a run as Parquet files.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use record::{count, summary::RunState};
use scenario::RunId;
use store::{Engine, Postgres, Store as _};

use crate::{
    client,
    command::store_files,
    embedded,
    exit::{Exit, usage},
    exporting::{FromCoordinator, FromStore, Source, export as write, place},
    finish,
    patience::Patience,
    remote, report_files,
    run_folder::{RUNS, RunFolder},
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run's folder, or its id
    run: String,
    /// The folder or bucket that gets the files: a path, s3://…, gs://… or az://…; `{run}` is the run's id
    /// [default: `export` in the run's folder]. Credentials come from the environment
    #[arg(short, long, value_name = "PLACE")]
    out: Option<String>,
    /// Get the run from this coordinator; a run in a local folder takes precedence
    #[arg(long, value_name = "URL", env = "GABFEST_COORDINATOR")]
    coordinator: Option<String>,
    #[command(flatten)]
    identity: remote::Identity,
    /// Get the run from this store of a coordinator: `postgres://…`, also while it is in use, or the file of one that has ended
    #[arg(long, value_name = "URL|PATH", hide_env_values = true)]
    store: Option<String>,
}

/// How long a coordinator may be away while its run is read.
const AWAY_SECONDS: u64 = 120;

pub(crate) async fn export(args: Args) -> anyhow::Result<Exit> {
    let coordinator = store_files::coordinator(args.coordinator.as_deref(), args.store.as_deref())?;
    if let Some(address) = &args.store {
        let run = RunId::new(args.run.clone());
        let out = usual(Path::new(RUNS).join(&args.run), &args);
        if Engine::is_postgres(address) {
            let store = Postgres::read(address).await.context("failed to open the store")?;
            known(store.run(&run).await?.is_some(), &run)?;
            return of_source(FromStore::new(Arc::new(store), run.clone(), false), &run, &out).await;
        }
        let store = Arc::new(store_files::open(Path::new(address)).await?);
        known(store.run(&run).await?.is_some(), &run)?;
        return of_source(FromStore::new(store, run.clone(), true), &run, &out).await;
    }
    if let Some(address) = coordinator.filter(|_| !RunFolder::exists(&args.run)) {
        let mut client = client::of(remote::connect(address, &args.identity).await?);
        let folder = RunFolder::with_report(&args.run);
        let run = match &folder {
            Some(folder) => report_files::summary(folder)?.run.id,
            None => RunId::new(args.run.clone()),
        };
        let patience = Patience::seconds(AWAY_SECONDS);
        finish::summary(&mut client, &run, patience).await?;
        let out = usual(folder.unwrap_or_else(|| Path::new(RUNS).join(run.as_str())), &args);
        return of_source(FromCoordinator::new(client, run.clone(), patience), &run, &out).await;
    }
    let folder = RunFolder::find(&args.run)?;
    let store = embedded::open(&folder.store()).await?;
    let Some((run, _)) = embedded::only_run(&store).await? else {
        return Err(usage(anyhow!("the run in {} was stopped before it began", folder.path.display())));
    };
    let out = usual(folder.path, &args);
    of_source(FromStore::new(store, run.clone(), true), &run, &out).await
}

fn usual(folder: PathBuf, args: &Args) -> String {
    args.out.clone().unwrap_or_else(|| folder.join("export").display().to_string())
}

fn known(is_known: bool, run: &RunId) -> anyhow::Result<()> {
    if is_known { Ok(()) } else { Err(usage(anyhow!("the store has no run {run}"))) }
}

async fn of_source(mut source: impl Source, run: &RunId, out: &str) -> anyhow::Result<Exit> {
    if source.summary().await?.run.state == RunState::Running {
        return Err(usage(anyhow!(
            "run {run} is still being played\nhint: wait for its end; `gabfest coordinator --export` exports runs when they end"
        )));
    }
    let place = place(out, run.as_str())?;
    let shown = place.to_string();
    let manifest = write(&mut source, place).await.with_context(|| format!("failed to export run {run}"))?;
    let bytes: u64 = manifest.files().map(|file| file.bytes).sum();
    for (table, of) in &manifest.tables {
        stdout::line(&format!("{table:<10} {:>12} rows", count::digits(of.rows)))?;
    }
    stdout::line(&format!("{shown}/{}   {:.1} MB", lake::MANIFEST, bytes as f64 / 1e6))?;
    Ok(Exit::Held)
}
