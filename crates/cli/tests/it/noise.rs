//! `gabfest noise`: whose noise a run has.

use serde_json::Value;

use crate::process::{Ended, Place};

/// A bad answer passes 2 times of 10, and a good one 9 times. 6 of 10 answers are good.
const SETTINGS: &str = "
endpoints:
  weak: { kind: mock, mock: { pass: [{ probability: 0.6 }] } }
  judge: { kind: mock, mock: { judge: { sensitivity: 0.8, specificity: 0.9 } } }
agents: { weak: { endpoint: weak } }
roles: { agent: weak, judge: judge }
gates: { pass_rate: 0, case_pass_rate: 0 }
";

const SCENARIO: &str = "
name: NAME
description: an opinion
run:
  - input: hello
    evaluations: [{ type: llm_judge, prompt: Is the answer helpful?, expected: 'yes' }]
judgment: { strategy: all_pass }
";

fn place(repeats: &str) -> Place {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    for name in ["greeting", "refund", "hours"] {
        place.write(&format!("{name}.scenario.yaml"), &SCENARIO.replace("NAME", name));
    }
    let ended = place.run(&["run", ".", "--repeats", repeats, "--seed", "5", "--out", "night", "--quiet"]);
    assert!([0, 1].contains(&ended.code), "{}{}", ended.stdout, ended.stderr);
    place
}

fn parts(ended: &Ended) -> (Value, Vec<(String, f64, f64, f64)>) {
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let part = |part: &Value| {
        let number = |key: &str| part[key].as_f64().unwrap();
        (part["layer"].as_str().unwrap().to_owned(), number("share"), number("low"), number("high"))
    };
    let parts = found["parts"].as_array().unwrap().iter().map(part).collect();
    (found, parts)
}

#[test]
fn the_judges_and_the_agents_part_are_told_apart() {
    let place = place("24");
    let (found, of_layers) =
        parts(&place.run(&["noise", "night", "--judge-rounds", "4", "--agent-rounds", "3", "--json"]));
    let names: Vec<&str> = of_layers.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["judge", "agent", "user"]);
    // The judge's part is 0.118 and the agent's 0.118; the user is scripted.
    for ((name, share, low, high), planted) in of_layers.iter().zip([0.5, 0.5, 0.0]) {
        assert!(*low <= planted + 0.03 && *high >= planted - 0.03, "{name}: {share} ({low} to {high}), not {planted}");
    }
    let whole: f64 = of_layers.iter().map(|(_, share, ..)| share).sum();
    assert!((whole - 1.0).abs() < 1e-9);
    assert_eq!((&found["conversations"], &found["replays"]), (&72.into(), &216.into()));
    assert_eq!(found["judgings"], 72 * 4 + 216);
    assert_eq!((&found["run"], &found["cases_left_out"]), (&place.json("night/report.json")["run"]["id"], &0.into()));

    let ended = place.run(&["noise", "night", "--judge-rounds", "4"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    for part in ["NOISE", "judge", "agent and user", "--agent-rounds 2", "votes", "What to do"] {
        assert!(ended.stdout.contains(part), "no {part:?} in\n{}", ended.stdout);
    }
}

#[test]
fn a_run_without_repeats_has_no_noise_to_split() {
    let place = place("1");
    let ended = place.run(&["noise", "night"]);
    assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stderr.contains("no case has two conversations") && ended.stderr.contains("--repeats 5"),
        "{}",
        ended.stderr
    );
    let ended = place.run(&["noise", "nowhere"]);
    assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
    let ended = place.run(&["noise", "night", "--agent-rounds", "1"]);
    assert_eq!(ended.code, 2, "one replay does not say how much replays differ: {}", ended.stderr);
    let schema = place.run(&["schema", "noise"]);
    assert!(schema.stdout.contains("variance_between_cases"), "{}", schema.stdout);
}
