//! The message of a failing test: the turn, the expected and the actual answer, the reason, and the whole conversation.

use std::borrow::Cow;

use record::{
    Failure, Finding, Judgment, Turn, Verdict,
    turn::{Part, ToolCall},
};
use serde_json::Value;
use worker::alone::Played;

use super::Report;

/// The limit of one text, because replies can have megabytes.
const MOST_CHARS: usize = 2_000;
/// The limit of other repeats to list.
const MOST_NAMED: usize = 20;

/// A passed report has one line.
pub(super) fn of(report: &Report) -> String {
    let (passed, played) = (report.passed, report.trials.len());
    let verb = if report.passed >= report.required { "passed" } else { "failed" };
    let mut text = format!("conversation {:?} {verb}", report.name);
    if played > 1 {
        text.push_str(&format!(": {passed} of {played} repeats passed, {} must", report.required));
    }
    let bad: Vec<(usize, &Played)> =
        report.trials.iter().enumerate().filter(|(_, one)| one.trial.verdict != Verdict::Pass).collect();
    // A failure of the agent is more useful than a repeat that could not be judged.
    let shown = bad.iter().find(|(_, one)| one.trial.verdict == Verdict::Fail).or(bad.first());
    let Some((number, shown)) = shown.filter(|_| report.passed < report.required) else { return text };
    text.push_str(&format!("\nwritten at {}", report.place));
    if let Some(note) = report.written.get("test_note").and_then(Value::as_str) {
        text.push_str(&format!("\nnote: {note}"));
    }
    if played > 1 {
        text.push_str(&format!("\n\nrepeat {} of {played}:", number + 1));
    }
    text.push_str(&what_was_wrong(report, shown));
    text.push_str("\n\nthe whole conversation:");
    text.push_str(&transcript(report, shown));
    let others: Vec<String> = bad
        .iter()
        .filter(|(other, _)| other != number)
        .map(|(other, one)| format!("{} ({})", other + 1, in_short(one)))
        .collect();
    if !others.is_empty() {
        let more = others.len().saturating_sub(MOST_NAMED);
        let named = others[..others.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&format!("\n\nother repeats that did not pass: {named}{more}"));
    }
    text
}

fn what_was_wrong(report: &Report, played: &Played) -> String {
    let mut text = String::new();
    let wrong = played
        .trial
        .judgments
        .iter()
        .filter(|judgment| !matches!(judgment.finding, Finding::Pass | Finding::NotApplicable));
    for judgment in wrong {
        text.push_str(&one_finding(report, played, judgment));
    }
    match &played.trial.failure {
        Some(failure) if text.is_empty() => text.push_str(&broken_off(report, played, failure)),
        _ => {}
    }
    text
}

fn one_finding(report: &Report, played: &Played, judgment: &Judgment) -> String {
    let step = judgment.scope.step();
    let turn = played.turns.iter().find(|turn| turn.step == step);
    let answer = answer_of(&report.written, step);
    let (expected, came) = match judgment.check.as_str() {
        "tool_calls" => (listed(answer, "tool_calls"), turn.map_or_else(String::new, calls_of)),
        "telephony_events" => (listed(answer, "telephony_events"), turn.map_or_else(String::new, done)),
        _ => (expected_text(answer), turn.map_or_else(String::new, |turn| said(turn).into_owned())),
    };
    let verb = match judgment.finding {
        Finding::Fail => "is not what was expected",
        _ => "could not be judged",
    };
    format!(
        "\n\n{} {verb} ({}):{}{}{}{}",
        place_of(report, step),
        judgment.check,
        labelled("the user said", turn.map_or("", |turn| turn.user.as_str())),
        labelled("expected", &expected),
        labelled("came", &came),
        labelled("why", &judgment.reason),
    )
}

/// Describes a repeat without an answer, or one that was not played.
fn broken_off(report: &Report, played: &Played, failure: &Failure) -> String {
    let kind = failure.kind.name();
    let turn = failure.turn.and_then(|number| played.turns.iter().find(|turn| turn.number == number));
    match turn {
        None => format!("\n\n{kind}: {}", shortened(&failure.message)),
        Some(turn) => format!(
            "\n\n{} did not come ({kind}):{}{}{}",
            place_of(report, turn.step),
            labelled("the user said", &turn.user),
            labelled("expected", &expected_text(answer_of(&report.written, turn.step))),
            labelled("why", &failure.message),
        ),
    }
}

