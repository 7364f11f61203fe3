//! `kill -9` in the middle of a run, then `gabfest resume`: every trial counts exactly once, and lost attempts are
//! counted.

use std::{collections::BTreeSet, time::Duration};

use crate::process::{Place, scenarios};

const SLOW: &str = "
endpoints:
  mock:
    kind: mock
    mock:
      latency: { ms: 25 }
";

#[test]
fn a_killed_run_continues_from_its_store() {
    let place = Place::new();
    place.write("gabfest.yaml", SLOW);
    let args = ["run", &scenarios(), "--repeats", "12", "--slots", "8", "--out", "out"];
    let mut run = place.start(&args);
    let mut patience = Duration::from_millis(2_500);
    // On a busy machine it may be killed before anything is kept: then it is resumed, and killed later.
    loop {
        std::thread::sleep(patience);
        run.kill();
        assert!(!place.path().join("out/report.json").exists(), "it was killed too late for this test");
        let killed = place.run(&["report", "out", "--format", "text"]);
        patience *= 2;
        if killed.stdout.is_empty() {
            // It was killed before the run was stored.
            let _ = std::fs::remove_dir_all(place.path().join("out"));
            run = place.start(&args);
            continue;
        }
        assert!(killed.stdout.contains("interrupted: the figures cover the played trials"), "{}", killed.stdout);
        if !killed.stdout.contains("completed  0 of") {
            break;
        }
        run = place.start(&["resume", "out"]);
    }
    let resumed = place.run(&["resume", "out"]);
    assert!([0, 1].contains(&resumed.code), "{}", resumed.stderr);
    let line = resumed.stderr.split("resuming run ").nth(1).expect("it says what it resumes");
    let done: u64 = line.split(" of ").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(done > 0, "nothing was kept: {}", resumed.stderr);
    let report = place.json("out/report.json");
    let planned = report["summary"]["trials"]["planned"].as_u64().unwrap();
    assert!(done < planned, "it was killed too late for this test");
    assert!(report["summary"]["attempts"]["lost"].as_u64().unwrap() > 0);
    let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
    let ids: BTreeSet<String> = trials
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["trial_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len() as u64, planned, "every trial is there");
    assert_eq!(trials.lines().count() as u64, planned, "and only once");
    let whole = place.run(&["run", &scenarios(), "--repeats", "12", "--out", "whole", "--config", "gabfest.yaml"]);
    assert!([0, 1].contains(&whole.code));
    assert_eq!(place.view("out"), place.view("whole"), "a kill changes no verdict");
}

#[test]
fn a_finished_run_is_not_played_again() {
    let place = Place::new();
    assert_eq!(place.run(&["run", &scenarios(), "--out", "out", "--quiet"]).code, 0);
    let before = place.view("out");
    let again = place.run(&["resume", "out", "--quiet"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(place.view("out"), before);
    let same_place = place.run(&["run", &scenarios(), "--out", "out"]);
    assert_eq!(same_place.code, 2);
    assert!(same_place.stderr.contains("holds a run already"), "{}", same_place.stderr);
    assert_eq!(place.run(&["resume", "nowhere"]).code, 2);
}
