//! `gabfest history`: the flake ledger, the nights of a case, and failures over nights; imports and removes runs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use chrono::NaiveDate;
use clap::Subcommand;
use history::{Added, History};
use record::count::plural;
use statistics::nights::{Night, NightRun};

use crate::{
    args::whole,
    diagnostics,
    exit::{Exit, usage},
    history_file, nights,
    screen::screen,
    stdout,
};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    change: Option<Change>,
    /// Show the nights, or with --failures the failures, of the cases whose name contains this text
    #[arg(value_name = "CASE")]
    case: Option<String>,
    /// Show the failures: since when, in how many nights and in which cases the same failure was seen
    #[arg(long)]
    failures: bool,
    #[command(flatten)]
    which: nights::Which,
    /// Print every figure as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// Add runs from elsewhere, such as the artefacts of CI; a run that is known is not added twice
    Import {
        /// Folders of runs, folders of such folders, and other histories
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        place: history_file::Place,
    },
    /// Remove runs
    Prune {
        /// Keep the latest N runs
        #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=u64::from(u32::MAX)), required_unless_present = "before")]
        keep: Option<u32>,
        /// Remove the runs that started before this day (UTC)
        #[arg(long, value_name = "YYYY-MM-DD")]
        before: Option<NaiveDate>,
        #[command(flatten)]
        place: history_file::Place,
    },
}

pub(crate) async fn history(args: Args) -> anyhow::Result<Exit> {
    match args.change {
        Some(Change::Import { paths, place }) => import(&paths, &place).await,
        Some(Change::Prune { keep, before, place }) => prune(keep, before, &place).await,
        None => show(&args).await,
    }
}

async fn show(args: &Args) -> anyhow::Result<Exit> {
    let mut trends = nights::read(&args.which).await?;
    if let Some(case) = &args.case {
        trends.keep(case);
        if trends.cases.is_empty() {
            return Err(usage(anyhow!(
                "no case of the history is called {case:?}\nhint: `gabfest history` lists them"
            )));
        }
    }
    if args.json {
        stdout::document(&report::trends::json(&trends))?;
    } else if args.failures {
        stdout::painted(&report::trends::failures(&trends, screen()))?;
    } else if args.case.is_none() {
        stdout::painted(&report::trends::ledger(&trends, screen()))?;
    } else {
        let pages: Vec<String> = trends.cases.iter().map(|case| report::trends::case(case, screen())).collect();
        stdout::painted(&pages.join("\n"))?;
    }
    Ok(Exit::Held)
}

async fn import(paths: &[PathBuf], place: &history_file::Place) -> anyhow::Result<Exit> {
    let mut nights = Vec::new();
    for path in paths {
        let found = of_path(path).await?;
        if found.is_empty() {
            return Err(usage(anyhow!(
                "there is no run in {}\nhint: name a run's folder (with report.json and trials.jsonl), a folder of such folders, or a history",
                path.display()
            )));
        }
        nights.extend(found);
    }
    let mut history = place.open().await?;
    let Added { new, replaced, known } = history.add(&nights).await?;
    history.close().await?;
    stdout::line(&format!("{} added, {replaced} replaced, {known} known", plural(new, "run", "runs")))?;
    Ok(Exit::Held)
}

/// The runs of a history, of a run's folder, or of the folders in a folder. A history in such a folder counts too.
async fn of_path(path: &Path) -> anyhow::Result<Vec<Night>> {
    if path.is_file() {
        return of_history(path).await;
    }
    if is_run(path) {
        if let Some(origin) = history_file::repeated(path).map_err(usage)? {
            return Err(usage(anyhow!(
                "the run in {} repeats run {origin} and is no night of the agent\nhint: name the folder of that run",
                path.display()
            )));
        }
        return Ok(vec![history_file::night(path).map_err(usage)?]);
    }
    let listed = path.read_dir().with_context(|| format!("failed to read {}", path.display())).map_err(usage)?;
    let mut folders: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let history = history_file::beside(path);
    let mut nights = if history.is_file() { of_history(&history).await? } else { Vec::new() };
    for folder in folders.iter().filter(|folder| is_run(folder)) {
        // One broken folder of many does not keep the others out.
        match of_folder(folder) {
            Ok(night) => nights.extend(night),
            Err(error) => diagnostics::warn(&format!("left out: {}", diagnostics::error_text(&error))),
        }
    }
    Ok(nights)
}

/// `None`: the run repeats another one, so it is no night.
fn of_folder(folder: &Path) -> anyhow::Result<Option<Night>> {
    if history_file::repeated(folder)?.is_some() {
        return Ok(None);
    }
    history_file::night(folder).map(Some)
}

fn is_run(folder: &Path) -> bool {
    folder.join("report.json").is_file()
}

async fn of_history(path: &Path) -> anyhow::Result<Vec<Night>> {
    let mut history = History::read(path).await.map_err(usage)?;
    let runs = history.runs().await?;
    let nights = history.nights(runs).await?;
    history.close().await?;
    Ok(nights)
}

async fn prune(keep: Option<u32>, before: Option<NaiveDate>, place: &history_file::Place) -> anyhow::Result<Exit> {
    // A history that is not there is not created.
    place.read().await?.close().await?;
    let mut history = place.open().await?;
    let runs = history.runs().await?;
    let gone = history.remove(&leaving(&runs, keep, before)).await?;
    let left = runs.len() as u64 - gone;
    history.close().await?;
    stdout::line(&format!("{} removed, {left} kept", plural(gone, "run", "runs")))?;
    Ok(Exit::Held)
}

/// The runs that go, of runs with the earliest first. A run that both flags name goes once.
fn leaving(runs: &[NightRun], keep: Option<u32>, before: Option<NaiveDate>) -> Vec<String> {
    let first_kept = keep.map_or(0, |keep| runs.len().saturating_sub(keep as usize));
    let day = before.map(|day| day.to_string());
    let goes = |(index, run): &(usize, &NightRun)| {
        *index < first_kept || day.as_ref().is_some_and(|day| run.started_at.as_str() < day.as_str())
    };
    runs.iter().enumerate().filter(goes).map(|(_, run)| run.id.clone()).collect()
}
