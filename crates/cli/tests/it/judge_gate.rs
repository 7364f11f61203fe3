//! `gates.judges`: a judge decides after it was measured, and only if it agrees with people.

use serde_json::{Value, json};

use crate::process::{Ended, Place};

/// The mock judge finds a conversation bad if it contains this.
const UNHELPFUL: &str = "I'm sorry, I can't help with that.";

const SCENARIO: &str = "
name: greeting
description: an opinion
run:
  - input: hello
    evaluations:
      - { type: string_contains, value: sorry }
      - { type: llm_judge, prompt: Is the answer helpful?, expected: 'yes' }
judgment: { strategy: all_pass }
";

fn labels() -> String {
    let item = |index: usize| {
        let (agent, label) =
            if index.is_multiple_of(2) { ("Here is the answer.", "met") } else { (UNHELPFUL, "not_met") };
        let turns = [json!({ "user": format!("Question {index}?"), "agent": agent })];
        json!({ "id": format!("i{index}"), "turns": turns, "criterion": "The agent answers.", "label": label })
    };
    (0..20).map(|index| format!("{}\n", item(index))).collect()
}

fn settings(place: &Place, judge: &str, gates: &str) {
    let text = format!(
        "endpoints:\n  rude: {{ kind: mock, mock: {{ pass: [{{ probability: 0 }}] }} }}\n  judge: {{ kind: mock, mock: {judge} }}\n\
         agents: {{ rude: {{ endpoint: rude }} }}\nroles: {{ agent: rude, judge: judge }}\n{gates}"
    );
    place.write("gabfest.yaml", &text);
}

fn run(place: &Place) -> (Ended, Value) {
    _ = std::fs::remove_dir_all(place.path().join("out"));
    let ended = place.run(&["run", "greeting.scenario.yaml", "--out", "out"]);
    let report = place.json("out/report.json");
    (ended, report)
}

#[test]
fn only_a_judge_that_agrees_with_people_decides() {
    const GATES: &str = "gates: { judges: { min_kappa: 0.6 } }\n";
    let place = Place::new();
    place.write("labels.jsonl", &labels());
    place.write("greeting.scenario.yaml", SCENARIO);

    settings(&place, "{}", "");
    let (ended, report) = run(&place);
    assert_eq!(ended.code, 1, "without the gate every judge decides: {}{}", ended.stdout, ended.stderr);
    assert_eq!(report["judges"]["by_length"][0]["fail"], 1);

    settings(&place, "{}", GATES);
    let (ended, report) = run(&place);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("none is measured"), "{}", ended.stderr);
    assert_eq!(report["judges"]["uncalibrated"][0]["findings"], 1);
    let markdown = std::fs::read_to_string(place.path().join("out/report.md")).unwrap();
    let html = std::fs::read_to_string(place.path().join("out/report.html")).unwrap();
    for page in [&ended.stdout, &markdown, &html] {
        assert!(page.contains("only inform") && page.contains("is not calibrated"), "{page}");
    }

    let saved = place.run(&["judge", "labels.jsonl", "--save"]);
    assert_eq!(saved.code, 0, "{}{}", saved.stdout, saved.stderr);
    let kept = place.json("gabfest.judges.json");
    assert_eq!(
        (&kept["measured"][0]["kappa"]["estimate"], &kept["measured"][0]["labels"]),
        (&json!(1.0), &json!("labels.jsonl"))
    );
    let (ended, report) = run(&place);
    assert_eq!(ended.code, 1, "the judge was measured: {}{}", ended.stdout, ended.stderr);
    assert_eq!(report["judges"]["uncalibrated"], Value::Null);

    // A judge with other parameters is another judge.
    settings(&place, "{ judge: { sensitivity: 0.0 } }", GATES);
    assert_eq!(place.run(&["judge", "labels.jsonl", "--save"]).code, 0);
    assert_eq!(place.json("gabfest.judges.json")["measured"].as_array().unwrap().len(), 2);
    let (ended, report) = run(&place);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let reason = report["judges"]["uncalibrated"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("its kappa was 0.000"), "{reason}");

    // The measurement of a judge that rarely answers is refused.
    settings(&place, "{ judge: { malformed_rate: 1.0 } }", GATES);
    let saved = place.run(&["judge", "labels.jsonl", "--save"]);
    assert!(saved.stderr.contains("nothing was saved"), "{}", saved.stderr);
    assert_eq!(place.json("gabfest.judges.json")["measured"].as_array().unwrap().len(), 2);

    place.write("gabfest.judges.json", "{}");
    let ended = place.run(&["run", "greeting.scenario.yaml", "--out", "other"]);
    assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("gabfest judge LABELS --save"), "{}", ended.stderr);
}

#[test]
fn a_conversation_that_only_such_a_judge_checks_says_nothing_about_the_agent() {
    let place = Place::new();
    let judged = SCENARIO.replace("      - { type: string_contains, value: sorry }\n", "");
    place.write("greeting.scenario.yaml", &judged);
    settings(&place, "{}", "gates: { judges: { min_kappa: 0.6 } }\n");
    let (ended, _) = run(&place);
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("is not calibrated"), "{}", ended.stdout);
    settings(&place, "{}", "gates: { judges: { min_kappa: 6 } }\n");
    let ended = place.run(&["run", "greeting.scenario.yaml"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("gates.judges.min_kappa"), "{}", ended.stderr);
}

