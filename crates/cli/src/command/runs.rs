//! `gabfest runs`: lists the runs in a folder and in its history, or on a coordinator.

mod delete;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use history::History;
use proto::v1;
use serde_json::{Value, json};
use statistics::nights::NightRun;

use crate::{
    client, diagnostics,
    exit::{Exit, usage},
    history_file::{self, Place},
    remote,
    run_folder::{RUNS, RunFolder},
    stdout,
};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The folder of the runs [default: gabfest-runs], with their history; takes precedence over a coordinator
    dir: Option<PathBuf>,
    /// List the runs of this coordinator instead [without a URL: GABFEST_COORDINATOR, or http://127.0.0.1:7400]
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", env = "GABFEST_COORDINATOR")]
    coordinator: Option<String>,
    #[command(flatten)]
    identity: remote::Identity,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Delete runs; the history keeps its rows
    Delete(delete::Args),
}

/// Below the list, if a run is only in the history.
const WITHOUT_FOLDER: &str = "* the history has the run; its folder is not here\n";

/// Shown for an unknown figure.
const NONE: &str = "–";

pub(crate) async fn list(args: Args) -> anyhow::Result<Exit> {
    if let Some(Command::Delete(args)) = args.command {
        return delete::delete(args).await;
    }
    let rows = match (args.dir, args.coordinator) {
        (None, Some(address)) => of_coordinator(&or_usual(address), &args.identity).await?,
        (dir, _) => {
            let beside = dir.as_deref().filter(|_| args.place.history.is_none()).map(history_file::beside);
            // The folders are there whatever became of their history.
            let past = past(beside.or_else(|| args.place.path())).await.unwrap_or_else(|error| {
                diagnostics::warn(&format!("the history is not listed: {}", diagnostics::error_text(&error)));
                Vec::new()
            });
            in_folder(dir.as_deref().unwrap_or(Path::new(RUNS)), past)?
        }
    };
    stdout::write(&table(&rows))?;
    if rows.iter().any(|row| row[0].ends_with(STAR)) {
        stdout::write(WITHOUT_FOLDER)?;
    }
    Ok(Exit::Held)
}

/// The flag without a URL means the coordinator that the other commands talk to.
fn or_usual(address: String) -> String {
    if address.is_empty() {
        return std::env::var("GABFEST_COORDINATOR").unwrap_or_else(|_| "http://127.0.0.1:7400".to_owned());
    }
    address
}

async fn of_coordinator(address: &str, identity: &remote::Identity) -> anyhow::Result<Vec<Vec<String>>> {
    let mut client = client::of(remote::connect(address, identity).await?);
    let runs = client::runs(&mut client).await?;
    let heads = ["RUN", "STATE", "TRIALS", "STARTED (UTC)", "NAME"].map(str::to_owned).to_vec();
    let row = |run: v1::RunLine| {
        let state = if run.paused { "paused" } else { client::state_name(run.state()) }.to_owned();
        let began = DateTime::from_timestamp_millis(run.started_at).map_or_else(|| NONE.to_owned(), moment);
        vec![run.run, state, format!("{}/{}", run.done, run.planned), began, run.name]
    };
    Ok(std::iter::once(heads).chain(runs.into_iter().map(row)).collect())
}

/// The runs of the history; none if there is no history.
async fn past(path: Option<PathBuf>) -> anyhow::Result<Vec<NightRun>> {
    let Some(path) = path.filter(|path| path.is_file()) else { return Ok(Vec::new()) };
    let mut history = History::read(&path).await.map_err(usage)?;
    let runs = history.runs().await?;
    history.close().await?;
    Ok(runs)
}

/// The runs in a folder and those of the history, the latest first.
fn in_folder(dir: &Path, past: Vec<NightRun>) -> anyhow::Result<Vec<Vec<String>>> {
    let none = || {
        usage(anyhow!(
            "there are no runs in {}\nhint: `gabfest run` writes to {RUNS}/; `gabfest runs --coordinator` lists those of a coordinator",
            dir.display()
        ))
    };
    let mut runs = Vec::new();
    let listed = match dir.read_dir() {
        Ok(listed) => Some(listed),
        Err(_) if past.is_empty() => return Err(none()),
        // A history may be all that is left.
        Err(_) => None,
    };
    for entry in listed.into_iter().flatten() {
        let path = entry.with_context(|| format!("failed to read {}", dir.display()))?.path();
        runs.extend(Run::read(&path));
    }
    let here: BTreeSet<String> = runs.iter().filter_map(Run::id_of_report).collect();
    runs.extend(past.into_iter().filter(|run| !here.contains(&run.id)).map(Run::of_past));
    if runs.is_empty() {
        return Err(none());
    }
    runs.sort_by(|a, b| (b.began, &b.id).cmp(&(a.began, &a.id)));
    let heads = ["RUN", "VERDICT", "SUCCESS RATE", "TRIALS", "DURATION", "STARTED (UTC)", "NAME"];
    Ok(std::iter::once(heads.map(str::to_owned).to_vec()).chain(runs.into_iter().map(Run::row)).collect())
}

