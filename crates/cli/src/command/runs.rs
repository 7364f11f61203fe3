//! `gabfest runs`: which runs there are, in a folder or at a coordinator.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use chrono::{DateTime, FixedOffset, Utc};
use proto::v1;
use serde_json::Value;

use crate::{
    client,
    exit::{Exit, usage},
    remote,
    run_folder::{RUNS, RunFolder},
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder that holds the runs (gabfest-runs); stronger than a coordinator
    dir: Option<PathBuf>,
    /// List the runs of this coordinator instead (where no URL follows: GABFEST_COORDINATOR, else http://127.0.0.1:7400)
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", env = "GABFEST_COORDINATOR")]
    coordinator: Option<String>,
}

/// Where a figure is not known.
const NONE: &str = "–";

pub(crate) async fn list(args: Args) -> anyhow::Result<Exit> {
    let rows = match (args.dir, args.coordinator) {
        (None, Some(address)) => of_coordinator(&or_usual(address)).await?,
        (dir, _) => in_folder(dir.as_deref().unwrap_or(Path::new(RUNS)))?,
    };
    stdout::write(&table(&rows))?;
    Ok(Exit::Held)
}

/// The flag without a URL means the coordinator that the other commands talk to.
fn or_usual(address: String) -> String {
    if address.is_empty() {
        return std::env::var("GABFEST_COORDINATOR").unwrap_or_else(|_| "http://127.0.0.1:7400".to_owned());
    }
    address
}

async fn of_coordinator(address: &str) -> anyhow::Result<Vec<Vec<String>>> {
    let mut client = client::of(remote::connect(address).await?);
    let reply = client
        .runs
        .list(v1::ListRequest {})
        .await
        .map_err(|status| anyhow!("the runs cannot be listed: {}", status.message()))?;
    let heads = ["RUN", "STATE", "TRIALS", "STARTED (UTC)", "NAME"].map(str::to_owned).to_vec();
    let row = |run: v1::RunLine| {
        let state = client::state_name(run.state()).to_owned();
        let began = DateTime::from_timestamp_millis(run.started_at).map_or_else(|| NONE.to_owned(), moment);
        vec![run.run, state, format!("{}/{}", run.done, run.planned), began, run.name]
    };
    Ok(std::iter::once(heads).chain(reply.into_inner().runs.into_iter().map(row)).collect())
}

/// The runs in a folder, the latest first.
fn in_folder(dir: &Path) -> anyhow::Result<Vec<Vec<String>>> {
    let none = || {
        usage(anyhow!(
            "there are no runs in {}\nhint: `gabfest run` writes to {RUNS}/; `gabfest runs --coordinator` lists those of a coordinator",
            dir.display()
        ))
    };
    let mut runs = Vec::new();
    for entry in dir.read_dir().map_err(|_| none())? {
        let path = entry.with_context(|| format!("failed to read {}", dir.display()))?.path();
        runs.extend(Run::read(&path));
    }
    if runs.is_empty() {
        return Err(none());
    }
    runs.sort_by(|a, b| (b.began, &b.id).cmp(&(a.began, &a.id)));
    let heads = ["RUN", "VERDICT", "SUCCESS RATE", "TRIALS", "DURATION", "STARTED (UTC)", "NAME"];
    Ok(std::iter::once(heads.map(str::to_owned).to_vec()).chain(runs.into_iter().map(Run::row)).collect())
}

/// What a run's folder tells of it.
struct Run {
    id: String,
    began: Option<DateTime<FixedOffset>>,
    /// `None` for a run that was killed, or is being played: the report is written at its end.
    report: Option<Value>,
}

impl Run {
    /// `None` for a folder that holds no run.
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

    fn row(self) -> Vec<String> {
        let Some(report) = &self.report else {
            let unknown = [NONE, NONE, NONE, NONE, ""].map(str::to_owned);
            return [self.id, "unfinished".to_owned()].into_iter().chain(unknown).collect();
        };
        let text = |path: &str| report.pointer(path).and_then(Value::as_str).unwrap_or(NONE).to_owned();
        let state = text("/run/state");
        let verdict = if state == "finished" { text("/verdict") } else { state };
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
