//! `gabfest runs delete`: deletes runs by name, number or age, in a folder, on a coordinator or in its store.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use proto::v1;
use record::summary::RunState;
use scenario::RunId;
use store::{Engine, Held as _, Postgres, Store};

use crate::{
    client::{self, Client},
    clock,
    command::store_files,
    exit::{Exit, usage},
    observed, refusal, remote,
    retention::{Candidate, Rules},
    run_folder::RUNS,
    run_folders, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Runs, by folder or id; or choose them with --keep-last and --older-than
    #[arg(value_name = "RUN", conflicts_with_all = ["keep_last", "older_than"])]
    runs: Vec<String>,
    #[command(flatten)]
    rules: Rules,
    /// The folder of the runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    dir: PathBuf,
    /// Delete runs of this coordinator instead
    #[arg(long, value_name = "URL", env = "GABFEST_COORDINATOR")]
    coordinator: Option<String>,
    #[command(flatten)]
    identity: remote::Identity,
    /// Delete runs in this store, which no coordinator has open, instead: `postgres://…` or a file
    #[arg(long, value_name = "URL|PATH", hide_env_values = true)]
    store: Option<String>,
    /// Print which runs would be deleted, and delete none
    #[arg(long)]
    dry_run: bool,
}

/// Rows of a deleted run that are removed in one transaction.
const SWEPT_ROWS: u32 = 2_000;

pub(crate) async fn delete(args: Args) -> anyhow::Result<Exit> {
    if args.runs.is_empty() && args.rules.is_empty() {
        return Err(usage(anyhow!(
            "no run is named\nhint: name runs, or choose them with --keep-last or --older-than"
        )));
    }
    let coordinator = store_files::coordinator(args.coordinator.as_deref(), args.store.as_deref())?;
    match (coordinator, &args.store) {
        (Some(address), _) => {
            let client = client::of(remote::connect(address, &args.identity).await?);
            on_coordinator(client, &args).await
        }
        (None, Some(address)) if Engine::is_postgres(address) => {
            let store = Postgres::open(address, &observed::instance()).await.context("failed to open the store")?;
            let deleted = in_store(&store, &args).await;
            store.hand_over().await?;
            deleted
        }
        (None, Some(path)) => {
            let store = store_files::open(Path::new(path)).await?;
            let deleted = in_store(&store, &args).await;
            store.close().await?;
            deleted
        }
        (None, None) => in_folder(&args),
    }?;
    Ok(Exit::Held)
}

async fn on_coordinator(mut client: Client, args: &Args) -> anyhow::Result<()> {
    let runs = client::runs(&mut client).await?;
    let runs = runs.iter().map(|line| Candidate {
        run: line.run.clone(),
        started_at: line.started_at,
        state: if line.state() == v1::RunState::Running { RunState::Running } else { RunState::Finished },
    });
    for run in chosen(args, runs.collect()) {
        if !args.dry_run {
            let request = v1::DeleteRequest { run: run.clone() };
            let deleted = client.runs.delete(request).await;
            deleted.map_err(|status| usage(refusal::of(&format!("run {run} is not deleted"), &status)))?;
        }
        say(args, &run)?;
    }
    Ok(())
}

async fn in_store(store: &impl Store, args: &Args) -> anyhow::Result<()> {
    let rows = store.runs().await?;
    let runs = rows.into_iter().map(|row| Candidate {
        run: row.id.as_str().to_owned(),
        started_at: row.started_at,
        state: row.state,
    });
    for run in chosen(args, runs.collect()) {
        if !args.dry_run {
            match store.delete_run(&RunId::new(run.clone())).await {
                Err(error @ store::Error::Running(_)) => {
                    let hint = "hint: cancel it with `gabfest cancel`";
                    return Err(usage(anyhow!("{error}, so it is not deleted\n{hint}")));
                }
                Err(error @ store::Error::UnknownRun(_)) => return Err(usage(error)),
                deleted => deleted?,
            }
        }
        say(args, &run)?;
    }
    while !args.dry_run && store.sweep(SWEPT_ROWS).await? {}
    Ok(())
}

/// By name in the order in which they were named, or by the rules.
fn chosen(args: &Args, runs: Vec<Candidate<String>>) -> Vec<String> {
    if args.runs.is_empty() { args.rules.choose(runs, clock::now_millis()) } else { args.runs.clone() }
}

fn in_folder(args: &Args) -> anyhow::Result<()> {
    let chosen = if args.runs.is_empty() {
        args.rules.choose(run_folders::in_folder(&args.dir)?, clock::now_millis())
    } else {
        args.runs.iter().map(|run| run_folders::named(run, &args.dir)).collect::<anyhow::Result<Vec<_>>>()?
    };
    for folder in chosen {
        if !args.dry_run {
            run_folders::delete(&folder)?;
        }
        say(args, &folder.display().to_string())?;
    }
    Ok(())
}

fn say(args: &Args, run: &str) -> anyhow::Result<()> {
    let done = if args.dry_run { "would delete" } else { "deleted" };
    stdout::line(&format!("{done} {run}"))
}
