//! Keys of a simulated user that exist only in gabfest: their effect, and their faults.

use std::{fs, path::Path};

use formats::read;
use scenario::{Action, conversation::Simulator};

const USER: &str = "\
name: Talk
description: d
judgment: {strategy: all_pass}
run:
  - conversation:
      max_turns: 4
      user_simulator:
        persona: p
        objective: o
        gabfest:
";

/// A scenario with these lines below `gabfest`, and a prompt file in its folder.
fn reading(keys: &str, prompt: &str) -> scenario::Reading {
    let folder = tempfile::tempdir().unwrap();
    let keys: String = keys.lines().map(|line| format!("          {line}\n")).collect();
    put(folder.path(), "talk.scenario.yaml", &format!("{USER}{keys}"));
    put(folder.path(), "user.j2", prompt);
    read::read(&[folder.path().join("talk.scenario.yaml")])
}

fn put(folder: &Path, name: &str, content: &str) {
    fs::write(folder.join(name), content).unwrap();
}

fn findings(keys: &str, prompt: &str) -> Vec<String> {
    let reading = reading(keys, prompt);
    let shown = reading
        .diagnostics
        .iter()
        .map(|found| format!("{}: {} ({})", found.line, found.message, found.help.as_deref().unwrap_or_default()));
    shown.collect()
}

fn simulator(keys: &str, prompt: &str) -> (Simulator, u32) {
    let reading = reading(keys, prompt);
    assert_eq!(reading.diagnostics, []);
    let Action::Converse(conversation) = &reading.scenarios[0].script.scenario.steps[0].action else {
        panic!("a conversation")
    };
    (conversation.simulator.clone(), conversation.most_turns())
}

#[test]
fn the_keys_are_read_with_the_text_of_the_prompt_file() {
    let keys = "agent_is: the assistant of a shop\n\
                facts:\n  order: {value: W-4711, asked_by: [order number]}\n  card: {value: '4242', tell: never}\n\
                unknown: [warranty number]\n\
                goal:\n  - {id: refund, text: 30 EUR back}\n  - {id: mail, text: a mail, after: [refund]}\n\
                stops: {min_turns: 3}\n\
                max_turns: 60\n\
                history: {tokens: 900}\n\
                prompt: user.j2\n\
                reply: json";
    let (simulator, most) = simulator(keys, "{{ objective }} {{ reply_form }}");
    let extras = &simulator.extras;
    assert_eq!((most, extras.agent_is(), extras.history_tokens()), (60, "the assistant of a shop", 900));
    assert_eq!(extras.facts.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["order", "card"]);
    assert_eq!((extras.stops().min_turns.0, extras.stops().patience.0), (3, 6));
    assert_eq!(extras.prompt.as_ref().unwrap().text, "{{ objective }} {{ reply_form }}");
    assert_eq!(extras.goal[1].after, ["refund"]);
}

