//! The page: the template with its examples and its tables of keys put in.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    outline,
    row::{Group, Row},
};

/// Replaces template lines such as `{{rows NAME}}` and `{{keys FORMAT TYPE}}`.
pub(super) fn write(template: &str, groups: &[&[Group]]) -> String {
    let mut page = String::new();
    let mut used = Vec::new();
    for line in template.lines() {
        let command = line.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        match command.and_then(|command| command.split_once(' ')) {
            Some(("rows", name)) => {
                let group = groups.iter().copied().flatten().find(|group| group.name == name);
                let group = group.unwrap_or_else(|| panic!("there are no rows `{name}`"));
                group.rows.iter().for_each(|row| example(&mut page, group, row));
                used.push(name.to_owned());
            }
            Some(("keys", what)) => keys(&mut page, what),
            Some((other, _)) => panic!("`{other}` is no command"),
            None => writeln!(page, "{line}").unwrap(),
        }
    }
    for group in groups.iter().copied().flatten() {
        assert!(used.iter().any(|name| name == group.name), "the template does not name the rows `{}`", group.name);
    }
    while page.contains("\n\n\n") {
        page = page.replace("\n\n\n", "\n\n");
    }
    page
}

fn example(page: &mut String, group: &Group, row: &Row) {
    writeln!(page, "\n**{}**", row.says).unwrap();
    if let Some((there, why)) = row.there {
        writeln!(page, "*In the original:* {there}. *Why gabfest differs:* {why}.").unwrap();
    }
    fenced(page, group.fence, &flush_left(row.written));
    page.push('\n');
    for line in outline::told(group, row.written).lines {
        writeln!(page, "- {}", code(&line)).unwrap();
    }
}

/// A frame may need its example indented; the page does not.
fn flush_left(text: &str) -> String {
    let text = text.replace('\r', "");
    let indent = text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.len() - line.trim_start().len());
    let indent = indent.min().unwrap_or(0);
    text.lines().map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect()
}

fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

fn fenced(page: &mut String, kind: &str, text: &str) {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(page, "\n{fence}{kind}\n{}\n{fence}", text.trim_end_matches('\n')).unwrap();
}

/// `FORMAT` or `FORMAT TYPE`; the type is a definition of the format's schema.
fn keys(page: &mut String, what: &str) {
    let mut words = what.split(' ');
    let name = words.next().unwrap_or_default();
    let format = formats::named(name).unwrap_or_else(|| panic!("there is no format {name:?}"));
    let schema = format.schema();
    let shape = match words.next() {
        Some(name) => schema.pointer(&format!("/$defs/{name}")).unwrap_or_else(|| panic!("there is no type {name}")),
        None => &schema,
    };
    let required: Vec<&str> = shape["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    writeln!(page, "| key | default | what |\n|---|---|---|").unwrap();
    for (name, property) in shape["properties"].as_object().unwrap() {
        // A document of skUnit also carries the page itself.
        if format.name() == "skunit" && ["text", "line", "name"].contains(&name.as_str()) {
            continue;
        }
        let presence = match &property["default"] {
            _ if required.contains(&name.as_str()) => "required".to_owned(),
            Value::Null => "optional".to_owned(),
            Value::Array(list) if list.is_empty() => "none".to_owned(),
            Value::Object(map) if map.is_empty() => "none".to_owned(),
            Value::Object(_) => "optional".to_owned(),
            default => format!("`{default}`"),
        };
        let described = property["description"].as_str().or_else(|| {
            let name = property["$ref"].as_str()?.trim_start_matches('#');
            schema.pointer(name)?["description"].as_str()
        });
        let what = described.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        writeln!(page, "| `{name}` | {presence} | {what} |").unwrap();
    }
}
