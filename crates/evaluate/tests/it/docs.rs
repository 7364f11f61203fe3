//! docs/evaluators.md is written from the JSON Schema and from the rows: this regenerates it and compares.

use std::fmt::Write as _;

use serde_json::Value;

use crate::rows::{self, Says, Seen};

const HEAD: &str = include_str!("docs/head.md");

#[test]
fn the_page_is_what_the_rows_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evaluators.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == page,
        "docs/evaluators.md is out of date: UPDATE_DOCS=1 cargo nextest run -p gabfest-evaluate docs"
    );
}

fn page() -> String {
    let schema = formats::eliza::FORMAT.schema();
    let mut page = HEAD.to_owned();
    let choices = schema.pointer("/$defs/Evaluation/oneOf").unwrap().as_array().unwrap();
    let mut sections = String::new();
    page.push_str("| kind | what |\n|---|---|\n");
    for choice in choices {
        let kind = choice.pointer("/properties/type/const").unwrap().as_str().unwrap();
        let fields = resolve(&schema, choice);
        let what = flat(fields["description"].as_str().unwrap());
        writeln!(page, "| [`{kind}`](#{kind}) | {what} |").unwrap();
        section(&mut sections, &schema, kind, fields);
    }
    page.push_str(&sections);
    page
}

fn section(page: &mut String, schema: &Value, kind: &str, fields: &Value) {
    writeln!(page, "\n## {kind}\n\n{}\n", flat(fields["description"].as_str().unwrap())).unwrap();
    let required: Vec<&str> = fields["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let keys = fields["properties"].as_object().unwrap().iter().filter(|(name, _)| *name != "description");
    let mut table = String::new();
    for (name, property) in keys {
        let presence = match &property["default"] {
            _ if required.contains(&name.as_str()) => "required".to_owned(),
            Value::Null => "optional".to_owned(),
            default => format!("`{default}`"),
        };
        let choice: Vec<String> = words(resolve(schema, property)).iter().map(|word| format!("`{word}`")).collect();
        let choice = if choice.is_empty() { String::new() } else { format!(" One of {}.", choice.join(", ")) };
        let what = flat(property["description"].as_str().unwrap_or_default());
        writeln!(table, "| `{name}` | {presence} | {what}{choice} |").unwrap();
    }
    if !table.is_empty() {
        writeln!(page, "| key | default | what |\n|---|---|---|\n{table}").unwrap();
    }
    let mut last = "";
    let mut count = 0;
    for row in rows::all().filter(|row| rows::read(row.check).rule.kind() == kind) {
        count += 1;
        if row.check != last {
            writeln!(
                page,
                "{}```yaml\n- {}\n```\n",
                if last.is_empty() { "" } else { "\n" },
                row.check.replace('\n', "\n  ")
            )
            .unwrap();
            last = row.check;
        }
        let judges: Vec<String> = row.judges.iter().map(says).collect();
        let judges = if judges.is_empty() { String::new() } else { format!("; the judge: {}", judges.join(", ")) };
        let because = if row.reason.is_empty() { String::new() } else { format!(" (… {} …)", row.reason) };
        writeln!(page, "- {}{judges} → **{}**{because}", happened(&row.seen), row.finding.name()).unwrap();
    }
    assert!(count > 0, "{kind} has no row");
}

fn happened(seen: &Seen) -> String {
    let code = |text: &str| format!("`` {} ``", text.replace('\n', "⏎").replace('\r', ""));
    match seen {
        Seen::Reply(reply) if reply.trim().is_empty() => "an empty reply".to_owned(),
        Seen::Reply(reply) => code(reply),
        Seen::Calls([]) => "no calls".to_owned(),
        Seen::Calls(calls) | Seen::UserCalls(calls) => {
            let call = |(name, arguments, result): &(&str, &str, Option<&str>)| {
                let result = result.map_or(String::new(), |result| format!(" = {result}"));
                code(&format!("{name}({arguments}){result}"))
            };
            let who = if matches!(seen, Seen::UserCalls(_)) { "the user calls" } else { "calls" };
            format!("{who} {}", calls.iter().map(call).collect::<Vec<_>>().join(", "))
        }
        Seen::Talk(turns) => {
            turns.iter().map(|(user, agent)| format!("user: “{user}” agent: “{agent}”")).collect::<Vec<_>>().join(" ")
        }
        Seen::Took(Some(first), total) => format!("first token after {first} ms, whole reply after {total} ms"),
        Seen::Took(None, total) => format!("a reply after {total} ms, not streamed"),
        Seen::State(json) => format!("the state of the mocks `{json}`"),
        Seen::Used(tokens, cost) => {
            let cost = cost.map_or("without a price".to_owned(), |nanos| format!("for ${}", nanos as f64 / 1e9));
            format!("a reply of {tokens} tokens {cost}")
        }
    }
}

fn says(says: &Says) -> String {
    match says {
        Says::Yes => "yes".to_owned(),
        Says::No => "no".to_owned(),
        Says::Word(word) => (*word).to_owned(),
        Says::Score(score) | Says::Alike(score) => score.to_string(),
        Says::Mark(mark) => (*mark).to_owned(),
        Says::Point(point) => point.to_string(),
        Says::Sheet(marks) => marks.join(" and "),
        Says::Result(text) => format!("`{text}`"),
        Says::Prose => "prose".to_owned(),
    }
}

/// The possible words, if the schema has a choice.
fn words(schema: &Value) -> Vec<String> {
    let own = schema["enum"].as_array().into_iter().flatten();
    let each = schema["oneOf"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|choice| choice.get("const").or_else(|| choice["enum"].as_array()?.first()));
    own.chain(each).filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    schema["$ref"].as_str().map_or(schema, |name| root.pointer(name.trim_start_matches('#')).unwrap())
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