#[test]
fn a_fault_has_its_line_and_a_hint() {
    let good = "{{ objective }}{{ reply_form }}";
    let rows: &[(&str, &str, &[&str])] = &[
        ("fact: {}", good, &["11: unknown key `fact` (did you mean `facts`?)"]),
        ("facts:\n  order: {tell: asked}", good, &["12: missing key `value` in `user_simulator.gabfest.facts.order`"]),
        ("facts: {order: {value: ''}}", good, &["11: expected text, found none"]),
        ("facts: {order: {value: x, tell: often}}", good, &["11: unknown word `often`"]),
        (
            "goal:\n  - {id: a, text: t, done_when: {tool: x, ask: y}}\n  - {id: b, text: t, done_when: {said: x, arguments: {a: 1}}}\n  - {id: c, text: t, done_when: {}}",
            good,
            &[
                "12: expected exactly one of `tool`, `said` and `ask`",
                "13: `arguments` belongs to `tool`",
                "14: expected exactly one of `tool`, `said` and `ask`",
            ],
        ),
        (
            "states:\n  a: {say: x, next: [{if: {after_turns: 1}, go: b}]}\n  b: {say: x, verbatim: y, next: [{go: d}, {go: a}]}\n  c: {end: done}\n  e: {}",
            good,
            &[
                "12: no end can be reached from the state `a`",
                "13: no end can be reached from the state `b`",
                "13: `verbatim` excludes `say`",
                "13: there is no state `d`",
                "14: nothing leads to the state `c`",
                "15: nothing leads to the state `e`",
                "15: the state `e` says nothing and ends nothing",
            ],
        ),
        (
            "facts: {order: {value: x}}\nstates:\n  a: {say: x, max_visits: 3, next: [{if: {agent_matches: '('}, go: b}, {if: {fact_told: ordr}, go: b}, {if: {}, go: b}]}\n  b: {end: done, next: [{if: {arguments: {a: 1}}, go: a}]}",
            good,
            &[
                "13: the pattern does not compile: unclosed group",
                "13: there is no fact `ordr` (did you mean `order`?)",
                "13: the condition is empty",
                "14: `next` has no effect beside `end`",
                "14: `arguments` belongs to `tool`",
            ],
        ),
        ("states: {a: {say: x, end: later}}", good, &["11: unknown word `later`"]),
        ("states: {a: {say: x, end: done, nxt: []}}", good, &["11: unknown key `nxt`"]),
        ("length: {words: [9, 3]}", good, &["11: expected the fewest and the most words, such as [3, 40]"]),
        ("length: {words: [3]}", good, &["11: expected the fewest and the most words, such as [3, 40]"]),
        ("typing: {typos: 0.5}", good, &["11: expected a number from 0 to 0.2, found 0.5"]),
        ("typing: {case: camel}", good, &["11: unknown word `camel`"]),
        ("script: [{turn: 1, verbatim: Hi}]", good, &["11: expected a whole number from 2 to 500, found 1"]),
        (
            "script:\n  - {turn: 3, verbatim: Hi}\n  - {turn: 3, verbatim: Ho}\n  - {turn: 5, verbatim: He}",
            good,
            &["13: `script` has turn 3 already", "14: `turn` is 5, and the conversation has at most 4 turns"],
        ),
        ("max_turns: 501", good, &["11: expected a whole number from 2 to 500, found 501"]),
        (
            "goal:\n  - {id: a, text: t}\n  - {id: a, text: t, after: [b]}",
            good,
            &["13: the part `a` exists already", "13: `after` names no part of the goal: `b`"],
        ),
        (
            "goal:\n  - {id: a, text: t, after: [b]}\n  - {id: b, text: t, after: [a]}",
            good,
            &["12: the part `a` waits for itself through `after`"],
        ),
        (
            "goal:\n  - {id: a, text: The agent does not ask}\n  - {id: b, text: t, done_when: {ask: Was it never said?}}\n  - {id: c, text: not this, done_when: {said: x}}",
            good,
            &["12: the part `a` is worded with `not`", "13: `ask` is worded with `never`"],
        ),
        (
            "states:\n  a: {say: x, max_visits: 3, next: [{if: {ask: Has the agent not apologised?}, go: b}]}\n  b: {end: done}",
            good,
            &["12: `ask` is worded with `not`"],
        ),
        (
            "self_check: model\nviolations:\n  - {id: cold, text: never says hello}\n  - {id: rude, text: threatens staff}",
            good,
            &["13: the violation `cold` is worded with `never`"],
        ),
        ("prompt: other.j2", good, &["11: the prompt file `other.j2` cannot be read"]),
        ("prompt: ../user.j2", good, &["11: the prompt file `../user.j2` "]),
        (
            "prompt: user.j2",
            "{{ objectiv }}{{ goal }}{{ reply_form }}",
            &["11: the prompt `user.j2` uses the unknown variable `objectiv` (did you mean `objective`?)"],
        ),
        (
            "prompt: user.j2",
            "{{ goal }}{{ reply_form }}\n{% if turn > 50 %}{{ objective | shout }}{% endif %}",
            &["11: the prompt `user.j2`, line 2: unknown filter: filter shout is unknown"],
        ),
        (
            "prompt: user.j2",
            "{{ goal }}{{ reply_form }}\n{% if turn > 50 and turn is late %}{% endif %}",
            &["11: the prompt `user.j2`, line 2: unknown test: test late is unknown"],
        ),
        (
            "prompt: user.j2",
            "{{ goal }}{{ reply_form }}\n{% for fact in facts %}{{ fact.nme }}{% endfor %}",
            &["11: the prompt `user.j2`, line 2: it takes an attribute that does not exist (facts have `name`"],
        ),
        (
            "prompt: user.j2",
            "{{ goal }}{{ reply_form }}{{ state.mod }}",
            &["11: the prompt `user.j2`, line 1: it takes an attribute that does not exist"],
        ),
        ("prompt: user.j2", "{{ goal[1].text }}{{ facts[3].name }}{{ tools[2].name }}{{ reply_form }}", &[]),
        ("prompt: user.j2", "{{ objective }}", &["11: the prompt `user.j2` lacks `{{ reply_form }}`"]),
        ("prompt: user.j2", "{{ reply_form }}", &["11: the prompt `user.j2` uses neither `objective` nor `goal`"]),
        ("prompt: user.j2", "a\n{% if %}", &["11: the prompt `user.j2`, line 2 does not compile: "]),
        (
            "prompt: user.j2",
            "{% include 'x' %}",
            &["11: the prompt `user.j2` uses `include`, but a prompt is one file"],
        ),
    ];
    for (keys, prompt, expected) in rows {
        let found = findings(keys, prompt);
        assert_eq!(found.len(), expected.len(), "{keys}: {found:?}");
        for (found, expected) in found.iter().zip(*expected) {
            assert!(found.starts_with(expected), "{keys}: {found:?}");
        }
    }
    let long = format!("{good}{}", "x".repeat(16 * 1_024));
    let found = findings("prompt: user.j2", &long);
    assert!(found[0].starts_with("11: the prompt `user.j2` has 16415 bytes, at most 16384 are allowed"), "{found:?}");
}

