//! Reads a report from its files if the folder has no store: `submit --watch` and `watch` write such folders.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use record::{Summary, Trial, Turn};
use report::Selection;
use scenario::RunId;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, error::Category, json};

use crate::exit::usage;

pub(crate) fn summary(folder: &Path) -> anyhow::Result<Summary> {
    let path = folder.join("report.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| {
        let why = match error.classify() {
            Category::Data => "it is of another version",
            Category::Io | Category::Syntax | Category::Eof => "it is not whole",
        };
        usage(anyhow!("failed to read {}: {why}: {error}\nhint: {}", path.display(), again(folder)))
    })
}

/// What mends a file of a report.
fn again(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "`gabfest report {folder}` writes it again if the run's folder has run.db; of a coordinator, with --coordinator URL"
    )
}

/// The run that the report in this folder is of; `None` without a report.
pub(crate) fn run_id(folder: &Path) -> Option<RunId> {
    #[derive(Deserialize)]
    struct Report {
        run: Run,
    }
    #[derive(Deserialize)]
    struct Run {
        id: RunId,
    }
    let text = std::fs::read_to_string(folder.join("report.json")).ok()?;
    serde_json::from_str::<Report>(&text).ok().map(|report| report.run.id)
}

/// The selection of trials from `trials.jsonl` and `transcripts.jsonl`.
pub(crate) fn selection(folder: &Path, summary: &Summary) -> anyhow::Result<Selection> {
    let mut selection = Selection::default();
    // Both are in the plan's order; passed trials may have no transcript.
    let mut transcripts = lines::<Value>(folder, "transcripts.jsonl")?.peekable();
    for line in lines::<Value>(folder, "trials.jsonl")? {
        let line = line?;
        let number = line["number"].clone();
        let spoken = transcripts.next_if(|next| next.as_ref().map_or(true, |next| next["number"] == number));
        let turns: Vec<Turn> = match spoken {
            Some(spoken) => Vec::deserialize(&spoken?["turns"]).context("failed to read transcripts.jsonl")?,
            None => Vec::new(),
        };
        selection.add(&trial(line, summary).context("failed to read trials.jsonl")?, &turns);
    }
    Ok(selection)
}

/// The lines of a file, each as JSON.
pub(crate) fn lines<Line: DeserializeOwned>(
    folder: &Path,
    name: &'static str,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Line>> + use<Line>> {
    let file = LinesFile::of(folder, name);
    Ok(file.texts()?.map(move |line| file.read(&line?)))
}

/// A file with JSON on each line.
pub(crate) struct LinesFile {
    path: PathBuf,
    /// What mends it.
    hint: String,
}

/// A line of such a file, and its number from 1.
pub(crate) struct LineText {
    text: String,
    number: u64,
}

impl LinesFile {
    pub(crate) fn of(folder: &Path, name: &'static str) -> Self {
        Self { path: folder.join(name), hint: again(folder) }
    }

    pub(crate) fn texts(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<LineText>> + use<>> {
        let path = self.path.clone();
        let file = std::fs::File::open(&path).with_context(|| format!("failed to read {}", path.display()))?;
        Ok(BufReader::new(file).lines().zip(1_u64..).map(move |(text, number)| {
            let text = text.with_context(|| format!("failed to read {}", path.display()))?;
            Ok(LineText { text, number })
        }))
    }

    pub(crate) fn read<Line: DeserializeOwned>(&self, LineText { text, number }: &LineText) -> anyhow::Result<Line> {
        serde_json::from_str(text).map_err(|error| {
            let why = if error.is_eof() { "is cut" } else { "is not as gabfest writes it" };
            // The line of the error is that within this line of the file.
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            let (column, path, hint) = (error.column(), self.path.display(), &self.hint);
            usage(anyhow!("line {number} of {path} {why}: {what} at column {column}\nhint: {hint}"))
        })
    }
}

/// The trial of a line. Only the summary has its cost and its latency.
pub(crate) fn trial(mut line: Value, summary: &Summary) -> serde_json::Result<Trial> {
    let case = summary.cases.iter().find(|case| case.id.as_str() == line["case_id"]).map(|case| case.number);
    let failure = |key: &str| line[format!("failure_{key}")].clone();
    let failure = json!({
        "kind": failure("kind"),
        "blame": line["blame"],
        "message": failure("message"),
        "step": failure("step"),
        "turn": failure("turn"),
    });
    line["failure"] = if failure["kind"].is_null() { Value::Null } else { failure };
    line["case"] = case.unwrap_or_default().into();
    line["latencies"] = json!([]);
    line["spend"] = json!([]);
    line["keep_transcript"] = true.into();
    serde_json::from_value(line)
}
