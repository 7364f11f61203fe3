//! `transcripts.jsonl`: one line for each trial, with every message.

use record::{Trial, Turn, Verdict, visible};
use scenario::{CaseId, TrialId};
use serde::Serialize;

use crate::form::{Form, Make};

pub const FORM: Form = Form {
    name: "transcripts",
    about: "One line for each trial, with every message",
    file: Some("transcripts.jsonl"),
    make: Make::Lines(|played| line_of(played.trial, played.turns, played.unreadable)),
};

/// A line of JSON with its line end; `None` for a trial that passed and need not be kept.
#[must_use]
pub fn line(trial: &Trial, turns: &[Turn]) -> Option<String> {
    line_of(trial, turns, None)
}

fn line_of(trial: &Trial, turns: &[Turn], unreadable: Option<&str>) -> Option<String> {
    if trial.verdict == Verdict::Pass && !trial.keep_transcript {
        return None;
    }
    let line = Line {
        trial_id: &trial.trial_id,
        case_id: &trial.case_id,
        number: trial.number,
        repeat: trial.repeat,
        verdict: trial.verdict,
        turns,
        unreadable,
    };
    let mut text = serde_json::to_string(&line).expect("a transcript's line has only string keys");
    text.push('\n');
    Some(visible::json_owned(text))
}

#[derive(Serialize)]
struct Line<'a> {
    trial_id: &'a TrialId,
    case_id: &'a CaseId,
    number: u64,
    repeat: u32,
    verdict: Verdict,
    turns: &'a [Turn],
    /// Why there are no turns, where they cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<&'a str>,
}
