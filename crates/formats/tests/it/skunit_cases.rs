//! The real skUnit files and facts of the cases folder, which `GABFEST_CASES` names.

use std::path::{Path, PathBuf};

use formats::read;
use scenario::{
    Check, Rule, check,
    message::{Part, Speaker},
};
use serde_json::Value;

use super::skunit;

/// Findings about valid files, and the reasons: (part of the path, line, message, reason).
const FINDINGS: &[(&str, u32, &str, &str)] = &[
    ("BackwardCompatibility_TextOnly", 1, "has no check", "upstream passes what nobody checked"),
    ("MixedAgentAndAssistant", 1, "has no check", "upstream passes what nobody checked"),
    ("MultiModal_ImageOnly", 1, "has no check", "upstream passes what nobody checked"),
    ("MultipleScenarios_Agent", 1, "has no check", "upstream passes what nobody checked"),
    ("MultipleScenarios_Agent", 11, "has no check", "upstream passes what nobody checked"),
    ("MultiModal_ToChatMessage", 3, "is never sent", "upstream drops the last message of the user in silence"),
    ("SentimentHappy/sktest.md", 30, "never sees the parameter `options`", "there is no function to hand it to"),
    (
        "invoke__ParseScenario_Complex",
        6,
        "never sees the parameter `input`",
        "the prompt of the test names no variable",
    ),
    (
        "invoke__ParseScenario_Complex",
        14,
        "never sees the parameter `options`",
        "the prompt of the test names no variable",
    ),
    (
        "invoke__ParseScenario_SpecialId",
        6,
        "never sees the parameter `input`",
        "the prompt of the test names no variable",
    ),
    (
        "invoke__ParseScenario_SpecialId",
        14,
        "never sees the parameter `options`",
        "the prompt of the test names no variable",
    ),
    (
        "invoke__ParseScenario_SpecialId",
        30,
        "never sees the parameter `input`",
        "the prompt of the test names no variable",
    ),
    (
        "invoke__ParseScenario_SpecialId",
        38,
        "never sees the parameter `options`",
        "the prompt of the test names no variable",
    ),
    (
        "head-0b21ae14/src/skUnit.Tests/RunnerTests/Samples/EiffelAndMouseChat.md",
        27,
        "the condition is worded with `not`",
        "judges misread negated conditions",
    ),
    (
        "head-0b21ae14/src/skUnit.Tests/RunnerTests/Samples/EiffelTallChatWrong.md",
        9,
        "the condition is worded with `not`",
        "judges misread negated conditions",
    ),
];