#[test]
fn a_judge_within_another_check_decides_only_if_it_is_measured() {
    let place = Place::new();
    let judged = "{ type: semantic_condition, condition: The agent answers. }";
    for check in [
        format!("{{ type: any_of, checks: [{{ type: contains, values: [Never] }}, {judged}] }}"),
        format!("{{ type: regex_match, pattern: '(?<all>(?s:.*))', captures: {{ all: [{judged}] }} }}"),
    ] {
        let opinion = "{ type: llm_judge, prompt: Is the answer helpful?, expected: 'yes' }";
        place.write("greeting.scenario.yaml", &SCENARIO.replace(opinion, &check));
        settings(&place, "{}", "");
        assert_eq!(run(&place).0.code, 1, "without the gate every judge decides: {check}");
        settings(&place, "{}", "gates: { judges: { min_kappa: 0.6 } }\n");
        let (ended, report) = run(&place);
        assert_eq!(ended.code, 0, "{check}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(report["judges"]["uncalibrated"][0]["findings"], 1, "{check}");
        let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
        assert!(trials.contains("\"ballots\""), "every vote is kept: {trials}");
    }
}

/// Requirements of a quality battery decide without a judge, and by a judge's scores only without the gate.
#[test]
fn a_battery_decides_by_a_judges_scores_only_without_the_gate() {
    let place = Place::new();
    let battery = include_str!("../../../../scenarios/emely/quality.battery.yaml");
    place.write("quality.battery.yaml", battery);
    for (gates, judged_counts) in [("slots: 4\n", true), ("gates: { judges: { min_kappa: 0.6 } }\n", false)] {
        place.write("gabfest.yaml", gates);
        _ = std::fs::remove_dir_all(place.path().join("out"));
        let ended = place.run(&["run", "quality.battery.yaml", "--out", "out", "--quiet"]);
        assert_eq!(ended.code, 0, "{gates}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(place.json("out/report.json")["judges"]["uncalibrated"].is_null(), judged_counts, "{gates}");
        let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
        for trial in trials.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let judgments = trial["judgments"].as_array().unwrap();
            let total = |check: &str| {
                let of = |one: &&Value| one["check"] == check && one["scope"].get("step").is_some();
                judgments.iter().find(of).unwrap_or_else(|| panic!("no total of {check} in {trial}"))
            };
            // Toxicity is the judge's score, stuttering is counted.
            assert_eq!(total("ML-P1")["required"], judged_counts, "{gates}");
            assert_eq!(total("ML-A6")["required"], true, "{gates}");
            let reply = judgments.iter().find(|one| one["check"] == "ML-P1" && !one["ballots"].is_null()).unwrap();
            assert_eq!(reply["ballots"][0]["criterion"], "toxicity", "{reply}");
        }
    }
}

/// A judge that is good at one criterion and bad at another decides about the first only, and the report corrects its answers.
#[test]
fn a_criterion_decides_only_if_the_judge_is_good_at_it() {
    let place = Place::new();
    let item = |index: usize, criterion: &str, turned: bool| {
        let is_good = index.is_multiple_of(2);
        let agent = if is_good { "Here is the answer." } else { UNHELPFUL };
        // Of ten labels at which the judge is good, it misses one.
        let label = if (is_good != turned) && index != 0 { "met" } else { "not_met" };
        let turns = [json!({ "user": format!("Question {index}?"), "agent": agent })];
        json!({ "id": format!("{criterion}{index}"), "turns": turns, "criterion": criterion, "label": label })
    };
    let of = |criterion, turned| (0..20).map(move |index| format!("{}\n", item(index, criterion, turned)));
    let labels: String = of("it answers", false).chain(of("it is polite", true)).collect();
    place.write("labels.jsonl", &labels);
    settings(&place, "{}", "gates: { judges: { min_kappa: 0.6 } }\n");
    let saved = place.run(&["judge", "labels.jsonl", "--save"]);
    assert_eq!(saved.code, 0, "{}{}", saved.stdout, saved.stderr);
    assert!(saved.stdout.contains("by criterion") && saved.stdout.contains("it answers: 20 items"), "{}", saved.stdout);
    let kept = place.json("gabfest.judges.json");
    let criteria = kept["measured"][0]["criteria"].as_array().unwrap();
    assert_eq!(criteria[0]["criterion"], "it answers");
    assert!((criteria[0]["kappa"]["estimate"].as_f64().unwrap() - 0.9).abs() < 1e-9, "{kept}");
    for (criterion, decides) in [("it answers", true), ("it is polite", false)] {
        let check = format!("{{ type: rubric, criteria: [{{ name: {criterion} }}] }}");
        let opinion = "{ type: llm_judge, prompt: Is the answer helpful?, expected: 'yes' }";
        place.write("greeting.scenario.yaml", &SCENARIO.replace(opinion, &check));
        let (ended, report) = run(&place);
        assert_eq!(ended.code, i32::from(decides), "{criterion}: {}{}", ended.stdout, ended.stderr);
        let reason = report["judges"]["uncalibrated"][0]["reason"].as_str().unwrap_or_default();
        assert_eq!(reason.contains("not good enough at \"it is polite\""), !decides, "{reason}");
    }
    // Without a floor every judge decides, and the rates are still corrected.
    settings(&place, "{}", "");
    let check = "{ type: rubric, criteria: [{ name: it answers }] }";
    let opinion = "{ type: llm_judge, prompt: Is the answer helpful?, expected: 'yes' }";
    place.write("greeting.scenario.yaml", &SCENARIO.replace(opinion, check));
    let (ended, report) = run(&place);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    let row = &report["judges"]["by_criterion"][0];
    assert_eq!(
        (&row["criterion"], &row["met"], &row["not_met"]),
        (&json!("it answers"), &json!(0), &json!(1)),
        "{report}"
    );
    assert_eq!(row["corrected"]["of_criterion"], true);
    assert_eq!(row["corrected"]["rate"]["estimate"], 0.0);
    assert!(ended.stdout.contains("corrected by labels of people"), "{}", ended.stdout);
}
