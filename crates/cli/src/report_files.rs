//! Reads a report from its files, where the folder has no store: `submit --watch` and `watch` write such folders.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
};

use anyhow::Context as _;
use record::{Summary, Trial, Turn};
use report::Selection;
use serde::Deserialize as _;
use serde_json::{Value, json};

pub(crate) fn summary(folder: &Path) -> anyhow::Result<Summary> {
    let path = folder.join("report.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("failed to read {}: it is of another version", path.display()))
}

/// What was found over all trials, of `trials.jsonl` and `transcripts.jsonl`.
pub(crate) fn selection(folder: &Path, summary: &Summary) -> anyhow::Result<Selection> {
    let mut selection = Selection::default();
    // Both are in the plan's order; trials that passed may have no transcript.
    let mut transcripts = lines(folder, "transcripts.jsonl")?.peekable();
    for line in lines(folder, "trials.jsonl")? {
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

fn lines(folder: &Path, name: &'static str) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Value>>> {
    let path = folder.join(name);
    let file = std::fs::File::open(&path).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(BufReader::new(file).lines().map(move |line| {
        serde_json::from_str(&line.with_context(|| format!("failed to read {name}"))?)
            .with_context(|| format!("failed to read {name}"))
    }))
}

/// The trial of a line. What it cost and how fast it was are in the summary alone.
fn trial(mut line: Value, summary: &Summary) -> serde_json::Result<Trial> {
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
