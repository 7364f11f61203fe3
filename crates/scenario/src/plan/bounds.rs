//! Size limits of a plan: it is sent as one message, and its texts become parts of turn records.

use std::io;

use serde_json::Value;
use yaml::Diagnostic;

use super::{Group, Plan};

/// The limit of one text of a scenario: a message of the user, a program, a file of the environment.
pub const MOST_TEXT_BYTES: usize = 1 << 20;
/// The limit of a plan as JSON: a message has 64 MiB, and some of it is needed for the rest of the message.
pub const MOST_PLAN_BYTES: usize = 60 << 20;

/// The finding if the plan is too large to send.
pub(super) fn fault(plan: &Plan) -> Option<Diagnostic> {
    long_text(plan).or_else(|| {
        let all = json_bytes(plan);
        (all > MOST_PLAN_BYTES).then(|| too_large(plan, all))
    })
}

/// The first text that is too long. Checked separately, because a received plan was not too large to send.
pub(super) fn long_text(plan: &Plan) -> Option<Diagnostic> {
    plan.groups.iter().find_map(|group| {
        let (place, bytes) = longest_of(group).filter(|(_, bytes)| *bytes > MOST_TEXT_BYTES)?;
        let message = format!("the text at `{place}` has {bytes} bytes; at most {MOST_TEXT_BYTES} are played");
        let fault = Diagnostic::error(group.source.path.clone(), line_of(group, &place), 0, message);
        Some(fault.with_help("split the text into several steps, or let the agent read it from its source"))
    })
}

fn too_large(plan: &Plan, all: usize) -> Diagnostic {
    let files = plan.groups.iter().map(|group| (json_bytes(group), group));
    let (largest, path, line) = files
        .max_by_key(|(bytes, _)| *bytes)
        .map_or((0, "", 0), |(bytes, group)| (bytes, group.source.path.as_str(), group.source.line));
    let message = format!(
        "the plan has {all} bytes, and {largest} of them are of this scenario; at most {MOST_PLAN_BYTES} can be sent"
    );
    Diagnostic::error(path, line, 0, message)
        .with_help("play the files in several runs: name fewer of them, or use `--filter` or `--tag`")
}

/// The place of the longest text in a scenario and its axes.
fn longest_of(group: &Group) -> Option<(String, usize)> {
    let of_axes = group.axes.iter().filter_map(|axis| {
        let longest = axis.values.iter().filter_map(|value| longest(value, "")).max_by_key(|(_, bytes)| *bytes)?;
        Some((axis.parameter.clone(), longest.1))
    });
    of_axes.chain(longest(&group.document, "")).max_by_key(|(_, bytes)| *bytes)
}

fn longest(value: &Value, place: &str) -> Option<(String, usize)> {
    match value {
        Value::String(text) => Some((place.to_owned(), text.len())),
        Value::Array(list) => {
            let all = list.iter().enumerate().filter_map(|(index, item)| Some((index, longest_bytes(item)?)));
            let (index, _) = all.max_by_key(|(_, bytes)| *bytes)?;
            longest(&list[index], &format!("{place}[{index}]"))
        }
        Value::Object(map) => {
            let all = map.iter().filter_map(|(key, item)| Some((key, item, longest_bytes(item)?)));
            let (key, item, _) = all.max_by_key(|(_, _, bytes)| *bytes)?;
            let dot = if place.is_empty() { "" } else { "." };
            longest(item, &format!("{place}{dot}{key}"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn longest_bytes(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.len()),
        Value::Array(list) => list.iter().filter_map(longest_bytes).max(),
        Value::Object(map) => map.values().filter_map(longest_bytes).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The line of the step or check that contains the place, or else of the scenario.
fn line_of(group: &Group, place: &str) -> u32 {
    let within = group.lines.iter().filter(|(path, _)| place.starts_with(path.as_str()));
    within.max_by_key(|(path, _)| path.len()).map_or(group.source.line, |(_, line)| *line)
}

/// How many bytes it has as JSON, without writing them anywhere.
fn json_bytes(value: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).expect("a plan has text keys only, so JSON can hold it");
    count.0
}