fn folder(skipped: &str) -> Option<PathBuf> {
    cases::folder("skunit", skipped)
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_real_file_is_read_without_an_unexplained_word() {
    let Some(folder) = folder("29 real skUnit files") else { return };
    let mut files = Vec::new();
    for part in ["extracted-parse-tests", "head-0b21ae14", "history-299d6db5"] {
        pages(&folder.join(part), &mut files);
    }
    assert!(files.len() >= 29, "{files:#?}");
    let (mut wrong, mut used) = (Vec::new(), vec![0; FINDINGS.len()]);
    for file in files {
        let reading = read::read(std::slice::from_ref(&file));
        if reading.scenarios.is_empty() {
            wrong.push(format!("{}: no scenario", file.display()));
        }
        for found in &reading.diagnostics {
            let known = FINDINGS.iter().position(|(path, line, message, _)| {
                found.path.contains(path) && found.line == *line && found.message.contains(message)
            });
            match known.filter(|_| !found.is_error()) {
                Some(row) => used[row] += 1,
                None => wrong.push(found.to_string()),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(used.iter().all(|count| *count == 1), "{used:?}");
    assert!(FINDINGS.iter().all(|(.., reason)| !reason.is_empty()));
}

#[test]
fn a_folder_of_samples_is_found_by_its_headings() {
    let Some(folder) = folder("a folder of skUnit samples") else { return };
    let reading = read::read(&[folder.join("head-0b21ae14"), folder.join("history-299d6db5")]);
    assert_eq!(reading.scenarios.len(), 15, "{:#?}", reading.diagnostics);
    let docs = read::read(&[folder.join("docs-0b21ae14")]);
    assert!(docs.scenarios.is_empty(), "pages about scenarios are none");
}

#[test]
fn texts_have_the_meaning_of_upstreams_tests() {
    let Some(folder) = folder("18 facts of upstream's parser tests") else { return };
    let folder = folder.join("extracted-parse-tests");
    let facts: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    for (name, fact) in facts.as_object().unwrap() {
        let (scripts, findings) = skunit::read(&std::fs::read_to_string(folder.join(name)).unwrap());
        // A user's message that no agent's turn follows is no step of ours.
        let is_unanswered = name.contains("ToChatMessage");
        assert_eq!(scripts.len() as u64, fact["scenarios"].as_u64().unwrap(), "{name}: {findings:?}");
        let first = &scripts[0].scenario;
        let said = skunit::said(first);
        let count =
            |key: &str| fact[key].as_array().map(|list| list.iter().map(|n| n.as_u64().unwrap()).collect::<Vec<_>>());
        if let Some(items) = count("items").filter(|_| !is_unanswered) {
            let found: Vec<u64> = scripts.iter().map(|script| skunit::said(&script.scenario).len() as u64).collect();
            assert_eq!(found, items, "{name}");
        }
        if let Some(description) = fact["description"].as_str() {
            assert!(scripts.iter().all(|script| script.scenario.name == description), "{name}");
        }
        if let Some(roles) = fact["roles"].as_array().filter(|_| !is_unanswered) {
            for (script, roles) in scripts.iter().zip(roles) {
                let found: Vec<Value> = skunit::said(&script.scenario)
                    .iter()
                    .map(|message| if message.speaker == Speaker::Agent { "assistant" } else { message.speaker.name() })
                    .map(Value::from)
                    .collect();
                assert_eq!(&Value::from(found), roles, "{name}");
            }
        }
        for (script, texts) in scripts.iter().zip(fact["texts"].as_array().into_iter().flatten()) {
            let found: Vec<String> = skunit::said(&script.scenario).iter().map(scenario::Message::text).collect();
            assert_eq!(&Value::from(found), texts, "{name}");
        }
        for (index, text) in fact["text_at"].as_object().into_iter().flatten() {
            assert_eq!(said[index.parse::<usize>().unwrap()].text(), text.as_str().unwrap(), "{name}");
        }
        for (index, parts) in fact["contents"].as_object().into_iter().flatten().filter(|_| !is_unanswered) {
            contents(&said[index.parse::<usize>().unwrap()].parts, parts.as_array().unwrap(), name);
        }
        // Items count from 0, and every second one is the agent's.
        let checks_of = |index: &str| &first.steps[index.parse::<usize>().unwrap() / 2].checks;
        for (index, count) in fact["assertions_on_item"].as_object().into_iter().flatten() {
            assert_eq!(checks_of(index).len() as u64, count.as_u64().unwrap(), "{name}");
        }
        for (index, types) in fact["assertion_types"].as_object().into_iter().flatten() {
            let found: Vec<&str> = checks_of(index).iter().map(kind).collect();
            assert_eq!(&Value::from(found), types, "{name}");
        }
        if let Some(function) = fact["function_call"]["function_name"].as_str() {
            let Rule::ToolCalls(rule) = &first.steps[0].checks[0].rule else { panic!("{name}") };
            assert_eq!(rule.calls[0].name, function);
        }
        invocation(name, fact, &scripts.iter().map(|script| &script.scenario).collect::<Vec<_>>());
    }
}

fn invocation(name: &str, fact: &Value, scenarios: &[&scenario::Scenario]) {
    if fact["kind"] != "invocation" {
        return;
    }
    for scenario in scenarios {
        let said = skunit::said(scenario);
        if let Some(prompt) = fact["prompt"].as_str() {
            assert_eq!(said[0].text(), prompt, "{name}");
        }
        if let Some(answer) = fact["expected_answer"].as_str() {
            assert_eq!(said[1].text(), answer, "{name}");
        }
    }
    let asks_input = fact["prompt"].is_null();
    for word in fact["parameter_contains"]["input"].as_array().into_iter().flatten().filter(|_| asks_input) {
        assert!(skunit::said(scenarios[0])[0].text().contains(word.as_str().unwrap()), "{name}: {word}");
    }
    if let Some(assertions) = fact["assertions"].as_array() {
        let found: Vec<String> =
            scenarios[0].steps[0].checks.iter().map(|check| format!("{}({})", kind(check), text(check))).collect();
        assert_eq!(&Value::from(found), &Value::from(assertions.clone()), "{name}");
    }
    for (scenario, kinds) in scenarios.iter().zip(fact["assertions_per_scenario"].as_array().into_iter().flatten()) {
        let found: Vec<&str> = scenario.steps[0].checks.iter().map(kind).collect();
        assert_eq!(&Value::from(found), kinds, "{name}");
    }
}

fn contents(parts: &[Part], expected: &[Value], name: &str) {
    assert_eq!(parts.len(), expected.len(), "{name}");
    for (part, expected) in parts.iter().zip(expected) {
        match part {
            Part::Image(address) => assert_eq!(expected["image"], address.as_str(), "{name}"),
            Part::Text(text) => {
                let holds = expected["text_contains"].as_str().is_some_and(|piece| text.contains(piece));
                assert!(holds || expected["text"] == text.as_str(), "{name}: {text}");
            }
        }
    }
}

fn kind(check: &Check) -> &'static str {
    match &check.rule {
        Rule::SemanticCondition(_) => "SemanticCondition",
        Rule::SemanticSimilar(_) => "SemanticSimilar",
        Rule::Contains(check::Contains { any: false, .. }) => "ContainsAll",
        other => other.kind(),
    }
}

fn text(check: &Check) -> &str {
    match &check.rule {
        Rule::SemanticCondition(check::SemanticCondition { condition }) => condition,
        Rule::SemanticSimilar(check::SemanticSimilar { expected, .. }) => &expected[0],
        _ => "",
    }
}

#[test]
fn the_examples_of_the_documentation_are_sound() {
    let Some(folder) = folder("the examples of skUnit's documentation") else { return };
    let mut files = Vec::new();
    pages(&folder.join("docs-0b21ae14"), &mut files);
    let (mut read, mut wrong) = (0, Vec::new());
    for file in files {
        let page = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        for example in examples(&page) {
            // Fences also show logs and single checks.
            let is_whole = (example.contains("[USER]")
                && (example.contains("[AGENT]") || example.contains("[ASSISTANT]")))
                || (example.contains("PARAMETER") && example.contains("ANSWER"));
            if !is_whole {
                continue;
            }
            read += 1;
            let (documents, mut found) = formats::skunit::FORMAT.open(&example, "x.md");
            found.extend(documents.iter().flat_map(|document| formats::skunit::FORMAT.read(document).1));
            wrong.extend(
                found
                    .iter()
                    .filter(|found| found.is_error())
                    .map(|found| format!("{}: {found}\n{example}", file.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read >= 15, "{read}");
}

/// The texts in fences of a page.
fn examples(page: &str) -> Vec<String> {
    let (mut examples, mut open) = (Vec::new(), None::<(String, Vec<&str>)>);
    for line in page.lines() {
        let mark: String = line.chars().take_while(|c| *c == '`').collect();
        match &mut open {
            None if mark.len() >= 3 => open = Some((mark, Vec::new())),
            None => {}
            Some((fence, lines)) if line.trim_end() == fence => {
                examples.push(lines.join("\n"));
                open = None;
            }
            Some((_, lines)) => lines.push(line),
        }
    }
    examples
}
