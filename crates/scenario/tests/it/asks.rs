//! The models that scenarios need in addition to the agent, so that nothing is asked in vain if one is missing.

use std::collections::BTreeSet;

use formats::read;
use scenario::{Asks, Measure};

/// The needs of a file with this name and text: judges, measurements and simulators as words.
fn asked(name: &str, text: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let reading = read::read(&[path]);
    assert_eq!(reading.scenarios.len(), 1, "{text}: {:?}", reading.diagnostics);
    let choices = scenario::plan::Choices::default();
    let plan = scenario::plan::build(&reading, &choices).unwrap();
    let asks = Asks::of(&plan.scenario(&plan.case(0).unwrap(), formats::ALL).unwrap());
    let judges = asks.judges.iter().map(|of| format!("judge {}", of.as_deref().unwrap_or("usual")));
    let measures = asks.measures.iter().map(|measure| {
        match measure {
            Measure::Similarity => "similarity",
            Measure::Answer => "answer",
            Measure::NextSentence => "next sentence",
            Measure::Toxicity => "toxicity",
        }
        .to_owned()
    });
    let simulators = asks.simulators.iter().map(|of| format!("user {of}"));
    judges.chain(measures).chain(simulators).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn evaluations_ask_whom_they_name() {
    let rows: [(&str, &[&str]); 14] = [
        ("{ type: string_contains, value: hi }", &[]),
        ("{ type: similarity, expected: [hi], threshold: 0.5 }", &["similarity"]),
        ("{ type: semantic_condition, condition: it greets }", &["judge usual"]),
        ("{ type: llm_judge, prompt: is it kind?, expected: 'yes' }", &["judge usual"]),
        ("{ type: llm_judge, prompt: is it kind?, expected: 'yes', model_type: TEXT_LARGE }", &["judge TEXT_LARGE"]),
        ("{ type: llm_judge, prompt: is it kind?, expected: 'yes', required: false }", &[]),
        ("{ type: rubric, criteria: [{ name: kind }], panel: [A, B] }", &["judge A", "judge B"]),
        ("{ type: refusal, method: phrases }", &[]),
        ("{ type: refusal, method: llm_judge }", &["judge usual"]),
        (
            "{ type: any_of, checks: [{ type: contains, values: [a] }, { type: semantic_similar, expected: [b] }] }",
            &["judge usual"],
        ),
        (
            "{ type: regex_match, pattern: '(?<name>.)', captures: { name: [{ type: semantic_similar, expected: [b] }] } }",
            &["judge usual"],
        ),
        ("{ type: json_path, path: $.a, checks: [{ type: equals, values: [a] }] }", &[]),
        (
            "{ type: tool_calls, calls: [{ name: f, argument_checks: { a: [{ type: semantic_condition, condition: x }] } }] }",
            &["judge usual"],
        ),
        ("{ type: user_satisfaction, satisfaction_threshold: 0.5, measurement_method: keyword_analysis }", &[]),
    ];
    for (evaluation, expected) in rows {
        let text = format!(
            "name: one\ndescription: one\nrun:\n  - input: hello\n    evaluations:\n      - {evaluation}\njudgment: {{ strategy: all_pass }}\n"
        );
        assert_eq!(asked("one.scenario.yaml", &text), set(expected), "{evaluation}");
    }
}

#[test]
fn a_user_asks_a_judge_for_its_states_and_for_the_parts_of_its_goal_that_nothing_else_shows() {
    let states = "{ states: { a: { say: x, next: [{ if: { ask: is it done? }, go: b }] }, b: { end: done } } }";
    let shown = "{ goal: [{ id: a, text: t, done_when: { tool: x } }, { id: b, text: t }] }";
    for (keys, check, expected) in [
        ("{}", "{ type: contains, values: [a] }", &["user TEXT_LARGE"][..]),
        (states, "{ type: contains, values: [a] }", &["judge usual", "user TEXT_LARGE"]),
        ("{}", "{ type: goal_reached }", &["judge usual", "user TEXT_LARGE"]),
        (shown, "{ type: goal_reached }", &["judge usual", "user TEXT_LARGE"]),
        (shown, "{ type: goal_reached, parts: [a] }", &["user TEXT_LARGE"]),
        (shown, "{ type: goal_reached, parts: [b], model_type: A }", &["judge A", "user TEXT_LARGE"]),
    ] {
        let text = format!(
            "name: one\ndescription: one\nrun:\n  - conversation:\n      max_turns: 3\n      user_simulator: {{ persona: a, objective: b, gabfest: {keys} }}\n      final_evaluations:\n        - {check}\njudgment: {{ strategy: all_pass }}\n"
        );
        assert_eq!(asked("one.scenario.yaml", &text), set(expected), "{keys} {check}");
    }
}

#[test]
fn every_format_says_whom_it_needs() {
    let talk = "name: talk
description: d
run:
  - input: hello
    conversation:
      max_turns: 3
      user_simulator: { persona: a guest, objective: a greeting }
      termination_conditions: [{ type: goal_achieved, llm_judge: { prompt: is it done?, threshold: 0.8 } }]
judgment: { strategy: all_pass }
";
    let arguments = r#"[{"role": "user", "text": "hello"},
        {"role": "assistant", "tool_calls": [{"name": "f", "arguments": {"a": {"b": "<a greeting>"}}}]}]"#;
    let battery = include_str!("../../../../scenarios/emely/quality.battery.yaml");
    let rows: [(&str, &str, &[&str]); 7] = [
        ("talk.scenario.yaml", talk, &["judge usual", "user TEXT_LARGE"]),
        ("a.conversation.json", r#"[{"role": "user", "text": "hello"}, {"role": "assistant", "text": "*"}]"#, &[]),
        ("b.conversation.json", arguments, &["judge usual"]),
        ("a.skunit.md", "## [USER]\nhello\n## [AGENT]\nhi\n### CHECK ContainsAny\nhi, hello\n", &[]),
        ("b.skunit.md", "## [USER]\nhello\n## [AGENT]\nhi\n### CHECK SemanticSimilar\nhi\n", &["judge usual"]),
        ("a.battery.yaml", battery, &["answer", "next sentence", "similarity", "toxicity", "user TEXT_LARGE"]),
        ("a.qna", "# ? hello\n```markdown\nhi\n```\n", &[]),
    ];
    for (name, text, expected) in rows {
        assert_eq!(asked(name, text), set(expected), "{name}");
    }
}
