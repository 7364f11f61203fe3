//! Real scenario files (`GABFEST_CASES`): all valid ones are played to a verdict.

use std::path::{Path, PathBuf};

use crate::process::Place;

fn cases() -> Option<PathBuf> {
    cases::folder("eliza", "the real ElizaOS scenarios")
}

#[test]
fn every_valid_case_is_played_to_a_verdict() {
    let Some(root) = cases() else { return };
    let facts: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(root.join("expected-schema-validity.json")).unwrap()).unwrap();
    let mut played = 0;
    for (file, expected) in facts.as_object().unwrap() {
        let path = root.join(file).display().to_string();
        let place = Place::new();
        let checked = place.run(&["check", &path]);
        if checked.code != 0 {
            assert_eq!(expected["upstream_schema_valid"], false, "{file} is valid and was refused\n{}", checked.stderr);
            continue;
        }
        let ended = place.run(&["run", &path, "--out", "out", "--allow-exec"]);
        assert!([0, 1, 3].contains(&ended.code), "{file}: {}\n{}", ended.code, ended.stderr);
        let report = place.json("out/report.json");
        let trials = &report["summary"]["trials"];
        assert_eq!(trials["not_started"], 0, "{file}");
        assert_eq!(trials["skipped"], 0, "{file}");
        assert!(["PASS", "FAIL", "INCONCLUSIVE"].contains(&report["verdict"].as_str().unwrap()), "{file}");
        for failure in report["summary"]["failures"].as_array().unwrap() {
            let kind = failure["kind"].as_str().unwrap();
            assert!(["check_failed", "nothing_judged"].contains(&kind), "{file}: {failure}");
        }
        played += 1;
    }
    assert!(played >= 22, "only {played} files were played");
}

/// The two files of old that have mocks, against the built-in agent.
#[test]
fn cases_with_mocks_come_to_the_verdict_that_their_checks_mean() {
    let Some(root) = cases() else { return };
    let play = |name: &str, code: i32| {
        let path = root.join(format!("history/{name}.scenario.yaml"));
        if !path.is_file() {
            println!("SKIPPED: {name} is not among the cases");
            return None;
        }
        let place = Place::new();
        let ended = place.run(&["run", &path.display().to_string(), "--out", "out", "--allow-exec"]);
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
        Some((place.json("out/trials.jsonl"), place.json("out/transcripts.jsonl")))
    };
    // It has programs and no check: it is played to the end, and says nothing about the agent.
    if let Some((trial, transcript)) = play("mock-test", 3) {
        assert_eq!((&trial["verdict"], &trial["failure_kind"]), (&"INCONCLUSIVE".into(), &"nothing_judged".into()));
        let printed: Vec<&str> = transcript["turns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|turn| {
                assert_eq!(turn["exit_code"], 0, "{turn}");
                turn["agent"].as_str().unwrap().lines().last().unwrap()
            })
            .collect();
        let expected = ["Mocked Issue for Eliza", "Generic Mocked Issue", "Mocked Database Result"];
        assert_eq!(printed, expected.map(|what| format!("Mock should return: {what}")));
    }
    // All holds but a pattern that asks for a backslash (in single quotes YAML keeps both), and an action that only the
    // agent of the file's authors has.
    if let Some((trial, transcript)) = play("legacy-compatibility", 1) {
        let judgments = trial["judgments"].as_array().unwrap();
        let failed: Vec<&str> = judgments
            .iter()
            .filter(|judgment| judgment["finding"] != "pass")
            .map(|judgment| judgment["check"].as_str().unwrap())
            .collect();
        assert_eq!((judgments.len(), failed), (8, vec!["regex_match", "trajectory_contains_action"]), "{trial}");
        let call = &transcript["turns"][0]["tool_calls"][0];
        assert_eq!(call["name"], "user_service_authenticate");
        assert_eq!(call["result"], r#"{"success":true,"user_id":"user123"}"#);
    }
}

#[test]
fn the_matrix_of_the_cases_has_the_combinations_of_the_facts() {
    let Some(root) = cases() else { return };
    let facts: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(root.join("facts/matrix-combinations.json")).unwrap()).unwrap();
    for (file, expected) in facts.as_object().unwrap() {
        let path = root.join(file);
        if !Path::new(&path).is_file() {
            println!("SKIPPED: {file} is not among the cases");
            continue;
        }
        let place = Place::new();
        let ended = place.run(&["run", &path.display().to_string(), "--out", "out"]);
        assert!([0, 1, 3].contains(&ended.code), "{}", ended.stderr);
        let report = place.json("out/report.json");
        let got: Vec<&str> =
            report["cases"].as_array().unwrap().iter().map(|case| case["combination"].as_str().unwrap()).collect();
        let wanted: Vec<&str> = expected["combinations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|combination| combination["id"].as_str().unwrap())
            .collect();
        assert_eq!(got, wanted, "{file}");
    }
}
