//! A judge whose key is missing: checks that need the judge are skipped with a warning, and never count as passed.

use std::{process::Stdio, time::Duration};

use crate::process::{Ended, Place};

/// No test sets this variable.
const SETTINGS: &str = "
endpoints:
  paid: { url: http://127.0.0.1:9/v1, model: large, key: env:GABFEST_TEST_UNSET_KEY }
roles: { judge: paid }
";

const PLAIN: &str = "
name: plain
description: a text
run:
  - input: hello
    expected: Hello there!
    evaluations:
      - { type: string_contains, value: hello }
judgment: { strategy: all_pass }
";

const JUDGED: &str = "
name: judged
description: an opinion
run:
  - input: hello
    evaluations:
      - { type: string_contains, value: nothing of the kind }
      - { type: llm_judge, prompt: Is it a greeting?, expected: 'yes' }
judgment: { strategy: all_pass }
";

const STATEMENT: &str = r#"[{"role": "user", "text": "hello"}, {"role": "assistant", "text": "<a greeting>"}]"#;

const CONDITION: &str = "
# SCENARIO greeting
## [USER]
hello
## [AGENT]
Hello there!
### CHECK SemanticCondition
it is a greeting
";

fn place() -> Place {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    place.write("all/plain.scenario.yaml", PLAIN);
    place
}

fn with_judged(place: &Place) {
    place.write("all/judged.scenario.yaml", JUDGED);
    place.write("all/greeting.conversation.json", STATEMENT);
    place.write("all/greeting.skunit.md", CONDITION);
}

fn run(place: &Place) -> Ended {
    place.run(&["run", "all", "--out", "out"])
}

#[test]
fn checks_that_need_the_judge_are_skipped_and_reported() {
    let place = place();
    with_judged(&place);
    let ended = run(&place);
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    let why = "endpoint \"paid\" has no key, the variable GABFEST_TEST_UNSET_KEY is not set";
    for said in ["warning: no judge can be asked: ", why, "skipped: 3 of 4 cases", "hint: ", "exit code 3"] {
        assert!(ended.stderr.contains(said), "{said}: {}", ended.stderr);
    }
    let printed = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["3 skipped", "judge_available", "SKIPPED", why, "hint trials that need a judge were skipped"] {
        assert!(printed.contains(said), "{said}: {}", ended.stdout);
    }
    let report = place.json("out/report.json");
    let trials = &report["summary"]["trials"];
    assert_eq!((&trials["pass"], &trials["skipped"]), (&1.into(), &3.into()), "{trials}");
    assert_eq!(report["summary"]["failures"][0]["kind"], "judge_missing", "{}", report["summary"]["failures"]);
    let calls = &report["summary"]["llm_calls"];
    assert_eq!((&calls["agent"], &calls["judge"]), (&1.into(), &0.into()), "nobody is asked for nothing: {calls}");
    assert_eq!(report["verdict"], "INCONCLUSIVE");
    for (page, said) in [
        ("report.md", "SKIPPED"),
        ("report.md", "the variable GABFEST_TEST_UNSET_KEY is not set"),
        ("report.html", "data-testid=\"skipped\""),
        ("report.html", "the variable GABFEST_TEST_UNSET_KEY is not set"),
        ("junit.xml", "<skipped "),
        ("junit.xml", "the variable GABFEST_TEST_UNSET_KEY is not set"),
        ("trials.jsonl", "\"judge_missing\""),
    ] {
        let text = std::fs::read_to_string(place.path().join("out").join(page)).unwrap();
        assert!(text.contains(said), "{page} does not say {said}: {text}");
    }
}

#[test]
fn no_gate_forgives_it_and_a_failure_outweighs_it() {
    let place = place();
    with_judged(&place);
    place.write("gabfest.yaml", &format!("{SETTINGS}gates: {{ pass_rate: 0.5, max_unjudged: 1.0 }}\n"));
    let ended = run(&place);
    assert_eq!(ended.code, 3, "{}", ended.stdout);
    let failing = PLAIN.replace("name: plain", "name: failing").replace("value: hello", "value: goodbye");
    place.write("gabfest.yaml", SETTINGS);
    place.write("all/failing.scenario.yaml", &failing);
    let ended = place.run(&["run", "all", "--out", "another"]);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn with_the_key_in_its_place_everything_is_played() {
    let place = place();
    place.write("all/judged.scenario.yaml", &JUDGED.replace("nothing of the kind", "e"));
    place.write("gabfest.yaml", &SETTINGS.replace("url: http://127.0.0.1:9/v1, model: large", "kind: mock"));
    let output = place.gabfest(&["run", "all", "--out", "out"]).env("GABFEST_TEST_UNSET_KEY", "k").output().unwrap();
    let ended = Ended::from(output);
    assert!([0, 1].contains(&ended.code), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(place.json("out/report.json")["summary"]["trials"]["skipped"], 0);
}

#[test]
fn other_missing_keys_decide_the_outcome() {
    let talk = "
name: talk
description: a conversation
run:
  - input: hello
    conversation: { max_turns: 2, user_simulator: { persona: a guest, objective: a greeting } }
    evaluations: [{ type: string_contains, value: e }]
judgment: { strategy: all_pass }
";
    let informs =
        JUDGED.replace("nothing of the kind", "e").replace("expected: 'yes'", "expected: 'yes', required: false");
    let alike = "
name: alike
description: a measure
run:
  - input: hello
    evaluations: [{ type: similarity, expected: [Hello!], threshold: 0.5 }]
judgment: { strategy: all_pass }
";
    let paid = "endpoints:\n  paid: { url: http://127.0.0.1:9/v1, key: env:GABFEST_TEST_UNSET_KEY }\n";
    let by_header =
        "endpoints:\n  paid: { url: http://127.0.0.1:9/v1, headers: { api-key: env:GABFEST_TEST_UNSET_KEY } }\n";
    let no_file = "endpoints:\n  paid: { url: http://127.0.0.1:9/v1, key: file:no/such/key }\n";
    let user = "roles: { user_sim: paid }\n";
    let judge = "roles: { judge: paid }\n";
    let rows = [
        ("the agent", PLAIN, paid, "agents: { shop: { endpoint: paid } }\nroles: { agent: shop }\n", 2),
        ("the user, who speaks", talk, paid, user, 2),
        ("the user, who is silent", PLAIN, paid, user, 0),
        ("a judge who only informs", &informs, paid, judge, 0),
        ("a judge, by a header", JUDGED, by_header, judge, 3),
        ("a judge, by a file", JUDGED, no_file, judge, 3),
        ("a judge of another type", JUDGED, paid, "models: { TEXT_SMALL: paid }\n", 1),
        ("a scorer", alike, paid, "scores: { similarity: { endpoint: paid } }\n", 3),
        ("a scorer of something else", PLAIN, paid, "scores: { toxicity: { endpoint: paid } }\n", 0),
        ("the judge, who would be the scorer", alike, paid, judge, 3),
    ];
    for (name, scenario, endpoints, rest, code) in rows {
        let place = Place::new();
        place.write("gabfest.yaml", &format!("{endpoints}{rest}"));
        place.write("all/one.scenario.yaml", scenario);
        let ended = run(&place);
        assert_eq!(ended.code, code, "{name}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("paid"), "stderr of {name}: {}", ended.stderr);
        if code == 2 {
            assert!(!place.path().join("out").exists(), "{name}: nothing is played");
        }
    }
}

#[test]
fn measuring_without_a_scorer_is_refused() {
    let place = place();
    place.write("labelled.csv", "measure,label,text1,text2\nsimilarity,pass,hello,hi\nsimilarity,fail,hello,bye\n");
    let ended = place.run(&["validate", "labelled.csv"]);
    assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("GABFEST_TEST_UNSET_KEY"), "{}", ended.stderr);
}

#[test]
fn a_worker_without_the_key_returns_trials_that_it_cannot_judge() {
    let place = place();
    with_judged(&place);
    let (_coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0"]);
    let mut command = place.gabfest(&["worker", "--coordinator", &address, "--config", "gabfest.yaml"]);
    let worker = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut worker = crate::process::Process(worker);
    let submitted = place.run(&["submit", "all", "--coordinator", &address, "--run", "night"]);
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    let watched = place.run(&["watch", "night", "--coordinator", &address, "--out", "out"]);
    assert_eq!(watched.code, 3, "{}{}", watched.stdout, watched.stderr);
    let trials = &place.json("out/report.json")["summary"]["trials"];
    assert_eq!((&trials["pass"], &trials["skipped"]), (&1.into(), &3.into()), "{trials}");
    worker.signal("TERM");
    assert_eq!(worker.wait(Duration::from_secs(20)), 0);
    let said = worker.stderr();
    assert!(said.contains("warning: endpoint \"paid\" has no key") && said.contains("SKIPPED"), "{said}");
}

const CONTROL: &str = "
# SCENARIO a control
```gabfest
expect: fail
```
## [USER]
What can you recommend?
## [AGENT]
The lasagne is good today.
### CHECK SemanticCondition
It recommends a swim in the lake.
";

/// docs/mock-model.md says that the mock judge reads no condition, and how to set its answer.
#[test]
fn the_mock_judge_says_yes_unless_it_is_set_otherwise() {
    let page = include_str!("../../../../docs/mock-model.md");
    let settings = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let place = Place::new();
    place.write("control.skunit.md", CONTROL);
    let run = |config: &str| place.run(&["run", "control.skunit.md", "--config", config, "--out", "out", "--quiet"]);
    place.write("plain.yaml", "{}\n");
    let plain = run("plain.yaml");
    assert_eq!(plain.code, 1, "the condition does not hold, and the mock says that it does\n{}", plain.stderr);
    std::fs::remove_dir_all(place.path().join("out")).unwrap();
    place.write("scripted.yaml", settings);
    let scripted = run("scripted.yaml");
    assert_eq!(scripted.code, 0, "{}{}", scripted.stdout, scripted.stderr);
}

/// A green run of a real agent that the mock judged would be the worst of all answers.
#[test]
fn a_mock_judge_of_a_real_agent_is_reported() {
    let place = Place::new();
    place.write("judged.scenario.yaml", JUDGED);
    place.write("plain.scenario.yaml", PLAIN);
    let warns = |name: &str, file: &str, agent: &str| {
        let ended = place.run(&["run", file, "--agent", agent, "--out", name]);
        ended.stderr.contains("the judge is the built-in mock, and the agent is not")
    };
    assert!(warns("judged", "judged.scenario.yaml", "http://127.0.0.1:9/v1"));
    assert!(!warns("plain", "plain.scenario.yaml", "http://127.0.0.1:9/v1"), "nobody is asked for an opinion");
    assert!(!warns("mock", "judged.scenario.yaml", "mock"));
}
