//! `transcripts.jsonl`: one line for each trial, with every message.

use record::{Trial, Turn, Verdict, compact_json, visible};
use scenario::{CaseId, TrialId};
use serde::Serialize;

use crate::form::{Form, Make};

pub const FORM: Form = Form {
    name: "transcripts",
    about: "One line for each trial, with every message",
    file: Some("transcripts.jsonl"),
    make: Make::Lines(|played| line_of(played.trial, played.turns, played.unreadable)),
};

/// The size of a line without turns, and of a turn with short texts. A good guess saves copies.
const FRAME_BYTES: usize = 256;
const TURN_BYTES: usize = 1024;

/// A line of JSON with its line end; `None` for a passed trial that need not be kept.
#[must_use]
pub fn line(trial: &Trial, turns: &[Turn]) -> Option<String> {
    line_of(trial, turns, None)
}

fn line_of(trial: &Trial, turns: &[Turn], unreadable: Option<&str>) -> Option<String> {
    // The store may not keep the words of those that passed.
    let is_dropped = turns.is_empty() && trial.turns > 0 && unreadable.is_none();
    if trial.verdict == Verdict::Pass && (!trial.keep_transcript || is_dropped) {
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
    let mut text = Vec::with_capacity(FRAME_BYTES + turns.len() * TURN_BYTES);
    compact_json::append(&line, &mut text).expect("a transcript's line has only string keys");
    text.push(b'\n');
    Some(visible::json_owned(String::from_utf8(text).expect("JSON is UTF-8")))
}

#[derive(Serialize)]
struct Line<'a> {
    trial_id: &'a TrialId,
    case_id: &'a CaseId,
    number: u64,
    repeat: u32,
    verdict: Verdict,
    turns: &'a [Turn],
    /// Why there are no turns, if they cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<&'a str>,
}
