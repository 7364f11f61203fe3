//! A gabfest with built-in models plays whole runs with real weights: its scores decide, and cost nothing.

use serde_json::Value;

use crate::process::{Ended, Place};

const MODEL: &str = "all-MiniLM-L6-v2";

const SETTINGS: &str = "
endpoints:
  mock: { kind: mock, mock: { rules: [{ when: money back, role: agent, reply: You can request a refund on your order page. }] } }
scores: { similarity: embedded }
";

const LABELLED: &str = "\
measure,label,text1,text2,text3
similarity,pass,How do I get my money back?,What do I have to do for a refund?,
similarity,pass,It will rain tomorrow.,Tomorrow rain is expected.,
similarity,fail,How do I get my money back?,The museum opens at nine.,
similarity,fail,It will rain tomorrow.,He plays the violin.,
";

fn scenario(name: &str, expected: &str) -> String {
    format!(
        "name: {name}
description: what the agent says is compared by meaning
run:
  - input: How do I get my money back?
    evaluations: [{{ type: similarity, expected: ['{expected}'], threshold: 0.6 }}]
judgment: {{ strategy: all_pass }}
"
    )
}

#[test]
fn scores_of_a_built_in_model_decide_a_run() {
    let Some(shelf) = cases::shelf(MODEL, "a run and a validation with a model in gabfest itself") else { return };
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    place.write("other-words.scenario.yaml", &scenario("in other words", "To get a refund, ask for it at your order."));
    place.write("unlike.scenario.yaml", &scenario("something else", "The museum opens at nine."));
    place.write("labelled.csv", LABELLED);
    let run = |args: &[&str]| Ended::from(place.gabfest(args).env("GABFEST_MODELS", &shelf).output().unwrap());

    let kept = run(&["models", "list"]);
    assert!(kept.code == 0 && kept.stdout.contains(MODEL) && !kept.stdout.contains("not kept"), "{}", kept.stdout);

    let ended = run(&["run", ".", "--out", "out"]);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
    let trials: Vec<Value> = trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<(&str, bool)> = trials
        .iter()
        .map(|trial| {
            let judgment = &trial["judgments"][0];
            let reason = judgment["reason"].as_str().unwrap();
            assert!(reason.contains(&format!("by {MODEL}, required 0.6")), "{reason}");
            let score = judgment["score"].as_f64().unwrap();
            assert!((-1.0..=1.0).contains(&score), "{reason}");
            (trial["verdict"].as_str().unwrap(), score > 0.6)
        })
        .collect();
    assert_eq!(found, [("PASS", true), ("FAIL", false)]);

    let report = place.json("out/report.json");
    assert_eq!(report["summary"]["llm_calls"]["scorer"], 2, "{report}");
    assert_eq!(report["summary"]["llm_calls"]["judge"], 0, "{report}");
    let models = report["summary"]["models"].as_array().unwrap();
    let own = models.iter().find(|spend| spend["model"] == MODEL).expect("it is among the models");
    assert_eq!((&own["role"], &own["cost_usd"], &own["unpriced_calls"]), (&"scorer".into(), &0.0.into(), &0.into()));
    assert!(own["tokens"]["input"].as_u64().unwrap() > 20, "{own}");
    for page in ["out/report.html", "out/report.md"] {
        assert!(std::fs::read_to_string(place.path().join(page)).unwrap().contains(MODEL), "{page}");
    }

    let ended = run(&["validate", "labelled.csv", "--json"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let tried: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(tried["measures"][0]["worth"]["accuracy"]["estimate"], 1.0, "{tried}");
}

#[test]
fn a_model_that_cannot_be_had_ends_a_run_before_it_begins() {
    let place = Place::new();
    place.write("unlike.scenario.yaml", &scenario("something else", "The museum opens at nine."));
    // Nothing listens at port 9 of this machine.
    let nowhere = "similarity: embedded, hub: 'http://127.0.0.1:9'";
    let rows = [
        (nowhere, 3, "gabfest models fetch all-MiniLM-L6-v2 --from PATH"),
        ("answer: embedded", 2, "gabfest models fetch question-answering --from URL|PATH"),
    ];
    for (scores, code, says) in rows {
        place.write("gabfest.yaml", &format!("scores: {{ {scores} }}\n"));
        let mut command = place.gabfest(&["run", ".", "--out", "out"]);
        let ended = Ended::from(command.env("GABFEST_MODELS", place.path().join("models")).output().unwrap());
        assert_eq!(ended.code, code, "{scores}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(says), "{scores}: {}", ended.stderr);
        assert!(!place.path().join("out").exists(), "nothing was played");
    }
}