/// A run, as its folder describes it.
struct Run {
    id: String,
    began: Option<DateTime<FixedOffset>>,
    /// `None` for a run that was killed or is active: the report is written at its end.
    report: Option<Value>,
}

/// Behind the id of a run that only the history has.
const STAR: &str = " *";

impl Run {
    /// `None` for a folder without a run.
    fn read(path: &Path) -> Option<Self> {
        let folder = RunFolder { path: path.to_path_buf() };
        let report = std::fs::read_to_string(path.join("report.json")).ok();
        let report: Option<Value> = report.and_then(|text| serde_json::from_str(&text).ok());
        if report.is_none() && !folder.is_begun() {
            return None;
        }
        let began = report.as_ref().and_then(|report| time(report, "/run/started_at"));
        Some(Self { id: path.file_name()?.to_string_lossy().into_owned(), began, report })
    }

    fn id_of_report(&self) -> Option<String> {
        Some(self.report.as_ref()?.pointer("/run/id")?.as_str()?.to_owned())
    }

    /// The history has what a row needs, under the names of a report.
    fn of_past(run: NightRun) -> Self {
        let began = DateTime::parse_from_rfc3339(&run.started_at).ok();
        let took = run.duration_ms.and_then(|millis| i64::try_from(millis).ok()).map(TimeDelta::milliseconds);
        let ended = began.zip(took).map(|(began, took)| (began + took).to_rfc3339());
        let report = json!({
            "run": {
                "id": run.id, "name": run.name, "state": run.state, "started_at": run.started_at, "ended_at": ended,
                "stopped": run.stopped_by_itself().then_some(""),
            },
            "verdict": run.verdict,
            "summary": { "success_rate": run.success_rate, "trials": run.trials },
        });
        Self { id: format!("{}{STAR}", run.id), began, report: Some(report) }
    }

    fn row(self) -> Vec<String> {
        let Some(report) = &self.report else {
            let unknown = [NONE, NONE, NONE, NONE, ""].map(str::to_owned);
            return [self.id, "unfinished".to_owned()].into_iter().chain(unknown).collect();
        };
        let text = |path: &str| report.pointer(path).and_then(Value::as_str).unwrap_or(NONE).to_owned();
        let state = text("/run/state");
        // Nobody interrupted a run that gabfest itself stopped, so its verdict counts.
        let by_itself = state == "interrupted" && report.pointer("/run/stopped").is_some_and(Value::is_string);
        let is_true = |path: &str| report.pointer(path).and_then(Value::as_bool) == Some(true);
        let is_out_of_money = is_true("/summary/budget/used_up") || is_true("/run/exhausted");
        let is_judged = state == "finished" || by_itself && !is_out_of_money;
        let verdict = if is_judged { text("/verdict") } else { state };
        let rate = report.pointer("/summary/success_rate/estimate").and_then(Value::as_f64);
        let trials = report.pointer("/summary/trials/planned").and_then(Value::as_u64);
        let ended = time(report, "/run/ended_at");
        let took = self.began.zip(ended).map(|(began, ended)| (ended - began).num_milliseconds() as f64);
        let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
        vec![
            self.id,
            verdict,
            or_none(rate.map(report::percent)),
            or_none(trials.map(record::count::digits)),
            or_none(took.map(report::millis)),
            or_none(self.began.map(|began| moment(began.to_utc()))),
            text("/run/name"),
        ]
    }
}

fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S").to_string()
}

fn time(report: &Value, path: &str) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(report.pointer(path)?.as_str()?).ok()
}

/// Columns below their heads, two blanks between them.
fn table(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let cell = report::clean(cell);
            format!("{cell:<width$}", width = width(column).unwrap_or(0))
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
