//! What the judge of an evaluation sees: the keys, and the text of a policy's file.

use std::fs;

use formats::read;
use scenario::{
    Action,
    check::{JudgeSees, Judging},
};

const HEAD: &str = "name: a\ndescription: b\njudgment: {strategy: all_pass}\n";

/// Reads a scenario with the file `rules.md` in a folder above its own, and the same file beside it.
fn reading(text: &str, rules: &str) -> scenario::Reading {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &str| fs::write(folder.path().join(name), content).unwrap();
    fs::create_dir(folder.path().join("shared")).unwrap();
    put("rules.md", rules);
    put("shared/rules.md", "Of the included file.");
    put(
        "shared/checks.yaml",
        "run: [{input: hi, evaluations: [{type: rubric, criteria: [{name: kind}], policy: rules.md}]}]\n",
    );
    put("a.scenario.yaml", text);
    read::read(&[folder.path().join("a.scenario.yaml")])
}

fn step(evaluation: &str) -> String {
    format!("{HEAD}run:\n  - input: hi\n    evaluations:\n      - {evaluation}\n")
}

fn judging(text: &str) -> Judging {
    let reading = reading(text, "At most 30 EUR.");
    assert_eq!(reading.diagnostics, []);
    reading.scenarios[0].script.scenario.steps[0].checks[0].judging.clone()
}

#[test]
fn the_keys_are_read_with_the_text_of_the_policy() {
    let read = judging(&step(
        "{type: llm_judge, prompt: q, expected: 'yes', sees: [opening, system, goal, end_state], reference: 30 EUR, policy: rules.md}",
    ));
    assert_eq!(read.sees, [JudgeSees::Opening, JudgeSees::System, JudgeSees::Goal, JudgeSees::EndState]);
    assert_eq!(read.reference.as_deref(), Some("30 EUR"));
    let policy = read.policy.unwrap();
    assert_eq!((policy.path.as_str(), policy.text.as_str()), ("rules.md", "At most 30 EUR."));
}

#[test]
fn policies_of_conversations_and_of_included_files_are_read() {
    let talk = format!(
        "{HEAD}run:\n  - input: hi\n    conversation:\n      max_turns: 2\n      user_simulator: {{persona: p, objective: o}}\n      turn_evaluations: [{{type: llm_judge, prompt: q, expected: 'yes', policy: rules.md}}]\n      final_evaluations: [{{type: goal_reached, policy: rules.md}}]\n"
    );
    let reading = reading(&talk, "At most 30 EUR.");
    assert_eq!(reading.diagnostics, []);
    let Action::Converse(talk) = &reading.scenarios[0].script.scenario.steps[0].action else { panic!("a talk") };
    for check in talk.turn_checks.iter().chain(&talk.final_checks) {
        assert_eq!(check.judging.policy.as_ref().unwrap().text, "At most 30 EUR.");
    }
    let included = judging(&format!("{HEAD}gabfest: {{include: [shared/checks.yaml]}}\n"));
    assert_eq!(included.policy.unwrap().text, "Of the included file.", "a path is relative to the file it stands in");
}

#[test]
fn a_fault_has_its_line() {
    let judge = |more: &str| step(&format!("{{type: llm_judge, prompt: q, expected: 'yes', {more}}}"));
    let rows = [
        (judge("policy: other.md"), "", "7: the policy file `other.md` cannot be read"),
        (judge("policy: ../rules.md"), "", "7: the policy file `../rules.md` "),
        (judge("policy: [a]"), "", "7: expected the name of a text file for `policy`, found [\"a\"]"),
        (judge("policy: rules.md"), "long", "7: the policy `rules.md` has 65537 bytes, at most 65536 are allowed"),
        (judge("sees: [turns]"), "", "7: `sees`: unknown variant `turns`, expected one of `opening`, `system`, `goal`"),
        (judge("reference: ''"), "", "7: `reference`: expected text"),
        (step("{type: refusal, negate: true, policy: rules.md}"), "", "7: unknown key `policy`"),
    ];
    for (text, rules, expected) in rows {
        let rules = if rules == "long" { "x".repeat(65_537) } else { "Be kind.".to_owned() };
        let found: Vec<String> = reading(&text, &rules)
            .diagnostics
            .iter()
            .map(|found| format!("{}: {}", found.line, found.message))
            .collect();
        assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
    }
}