#[test]
fn a_persona_takes_the_same_keys() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "user.j2", "{{ goal }}{{ reply_form }}");
    put(
        folder.path(),
        "a.persona.yaml",
        "name: ana\npersona: p\ngabfest: {facts: {name: {value: Ana}}, prompt: user.j2}\n",
    );
    put(
        folder.path(),
        "b.persona.yaml",
        "- name: bob\n  persona: p\n  gabfest: {goal: [{id: a, text: t, after: [b]}]}\n",
    );
    let reading = read::read(&[folder.path().to_path_buf()]);
    let found: Vec<String> =
        reading.diagnostics.iter().map(|found| format!("{}: {}", found.line, found.message)).collect();
    assert_eq!(found, ["3: `after` names no part of the goal: `b`"]);
    let ana = reading.personas.get("ana").unwrap();
    assert_eq!(ana.extras.prompt.as_ref().unwrap().text, "{{ goal }}{{ reply_form }}");
}

#[test]
fn a_check_of_the_goal_names_parts_of_it_and_judges_a_whole_conversation() {
    let keys = "goal: [{id: refund, text: 30 EUR back}]";
    let folder = tempfile::tempdir().unwrap();
    let checks = "      turn_evaluations: [{type: goal_reached}]\n      final_evaluations:\n        - {type: goal_reached, parts: [refnd]}\n        - {type: goal_reached, parts: some}\n        - {type: goal_reached, parts: all}\n";
    put(folder.path(), "talk.scenario.yaml", &format!("{USER}          {keys}\n{checks}"));
    let reading = read::read(&[folder.path().join("talk.scenario.yaml")]);
    let found: Vec<String> =
        reading.diagnostics.iter().map(|found| format!("{}: {}", found.line, found.message)).collect();
    let expected = [
        "12: `goal_reached` judges a whole conversation",
        "14: the user's goal has no part `refnd`",
        "15: expected `all`, or a list of ids of parts of the goal",
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_tool_of_the_user_is_a_mock_of_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let mocks = "setup: {mocks: [{method: airplane_mode, response: ok}]}\n";
    let keys = "          tools: [airplaneMode, airplane_mod]\n      final_evaluations: [{type: goal_reached}]\n";
    put(folder.path(), "talk.scenario.yaml", &format!("{USER}{keys}{mocks}"));
    let reading = read::read(&[folder.path().join("talk.scenario.yaml")]);
    let found: Vec<String> = reading
        .diagnostics
        .iter()
        .map(|found| format!("{}: {} ({})", found.line, found.message, found.help.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(found, ["11: no mock answers the tool `airplane_mod` (did you mean `airplane_mode`?)"]);
    put(folder.path(), "talk.scenario.yaml", &format!("{USER}{keys}"));
    let without_mocks = read::read(&[folder.path().join("talk.scenario.yaml")]).diagnostics;
    let helps: Vec<_> = without_mocks.iter().map(|found| found.help.as_deref()).collect();
    assert_eq!(helps, [Some("write a mock of it below `setup.mocks`"); 2]);
}

#[test]
fn the_text_of_the_prompt_is_in_the_plan_and_its_digest() {
    let plan = |prompt: &str| {
        let keys = "prompt: user.j2\n      final_evaluations: [{type: goal_reached}]";
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "talk.scenario.yaml", &format!("{USER}          {keys}\n"));
        put(folder.path(), "user.j2", prompt);
        let reading = read::read(&[folder.path().join("talk.scenario.yaml")]);
        assert_eq!(reading.diagnostics, []);
        scenario::plan::build(&reading, &scenario::plan::Choices::default()).unwrap()
    };
    let (first, again) = (plan("One. {{ objective }}{{ reply_form }}"), plan("One. {{ objective }}{{ reply_form }}"));
    let other = plan("Two. {{ objective }}{{ reply_form }}");
    assert!(first.to_json().contains("One. {{ objective }}{{ reply_form }}"));
    let text = |plan: &scenario::Plan| plan.groups[0].document["run"].clone();
    assert_eq!(text(&first), text(&again));
    assert_ne!(first.digest(), other.digest(), "runs with different prompts are different plans");
}
