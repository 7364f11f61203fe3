//! Expected conversations as they are read: the real ones, and each fault at its line.

use formats::read;
use scenario::{Action, History, OnFailure, Rule, Scenario, check, format::Script};

fn read_text(text: &str) -> (Option<Script>, Vec<String>) {
    let (documents, mut findings) = formats::line::FORMAT.open(text, "x.conversation.yaml");
    let script = documents.first().and_then(|document| {
        let (script, found) = formats::line::FORMAT.read(document);
        findings.extend(found);
        script
    });
    (script, findings.iter().map(|found| format!("{}: {}", found.line, found.message)).collect())
}

fn good(text: &str) -> Scenario {
    let (script, findings) = read_text(text);
    assert_eq!(findings, Vec::<String>::new());
    script.unwrap().scenario
}

#[test]
fn a_mapping_says_more_than_a_list() {
    let text = r#"
name: Weather
tags: [weather]
test_note: the tool is called once
repeats: 8
conversation:
  - {role: assistant, text: Hello!}
  - {role: user, text: What is the weather?}
  - role: assistant
    text: ["It is sunny", "<mentions the weather>"]
    tool_calls: [{name: get_weather, arguments: {city: "*"}}]
"#;
    let (script, findings) = read_text(text);
    assert_eq!(findings, Vec::<String>::new());
    let script = script.unwrap();
    assert_eq!(script.repeats, Some(8));
    let scenario = script.scenario;
    assert_eq!(
        (scenario.name.as_str(), scenario.history, scenario.on_failure),
        ("Weather", History::Actual, OnFailure::Stop)
    );
    assert_eq!(scenario.opening[0].text(), "Hello!");
    let step = &scenario.steps[0];
    assert_eq!(step.line, 8);
    assert!(matches!(&step.action, Action::Say { messages, expected: Some(expected), .. }
        if messages[0].text() == "What is the weather?" && expected.text() == "It is sunny"));
    let kinds: Vec<(&str, u32)> = step.checks.iter().map(|check| (check.rule.kind(), check.line)).collect();
    assert_eq!(kinds, [("any_of", 10), ("tool_calls", 11), ("telephony_events", 9)]);
    assert_eq!(step.checks[0].description.as_deref(), Some("the tool is called once"));
}

#[test]
fn a_list_that_is_no_conversation_gets_one_error() {
    for text in ["[1, 2, {a: 1}]", "[]", "conversation: [hello, {text: hi}]", "[[user, hi]]"] {
        let (script, found) = read_text(text);
        assert!(script.is_none() && found.len() == 1, "{text}: {found:#?}");
    }
    assert!(read_text("[1, {a: 1}]").1[0].contains("none of its items has a `role`"));
}

#[test]
fn a_bare_list_is_named_after_its_file() {
    let scenario = good(r#"[{"role": "user", "text": "Hi"}, {"role": "assistant", "text": "*"}]"#);
    assert_eq!(scenario.name, "x");
    // Any text is right, but no action is.
    let kinds: Vec<&str> = scenario.steps[0].checks.iter().map(|check| check.rule.kind()).collect();
    assert_eq!(kinds, ["tool_calls", "telephony_events"]);
    assert!(matches!(&scenario.steps[0].action, Action::Say { expected: None, .. }));
}

#[test]
fn each_fault_is_found_at_its_line() {
    for (text, findings) in [
        ("[]", vec!["1: the conversation has no turns"]),
        ("- {role: user, text: a}", vec!["1: the conversation ends with the user"]),
        (
            "- {role: user, text: a}\n- {role: assistant, text: <does not apologise>, tool_calls: [{name: t, arguments: {c: <is never empty>}}]}",
            vec!["2: the condition is worded with `not`", "2: the condition is worded with `never`"],
        ),
        ("- {role: assistant, text: a}", vec!["1: there is no user turn"]),
        ("- {role: user, text: a}\n- {role: user, text: b}\n- {role: assistant}", vec!["2: two turns of the user"]),
        ("- {role: system, text: a}\n- {role: assistant}", vec!["1: unknown word `system`"]),
        ("- {role: user, text: [a, b]}\n- {role: assistant}", vec!["1: a user turn has exactly one text"]),
        ("- {role: user}\n- {role: assistant}", vec!["1: a user turn has exactly one text"]),
        ("- {role: user, text: a}\n- {role: assistant, text: []}", vec!["2: expected a text, or a list"]),
        ("- {role: user, text: a}\n- {role: assistant, txt: b}", vec!["2: unknown key `txt`"]),
        ("- {role: user, text: a}\n- role: assistant\n  tool_calls: [{arguments: {}}]", vec!["3: missing key `name`"]),
        (
            "- {role: user, text: a}\n- role: assistant\n  tool_calls: [{name: t, arguments: [1]}]",
            vec!["3: expected the arguments by name"],
        ),
        (
            "- {role: user, text: a}\n- role: assistant\n  telephony_events: [{type: hang_up}]",
            vec!["3: unknown word `hang_up`"],
        ),
        (
            "- {role: assistant, text: \"*\"}\n- {role: user, text: a}\n- {role: assistant}",
            vec!["1: the agent's first words are a pattern"],
        ),
        ("name: x\nconversation: []", vec!["2: the conversation has no turns"]),
        ("name: x", vec!["1: the conversation has no turns"]),
        ("7", vec!["1: expected a mapping, found a number"]),
    ] {
        let (_, found) = read_text(text);
        assert_eq!(found.len(), findings.len(), "{text}: {found:#?}");
        for (found, expected) in found.iter().zip(findings) {
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }
}

#[test]
fn the_real_conversations_are_read() {
    let Some(folder) = cases::folder("line", "4 real expected conversations") else { return };
    let reading = read::read(&[folder]);
    assert!(reading.diagnostics.is_empty(), "{:#?}", reading.diagnostics);
    let found: Vec<(&str, usize)> = reading
        .scenarios
        .iter()
        .map(|file| (file.script.scenario.name.as_str(), file.script.scenario.steps.len()))
        .collect();
    assert_eq!(found, [("basic_chat", 2), ("cold_transfer", 1), ("ivr_multi_step", 2), ("readme_weather", 2)]);
    let silent = &reading.scenarios[2].script.scenario.steps[0].checks;
    assert_eq!(silent[0].rule, Rule::Empty(check::Empty {}));
    assert_eq!(silent[2].rule, Rule::TelephonyEvents(check::TelephonyEvents { expected: vec!["dtmf 0".to_owned()] }));
}
