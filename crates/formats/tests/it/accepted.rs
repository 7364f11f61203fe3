//! What valid files become: every field in its place, every default as documented, every warning where it belongs.

use scenario::{
    Action, Conversation, Rule, Scenario, Strategy,
    check::{self, Expected, SatisfactionMethod},
    conversation::{Condition, KnowledgeLevel},
    message::Speaker,
};

pub(crate) fn read(text: &str) -> (Option<Scenario>, Vec<String>) {
    let document = yaml::open(text, "x.scenario.yaml").unwrap();
    let (script, findings) = formats::eliza::FORMAT.read(&document);
    let findings = findings.iter().map(|found| format!("{found} | {}", found.help.as_deref().unwrap_or("-"))).collect();
    (script.map(|script| script.scenario), findings)
}

/// A conversation with defaults only.
pub(crate) fn smallest_conversation() -> Conversation {
    let text = "name: a\ndescription: b\njudgment: {strategy: any_pass}\nrun:\n  - conversation:\n      max_turns: 2\n      \
                user_simulator: {persona: p, objective: o}\n      termination_conditions:\n        - type: goal_achieved\n          \
                llm_judge: {prompt: q}\n";
    let (scenario, findings) = read(text);
    assert_eq!(findings, Vec::<String>::new());
    match scenario.unwrap().steps.remove(0).action {
        Action::Converse(conversation) => *conversation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults_are_filled_in() {
    let conversation = smallest_conversation();
    assert_eq!(conversation.opening_line, "Hello, I need help.");
    assert_eq!((conversation.turn_timeout_ms, conversation.total_timeout_ms), (30_000, 300_000));
    assert_eq!(conversation.simulator.model_type, "TEXT_LARGE");
    assert_eq!((conversation.simulator.temperature, conversation.simulator.max_tokens), (0.7, 200));
    assert_eq!(conversation.simulator.knowledge_level, KnowledgeLevel::Intermediate);
    assert!(conversation.debug.export_full_transcript && !conversation.debug.log_user_simulation);
    assert_eq!(conversation.stops[0].judge.as_ref().unwrap().threshold, 0.8);
    let (scenario, _) = read("name: a\ndescription: b\nrun: [{input: hi}, {code: ls}]\njudgment: {strategy: all_pass}");
    let scenario = scenario.unwrap();
    assert_eq!((scenario.weight, scenario.required_pass_rate, scenario.strategy), (1.0, None, Strategy::AllPass));
    assert!(matches!(&scenario.steps[0].action, Action::Say { timeout_ms: 90_000, .. }));
    assert!(
        matches!(&scenario.steps[1].action, Action::Execute { language, code } if language == "bash" && code == "ls")
    );
}

#[test]
fn every_section_of_the_good_file_arrives() {
    let (scenario, findings) = read(super::GOOD);
    assert_eq!(findings, Vec::<String>::new());
    let scenario = scenario.unwrap();
    assert_eq!(scenario.plugins[1].version.as_deref(), Some("1.0.0"));
    assert_eq!(scenario.environment.files["notes.txt"], "hello");
    assert_eq!(scenario.environment.files["etc/app.json"], "{\"a\": 1}", "an absolute path is taken from the root");
    assert_eq!(scenario.environment.databases[0].files[0].0, "seed.sql");
    assert_eq!((scenario.mocks[0].delay_ms, scenario.mocks[0].failure_probability), (100, 0.1));
    assert_eq!(scenario.mocks[0].error.as_ref().unwrap().status, Some(429));
    assert_eq!(scenario.opening[0].speaker, Speaker::System);
    let Action::Converse(conversation) = &scenario.steps[0].action else { panic!() };
    assert_eq!(conversation.opening_line, "I was charged twice");
    assert_eq!(conversation.stops[2].hook.as_deref(), Some("ticket-closed"));
    assert_eq!(conversation.stops[0].condition, Condition::UserExpressesSatisfaction);
    let kinds: Vec<&str> = conversation.final_checks.iter().map(|check| check.rule.kind()).collect();
    assert_eq!(kinds, ["conversation_length", "conversation_flow", "user_satisfaction", "context_retention"]);
    assert!(matches!(
        conversation.final_checks[2].rule,
        Rule::UserSatisfaction(check::UserSatisfaction { method: SatisfactionMethod::KeywordAnalysis, .. })
    ));
    assert!(
        matches!(&scenario.steps[1].checks[3].rule, Rule::LlmJudge(judge) if judge.expected == Expected::AtLeast(0.8))
    );
    let line =
        |text: &str| u32::try_from(1 + super::GOOD[..super::GOOD.find(text).unwrap()].matches('\n').count()).unwrap();
    assert_eq!(scenario.steps[1].line, line("name: One question"));
    assert_eq!(scenario.steps[0].checks[0].line, line("type: string_contains"));
}

#[test]
fn the_good_file_becomes_this_scenario() {
    let scenario = read(super::GOOD).0.unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&scenario).unwrap());
}

