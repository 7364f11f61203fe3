//! A store with changed bytes: readable trials are reported, unreadable ones are counted, named, and played again.

use std::{fs, process::Stdio, time::Duration};

use serde_json::json;

use crate::process::{Place, Process};

const SCENARIO: &str = "
name: hello
description: d
run: [{ input: hi, evaluations: [{ type: string_contains, value: hi }] }]
judgment: { strategy: all_pass }
";

/// Replaces bytes once, as a faulty disk might.
fn spoil(store: &mut [u8], bytes: &[u8], others: &[u8]) {
    assert_eq!(bytes.len(), others.len());
    let at = store.windows(bytes.len()).position(|window| window == bytes).expect("the store has these bytes");
    store[at..at + bytes.len()].copy_from_slice(others);
}

/// Damages the first frames of compressed turns.
fn spoil_turns(store: &mut [u8], frames: usize) {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let found: Vec<usize> = (0..store.len() - 9).filter(|at| store[*at..].starts_with(&MAGIC)).collect();
    assert!(found.len() >= frames, "the store has compressed turns");
    for at in &found[..frames] {
        store[at + 8] ^= 0xff;
    }
}

#[test]
fn a_store_that_is_removed_while_it_is_played_stops_the_run() {
    let place = Place::new();
    place.write("hello.scenario.yaml", SCENARIO);
    place.write("gabfest.yaml", "endpoints: { mock: { kind: mock, mock: { latency: { ms: 600000 } } } }");
    let mut command = place.gabfest(&["run", "hello.scenario.yaml", "--repeats", "6", "--out", "out", "--quiet"]);
    let mut run = Process(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let out = place.path().join("out");
    while !out.join("run.db").exists() || out.join("begun.json").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    for name in ["run.db", "run.db-wal", "run.db-shm"] {
        let _ = fs::remove_file(out.join(name));
    }
    // Its trials take ten minutes.
    assert_eq!(run.wait(Duration::from_secs(30)), 3);
    let said = run.stderr();
    assert!(said.contains("the run stopped: the store is gone: out/run.db was removed"), "{said}");
    assert!(said.contains("the run cannot be resumed, so start it again"), "{said}");
}

#[test]
fn unreadable_trials_are_named_and_all_others_reported() {
    let place = Place::new();
    place.write("hello.scenario.yaml", SCENARIO);
    // One after the other, so that the first turns in the file belong to the first trials, or to the last.
    let run = place.run(&["run", "hello.scenario.yaml", "--repeats", "6", "--slots", "1", "--out", "out", "--quiet"]);
    assert!([0, 1].contains(&run.code), "{}", run.stderr);
    let whole = place.view("out");
    let path = place.path().join("out/run.db");
    let mut store = fs::read(&path).unwrap();
    // The record of one trial, and the turns of two others.
    spoil(&mut store, b"\"repeat\":3,", b"\"repeat\":x,");
    spoil_turns(&mut store, 2);
    fs::write(&path, &store).unwrap();

    let text = place.run(&["report", "out", "--format", "text"]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    assert_eq!(place.run(&["report", "out"]).code, 0);
    let report = place.json("out/report.json");
    assert_eq!((&report["unreadable"]["records"], &report["unreadable"]["transcripts"]), (&json!(1), &json!(2)));
    let failures = report["summary"]["failures"].as_array().unwrap();
    let unreadable = failures.iter().find(|failure| failure["kind"] == "unreadable").expect("it is among the errors");
    assert_eq!((&unreadable["blame"], &unreadable["trials"]), (&json!("infra"), &json!(1)));
    let listed = report["unreadable"]["trials"].as_array().unwrap();
    assert_eq!(listed.len(), 3);
    let reasons: Vec<&str> = listed.iter().map(|trial| trial["reason"].as_str().unwrap()).collect();
    for (part, times) in [("its record cannot be read: expected value", 1), ("is broken: undecodable", 2)] {
        assert_eq!(reasons.iter().filter(|reason| reason.contains(part)).count(), times, "{part}: {reasons:?}");
    }
    let numbers: Vec<u64> = listed.iter().map(|trial| trial["number"].as_u64().unwrap()).collect();
    let pages = [
        text.stdout,
        fs::read_to_string(place.path().join("out/report.md")).unwrap(),
        fs::read_to_string(place.path().join("out/report.html")).unwrap(),
    ];
    for page in pages {
        for number in &numbers {
            assert!(page.contains(&format!("trial {number} (hello, repeat ")), "trial {number}: {page}");
        }
    }
    let lines = |name: &str| fs::read_to_string(place.path().join("out").join(name)).unwrap().lines().count();
    assert_eq!(lines("trials.jsonl"), 6, "all trials are there");

    // The trial with the lost end is played again, and then only the turns of the two others are missing.
    let resumed = place.run(&["resume", "out"]);
    assert!([0, 1].contains(&resumed.code), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("1 trial is played again"), "{}", resumed.stderr);
    assert_eq!(place.json("out/report.json")["unreadable"]["records"], 0);
    assert_eq!(place.view("out"), whole);
}