/// `answer 2, tests/agent.rs:14`.
fn place_of(report: &Report, step: u32) -> String {
    let line = usize::try_from(step).ok().and_then(|step| report.lines.get(step.checked_sub(1)?));
    match line {
        Some(line) if *line > 0 => format!("answer {step}, {}:{line}", report.file),
        _ => format!("answer {step}"),
    }
}

fn labelled(label: &str, text: &str) -> String {
    format!("\n  {:<16}{}", format!("{label}:"), indented(&shortened(text)))
}

/// The number of the agent's turn, from 1, as in the source.
fn answer_of(written: &Value, step: u32) -> Option<&Value> {
    let turns = turns_of(written);
    let greeted = usize::from(greeting(written).is_some());
    turns.get(greeted + usize::try_from(step).ok()?.checked_sub(1)? * 2 + 1)
}

fn greeting(written: &Value) -> Option<&Value> {
    turns_of(written).first().filter(|turn| turn.get("role").and_then(Value::as_str) == Some("assistant"))
}

/// A file is a mapping, or the bare list of its turns.
fn turns_of(written: &Value) -> &[Value] {
    let list = written.get("conversation").unwrap_or(written);
    list.as_array().map_or(&[], Vec::as_slice)
}

fn expected_text(answer: Option<&Value>) -> String {
    match answer.and_then(|answer| answer.get("text")) {
        Some(Value::Array(texts)) => {
            let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
            texts.join("\nor ")
        }
        Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
        _ => "no words".to_owned(),
    }
}

/// One per line, without absent values.
fn listed(answer: Option<&Value>, key: &str) -> String {
    let items = answer.and_then(|answer| answer.get(key)).and_then(Value::as_array);
    let shown = |item: &Value| {
        let mut item = item.clone();
        if let Value::Object(fields) = &mut item {
            fields.retain(|_, value| !matches!(value, Value::Null | Value::Bool(false)));
        }
        item.to_string()
    };
    let lines: Vec<String> = items.into_iter().flatten().map(shown).collect();
    if lines.is_empty() { "none".to_owned() } else { lines.join("\n") }
}

fn said(turn: &Turn) -> Cow<'_, str> {
    match turn.agent.as_deref() {
        None => "no answer".into(),
        Some(text) if text.trim().is_empty() => "no words".into(),
        Some(text) => text.into(),
    }
}

fn calls_of(turn: &Turn) -> String {
    let calls: Vec<String> = turn.tool_calls.iter().map(shown_call).collect();
    if calls.is_empty() { "none".to_owned() } else { calls.join("\n") }
}

fn shown_call(call: &ToolCall) -> String {
    let result = call.result.as_ref().map(|result| format!(" = {}", shortened(result))).unwrap_or_default();
    format!("{}({}){result}", call.name, shortened(&call.arguments))
}

fn done(turn: &Turn) -> String {
    if turn.actions.is_empty() { "none".to_owned() } else { turn.actions.join("\n") }
}

fn transcript(report: &Report, played: &Played) -> String {
    let mut text = String::new();
    let mut line = |who: &str, said: &str| text.push_str(&labelled(who, said));
    let opening = report.written.get("initial_agent_message").and_then(Value::as_str).map(str::to_owned);
    if let Some(turn) = greeting(&report.written) {
        line("agent", &opening.unwrap_or_else(|| expected_text(Some(turn))));
    }
    for turn in &played.turns {
        line("user", &turn.user);
        if turn.messages.is_empty() {
            line("agent", &said(turn));
            if !turn.tool_calls.is_empty() {
                line("  called", &calls_of(turn));
            }
        } else {
            for part in turn.parts() {
                match part {
                    Part::Said(text) => line("agent", text),
                    Part::Called(call) => line("  called", &shown_call(call)),
                }
            }
            if turn.agent.is_none() {
                line("agent", &said(turn));
            }
        }
        if !turn.actions.is_empty() {
            line("  did", &done(turn));
        }
    }
    text
}

/// A short description of where and how a repeat failed.
fn in_short(played: &Played) -> String {
    let bad = played.trial.judgments.iter().find(|judgment| judgment.finding != Finding::Pass);
    match (bad, &played.trial.failure) {
        (Some(judgment), _) => format!("answer {}: {}", judgment.scope.step(), judgment.check),
        (None, Some(failure)) => failure.kind.name().to_owned(),
        (None, None) => played.trial.verdict.name().to_owned(),
    }
}

/// Indents the lines after the first.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n                  ")
}

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()).into(),
        None => text.into(),
    }
}