#[test]
fn the_grammar_of_expected() {
    let rows: &[(&str, Expected)] = &[
        ("'yes'", Expected::Yes),
        ("YES", Expected::Yes),
        ("no", Expected::No),
        ("0.8+", Expected::AtLeast(0.8)),
        ("'1 +'", Expected::AtLeast(1.0)),
        ("0.3-", Expected::AtMost(0.3)),
        ("0.4-0.6", Expected::Between(0.4, 0.6)),
        ("'.4 - 0.6'", Expected::Between(0.4, 0.6)),
        ("0.5-0.5", Expected::Between(0.5, 0.5)),
        ("partially", Expected::Says("partially".to_owned())),
        ("well-formed", Expected::Says("well-formed".to_owned())),
        ("C++", Expected::Says("C++".to_owned())),
    ];
    for (written, expected) in rows {
        let text = format!(
            "name: a\ndescription: b\njudgment: {{strategy: all_pass}}\nrun: [{{input: hi, evaluations: [{{type: llm_judge, prompt: p, expected: {written}}}]}}]"
        );
        let (scenario, findings) = read(&text);
        assert_eq!(findings, Vec::<String>::new(), "{written}");
        match &scenario.unwrap().steps[0].checks[0].rule {
            Rule::LlmJudge(judge) => assert_eq!(&judge.expected, expected, "{written}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn unknown_keys_are_warnings_with_a_hint() {
    let rows = [
        ("        style: friendly", "        stlye: friendly", "warning: unknown key `stlye` | did you mean `style`?"),
        ("judgment:", "character: {name: x}\njudgment:", "warning: unknown key `character` | it is ignored"),
        (
            "      metadata:\n",
            "      metdata: 1\n      metadata:\n",
            "warning: unknown key `metdata` | did you mean `metadata`?",
        ),
        (
            "        case_sensitive: true",
            "        caseSensitive: true",
            "warning: unknown key `caseSensitive` | did you mean `case_sensitive`?",
        ),
        (
            "    input: What is 2 + 2?",
            "    input: What?\n    code: ls",
            "warning: `code` has no effect beside `input` | -",
        ),
        (
            "          gabfest:\n            hook: ticket-closed\n",
            "",
            "warning: `custom_condition` never holds: nothing evaluates it",
        ),
        ("'@elizaos/plugin-bootstrap'", "my-plugin", "warning: `my-plugin` is not the name of an ElizaOS plugin"),
    ];
    for (old, new, expected) in rows {
        let (scenario, findings) = read(&super::GOOD.replacen(old, new, 1));
        assert!(scenario.is_some(), "{new}: {findings:?}");
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].contains(expected), "{findings:?}");
    }
}

#[test]
fn the_environment_e2b_is_read_with_a_warning() {
    let text =
        "name: a\ndescription: b\nenvironment:\n  type: e2b\njudgment: {strategy: all_pass}\nrun: [{input: hi}]\n";
    let (script, found) = formats::eliza::FORMAT.read(&yaml::open(text, "x.yaml").unwrap());
    assert!(script.is_some());
    let [found] = found.as_slice() else { panic!("{found:#?}") };
    assert!(!found.is_error() && found.line == 4 && found.message.contains("has no effect"), "{found:#?}");
    assert!(found.help.as_deref().is_some_and(|help| help.contains("`type: local`")), "{found:#?}");
}

#[test]
fn all_faults_of_a_file_are_found_in_one_reading() {
    let text = super::GOOD
        .replacen("temperature: 0.6", "temperature: 3", 1)
        .replacen("max_tokens: 150", "max_tokens: 9", 1)
        .replacen("        persona: polite customer\n", "", 1)
        .replacen("type: execution_time", "type: execution_tiem", 1)
        .replacen("strategy: all_pass", "strategy: some_pass", 1);
    let (scenario, findings) = read(&text);
    assert!(scenario.is_none());
    assert_eq!(findings.len(), 5, "{findings:#?}");
}

#[test]
fn merge_keys_aliases_marks_and_line_ends_are_understood() {
    let text = "\u{feff}name: a\r\ndescription: b\r\ngabfest: {tags: &tags [x]}\r\njudgment: {strategy: all_pass}\r\nrun:\r\n  - &first\r\n    input: hi\r\n    evaluations:\r\n      - type: string_contains\r\n        value: *word\r\n  - <<: *first\r\n    name: again\r\n"
        .replace("b\r\n", "&word b\r\n");
    let (scenario, findings) = read(&text);
    assert_eq!(findings, Vec::<String>::new());
    let scenario = scenario.unwrap();
    assert_eq!(scenario.steps[1].name.as_deref(), Some("again"));
    assert_eq!(scenario.steps[0].checks, scenario.steps[1].checks);
    assert_eq!(scenario.steps[0].checks[0].line, 9);
}

#[test]
fn names_and_turns_of_evaluations_have_their_place() {
    let text = |of_turns: &str, at_the_end: &str| {
        format!(
            "name: a\ndescription: b\njudgment: {{strategy: all_pass}}\nrun:\n  - input: hi\n    conversation:\n      max_turns: 3\n      user_simulator: {{persona: p, objective: o}}\n      turn_evaluations:\n        - {{type: empty, negate: true{of_turns}}}\n      final_evaluations:\n        - {{type: empty, negate: true{at_the_end}}}\n"
        )
    };
    for (of_turns, at_the_end, says) in [
        (", turn: 4", "", "`turn` is 4, and the conversation has at most 3 turns"),
        (", turn: 0", "", "expected a number of a turn"),
        (", turn: first", "", "expected a number of a turn"),
        (", name: ''", "", "expected a text of 1 to 100 bytes for `name`"),
        (", name: 7", "", "expected a text of 1 to 100 bytes for `name`"),
        ("", ", turn: 2", "`turn` has an effect in `turn_evaluations` only"),
    ] {
        let (_, findings) = read(&text(of_turns, at_the_end));
        assert!(findings.len() == 1 && findings[0].contains(says), "{of_turns}{at_the_end}: {findings:?}");
    }
    let (scenario, findings) = read(&text(", turn: 3, name: tone", ", name: tone"));
    assert_eq!(findings, Vec::<String>::new());
    let checks: Vec<_> =
        scenario.as_ref().unwrap().checks().map(|check| (check.name.as_deref(), check.at_turn)).collect();
    assert_eq!(checks, [(Some("tone"), Some(3)), (Some("tone"), None)]);
}
