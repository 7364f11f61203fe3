//! How a file is read, in a few lines for people: only what the example adds to its frame.

use formats::eliza;
use scenario::{
    Action, Diagnostic,
    format::{NoFiles, Script},
    plan::Axis,
};
use serde_json::Value;

use super::row::Group;

/// How an example is read.
pub(super) struct Told {
    pub(super) lines: Vec<String>,
    pub(super) errors: usize,
    pub(super) warnings: usize,
}

/// Reads an example in its frame.
pub(super) fn told(group: &Group, written: &str) -> Told {
    let (around, _) = read(group, &group.frame.replace("ROW", ""));
    let (mut lines, findings) = read(group, &group.frame.replace("ROW", written));
    for line in around {
        if let Some(place) = lines.iter().position(|known| *known == line) {
            lines.remove(place);
        }
    }
    lines.retain(|line| !group.hides.contains(&line.as_str()));
    let before = group.frame.split("ROW").next().unwrap_or_default();
    let first = u32::try_from(before.matches('\n').count()).unwrap();
    lines.extend(findings.iter().map(|found| shown(found, first)));
    let errors = findings.iter().filter(|found| found.is_error()).count();
    Told { lines, errors, warnings: findings.len() - errors }
}

/// With the line within the example.
fn shown(found: &Diagnostic, first: u32) -> String {
    let kind = if found.is_error() { "error" } else { "warning" };
    let line = found.line.checked_sub(first).filter(|line| *line > 0);
    let place = line.map_or(String::new(), |line| format!(" in line {line}"));
    let help = found.help.as_ref().map_or(String::new(), |help| format!("; hint: {help}"));
    format!("{kind}{place}: {}{help}", found.message).replace('\n', " ")
}

fn read(group: &Group, text: &str) -> (Vec<String>, Vec<Diagnostic>) {
    let (documents, mut findings) = group.format.open_beside(text, group.file, &mut NoFiles);
    let mut lines = Vec::new();
    for document in &documents {
        let (script, found) = group.format.read(document);
        findings.extend(found);
        if let Some(script) = script {
            lines.extend(outline(&script, &group.format.axes(document)));
        }
    }
    (lines, findings)
}

/// The scenario as `gabfest convert` writes it, a line a thing.
fn outline(script: &Script, axes: &[Axis]) -> Vec<String> {
    let Ok(text) = eliza::write(script) else { return battery(script) };
    let document = yaml::open(&text, "converted.scenario.yaml").unwrap().value;
    let mut lines = vec![format!("scenario: {}", flow(&document["name"]))];
    let text = document["description"].as_str().unwrap_or_default();
    lines.extend((!text.is_empty()).then(|| format!("description: {}", flow(&document["description"]))));
    lines.extend(each(&document["plugins"], "plugin"));
    lines.extend(each(&document["setup"]["mocks"], "mock"));
    lines.extend(rest(&document["setup"], &["mocks"]));
    lines.extend((document["judgment"]["strategy"] != "all_pass").then(|| "judgment: any_pass".to_owned()));
    for message in document["gabfest"]["opening"].as_array().into_iter().flatten() {
        lines.push(format!("before it, {}", message_of(message)));
    }
    lines.extend(rest(&document["gabfest"], &["opening"]));
    for step in document["run"].as_array().into_iter().flatten() {
        step_lines(step, &mut lines);
    }
    for axis in axes.iter().filter(|axis| axis.values.len() > 1) {
        lines.push(format!("each of: {}", flow(&Value::from(axis.values.clone()))));
    }
    lines
}

fn step_lines(step: &Value, lines: &mut Vec<String>) {
    let ours = &step["gabfest"];
    lines.extend(ours["messages"].as_array().into_iter().flatten().map(message_of));
    lines.extend(step.get("input").map(|input| format!("user: {}", flow(input))));
    lines.extend(step.get("expected").map(|expected| format!("expected: {}", flow(expected))));
    lines.extend(ours.get("expected").map(|expected| format!("expected {}", message_of(expected))));
    lines.extend(step.get("code").map(|code| format!("program: {} {}", flow(&step["lang"]), flow(code))));
    lines.extend(rest(&step["conversation"], &["turn_evaluations", "final_evaluations"]));
    lines.extend(each(&step["conversation"]["turn_evaluations"], "check of every turn"));
    lines.extend(each(&step["conversation"]["final_evaluations"], "check at the end"));
    lines.extend(each(&step["evaluations"], "check"));
    lines.extend(ours.get("timeout_ms").map(|time| format!("timeout_ms: {time}")));
}

fn message_of(message: &Value) -> String {
    let said = message.get("text").unwrap_or(&message["parts"]);
    format!("{}: {}", message["speaker"].as_str().unwrap(), flow(said))
}

fn battery(script: &Script) -> Vec<String> {
    let Action::Examine(battery) = &script.scenario.steps[0].action else { panic!("only batteries are not written") };
    let names: Vec<&str> = battery.requirements().iter().map(|requirement| requirement.id()).collect();
    vec![
        format!("battery: {}", script.scenario.name),
        format!("exchanges: {}", battery.length),
        format!("runs: {}", script.repeats.unwrap_or(1)),
        format!("examined: {}", names.join(", ")),
    ]
}

fn each(list: &Value, what: &str) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| format!("{what}: {}", flow(&plain(item.clone())))).collect()
}

fn rest(map: &Value, known: &[&str]) -> Vec<String> {
    let entries = map.as_object().into_iter().flatten().filter(|(key, _)| !known.contains(&key.as_str()));
    entries.map(|(key, value)| format!("{key}: {}", flow(value))).collect()
}

/// Without the descriptions, which repeat what is written.
fn plain(mut item: Value) -> Value {
    if let Some(map) = item.as_object_mut() {
        map.remove("description");
    }
    item
}

/// YAML on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let is_plain = !text.is_empty()
                && text.parse::<f64>().is_err()
                && text.starts_with(char::is_alphanumeric)
                && text.chars().all(|letter| letter.is_alphanumeric() || " .'_?!()$-".contains(letter));
            if is_plain { text.clone() } else { value.to_string() }
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{key}: {}", flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
