//! Sentinels: a changed judge is distinguished from a changed agent.

use serde_json::json;

use crate::process::{Ended, Place};

/// The mock judge finds a conversation bad if it contains this.
const UNHELPFUL: &str = "I'm sorry, I can't help with that.";

const SCENARIO: &str = "
name: greeting
description: an opinion
run:
  - input: hello
    evaluations: [{ type: llm_judge, prompt: Is the answer helpful?, expected: 'yes' }]
judgment: { strategy: all_pass }
";

fn sentinels() -> String {
    let item = |index: usize| {
        let (agent, label) = if index.is_multiple_of(2) { ("Here you are.", "met") } else { (UNHELPFUL, "not_met") };
        let turns = [json!({ "user": format!("Question {index}?"), "agent": agent })];
        json!({ "id": format!("s{index}"), "turns": turns, "criterion": "The agent answers.", "label": label })
    };
    (0..20).map(|index| format!("{}\n", item(index))).collect()
}

fn night(place: &Place, judge: &str, out: &str) -> Ended {
    let settings = format!(
        "endpoints:\n  judge: {{ kind: mock, mock: {{ judge: {judge} }} }}\nroles: {{ judge: judge }}\n\
         gates: {{ pass_rate: 0, case_pass_rate: 0 }}\nsentinels: sentinels.jsonl\n"
    );
    place.write("gabfest.yaml", &settings);
    let ended = place.run(&["run", "greeting.scenario.yaml", "--repeats", "4", "--history", "h.db", "--out", out]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    ended
}

#[test]
fn a_judge_that_changed_is_told_from_the_agent() {
    let place = Place::new();
    place.write("greeting.scenario.yaml", SCENARIO);
    place.write("sentinels.jsonl", &sentinels());
    let first = night(&place, "{}", "n1");
    assert!(first.stdout.contains("20 sentinels are judged; later nights"), "{}", first.stdout);
    night(&place, "{}", "n2");
    let third = night(&place, "{}", "n3");
    assert!(third.stdout.contains("the judge did not change"), "{}", third.stdout);
    let kept = place.json("n3/sentinels.json");
    assert_eq!((&kept["drift"]["nights"], &kept["drift"]["drifted"]), (&2.into(), &false.into()));
    assert_eq!(kept["drift"]["agreement"]["estimate"], 1.0);

    let fourth = night(&place, "{ sensitivity: 0.0 }", "n4");
    let markdown = std::fs::read_to_string(place.path().join("n4/report.md")).unwrap();
    let html = std::fs::read_to_string(place.path().join("n4/report.html")).unwrap();
    for page in [&fourth.stdout, &markdown, &html] {
        let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("he judge changed, not the agent: 10 of 20 verdicts"), "{page}");
        // The top says it too.
        assert!(flat.contains("it changed, not the agent: 10 of 20 verdicts on sentinels differ"), "{page}");
    }
    assert_eq!(place.json("n4/sentinels.json")["drift"]["another_judge"], true);
    // A report that is written again says the same.
    let again = place.run(&["report", "n4", "--format", "markdown"]);
    assert!(again.stdout.contains("the judge changed, not the agent"), "{}", again.stdout);

    let compared = place.run(&["compare", "n3", "n4", "--json", "--history", "h.db"]);
    let found: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!((&found["sentinels"]["compared"], &found["sentinels"]["to_met"]), (&20.into(), &10.into()));
    assert_eq!(found["sentinels"]["drifted"], true);
    let compared = place.run(&["compare", "n3", "n4", "--history", "h.db"]);
    assert!(compared.stdout.contains("the judge changed between these runs"), "{}", compared.stdout);
    let compared = place.run(&["compare", "n1", "n3", "--history", "h.db"]);
    assert!(compared.stdout.contains("alike in both runs"), "{}", compared.stdout);
}

/// The submitter judges them: its history knows the nights before.
#[test]
fn sentinels_of_a_fleet_are_judged_where_it_is_watched() {
    let place = Place::new();
    place.write("greeting.scenario.yaml", SCENARIO);
    place.write("sentinels.jsonl", &sentinels());
    night(&place, "{}", "n1");
    night(&place, "{}", "n2");
    let (_coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    let _worker = place.start(&["worker", "--coordinator", &address, "--config", "gabfest.yaml"]);
    let at = ["--coordinator", &address];
    let submit = ["submit", "greeting.scenario.yaml", "--repeats", "4"];
    let watched = |out: &str| place.run(&[&submit[..], &at, &["--watch", "--history", "h.db", "--out", out]].concat());
    let same = watched("n3");
    assert!(same.code == 0 && same.stdout.contains("the judge did not change"), "{}{}", same.stdout, same.stderr);
    let settings = std::fs::read_to_string(place.path().join("gabfest.yaml")).unwrap();
    place.write("gabfest.yaml", &settings.replace("judge: {}", "judge: { sensitivity: 0.0 }"));
    let changed = watched("n4");
    assert!(changed.stdout.contains("he judge changed, not the agent"), "{}{}", changed.stdout, changed.stderr);
    assert_eq!(place.json("n4/sentinels.json")["drift"]["nights"], 3, "n3 is in the history");
    let sent = place.run(&[&submit[..], &at].concat());
    assert!(sent.code == 0 && sent.stderr.contains("`gabfest submit --watch` only"), "{}", sent.stderr);
}

#[test]
fn a_faulty_file_of_sentinels_is_found_before_anything_is_played() {
    let place = Place::new();
    place.write("greeting.scenario.yaml", SCENARIO);
    place.write("gabfest.yaml", "sentinels: sentinels.jsonl\n");
    let run = || place.run(&["run", "greeting.scenario.yaml", "--out", "out"]);
    let missing = run();
    assert_eq!(missing.code, 2, "{}{}", missing.stdout, missing.stderr);
    assert!(missing.stderr.contains("sentinels.jsonl"), "{}", missing.stderr);
    place.write("sentinels.jsonl", "{\"id\": 3}\n");
    let faulty = run();
    assert_eq!(faulty.code, 2, "{}{}", faulty.stdout, faulty.stderr);
    assert!(faulty.stderr.contains("sentinels.jsonl:1"), "{}", faulty.stderr);
    assert!(!place.path().join("out").exists());
}
