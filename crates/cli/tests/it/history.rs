//! The history of runs of the mock model: what it keeps, what it shows, and that it never changes a verdict.

use serde_json::Value;

use crate::process::{Ended, Place};

const SCENARIO: &str = "
name: NAME
description: a customer wants money back
run:
  - input: I want my money back.
    evaluations: [{type: string_contains, value: money}]
judgment: {strategy: all_pass}
";

const SETTINGS: &str = "
endpoints:
  weak: { kind: mock, mock: { pass: [{ probability: 0.95 }, { scenario: refund, probability: 0.5 }] } }
agents:
  weak: { endpoint: weak }
roles: { agent: weak }
gates: { pass_rate: 0.3, case_pass_rate: 0 }
labels: { team: shop }
";

fn place() -> Place {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    for name in ["refund", "hours"] {
        place.write(&format!("scenarios/{name}.scenario.yaml"), &SCENARIO.replace("NAME", name));
    }
    place
}

fn night(place: &Place, seed: u32, more: &[&str]) -> Ended {
    let seed = seed.to_string();
    let ended = place.run(&[&["run", "scenarios", "--repeats", "10", "--quiet", "--seed", &seed], more].concat());
    assert!([0, 1].contains(&ended.code), "{}{}", ended.stdout, ended.stderr);
    ended
}

fn json(ended: &Ended) -> Value {
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// The case of this name in the output of `history --json` or `trends --json`.
fn case<'a>(found: &'a Value, name: &str) -> &'a Value {
    found["cases"].as_array().unwrap().iter().find(|case| case["name"] == name).unwrap()
}

#[test]
fn nights_outlive_their_folders() {
    let place = place();
    for (seed, out) in [(1, "gabfest-runs/one"), (2, "gabfest-runs/two"), (3, "gabfest-runs/three")] {
        night(&place, seed, &["--out", out, "--label", "commit=abc"]);
    }
    let passed = |out: &str| {
        let report = place.json(&format!("gabfest-runs/{out}/report.json"));
        let cases = report["cases"].as_array().unwrap().clone();
        cases.iter().find(|case| case["scenario"] == "refund").unwrap()["pass"].clone()
    };
    let expected = ["one", "two", "three"].map(passed);
    let whole = place.json("gabfest-runs/three/report.json")["summary"]["success_rate"].clone();
    for out in ["one", "two", "three"] {
        std::fs::remove_dir_all(place.path().join("gabfest-runs").join(out)).unwrap();
    }

    let found = json(&place.run(&["history", "refund", "--json"]));
    let refund = case(&found, "refund");
    let nights: Vec<&Value> = refund["nights"].as_array().unwrap().iter().map(|night| &night["passed"]).collect();
    assert_eq!(nights, expected.iter().collect::<Vec<_>>());
    assert_eq!(refund["nights"][0]["labels"], serde_json::json!({"commit": "abc", "team": "shop"}));
    assert_eq!(refund["nights"][0]["trials"], 10);
    assert!(refund["nights"][0]["p50_ms"].as_f64().is_some_and(|millis| millis > 0.0), "{refund}");
    assert_eq!((&refund["belief"]["state"], &refund["belief"]["nights"]), (&"flaky".into(), &3.into()));
    let sum: f64 = ["stable", "flaky", "broken"].iter().map(|state| refund["belief"][state].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{refund}");
    assert_eq!(found["runs"][2]["success_rate"], whole, "as in its report");

    let list = place.run(&["runs"]);
    assert_eq!(list.stdout.matches(" * ").count(), 3, "{}", list.stdout);
    assert!(list.stdout.ends_with("* the history has the run; its folder is not here\n"), "{}", list.stdout);
    let ledger = place.run(&["history"]);
    assert!(ledger.stdout.contains("Flake ledger") && ledger.stdout.contains("flaky "), "{}", ledger.stdout);
    let one = place.run(&["history", "REFUND"]);
    assert!(one.stdout.starts_with("? FLAKY  refund @ weak\n") && one.stdout.contains("commit abc"), "{}", one.stdout);
    assert_eq!(place.run(&["history", "nothing"]).code, 2);

    let trends = place.run(&["trends"]);
    assert!(trends.code == 0 && trends.stdout.contains("success  "), "{}{}", trends.stdout, trends.stderr);
    assert_eq!(place.run(&["trends", "--out", "trends.html"]).code, 0);
    let page = std::fs::read_to_string(place.path().join("trends.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("success-over-nights"), "{page}");
    assert_eq!(json(&place.run(&["trends", "--json", "--last", "2"]))["runs"].as_array().unwrap().len(), 2);
    assert_eq!(place.run(&["trends", "--name", "other"]).code, 2);
}

#[test]
fn a_changed_scenario_begins_anew_and_other_runs_count_for_nothing() {
    let place = place();
    night(&place, 1, &[]);
    place.write("scenarios/refund.scenario.yaml", &SCENARIO.replace("NAME", "refund").replace("money}", "back}"));
    night(&place, 2, &[]);
    let load = ["run", "scenarios", "--quiet", "--iterations", "20", "--no-preflight"];
    assert!([0, 1, 3].contains(&place.run(&load).code));
    let found = json(&place.run(&["history", "--json"]));
    let counted = |name: &str| case(&found, name)["belief"]["nights"].clone();
    assert_eq!((counted("refund"), counted("hours")), (1.into(), 2.into()));
    let is_night: Vec<&Value> = found["runs"].as_array().unwrap().iter().map(|run| &run["is_night"]).collect();
    assert_eq!(is_night, [true, true, false]);
    assert_eq!(
        (&found["runs"][1]["other_cases"], &case(&found, "refund")["nights"][1]["changed"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn runs_of_ci_are_imported_once() {
    let ci = place();
    night(&ci, 1, &["--label", "commit=1"]);
    night(&ci, 2, &[]);
    let artefacts = ci.path().join("gabfest-runs");
    let artefacts = artefacts.to_str().unwrap();

    let here = place();
    night(&here, 3, &[]);
    let added = here.run(&["history", "import", artefacts]);
    assert_eq!((added.code, added.stdout.as_str()), (0, "2 runs added, 0 replaced, 2 known\n"), "{}", added.stderr);
    let again = here.run(&["history", "import", artefacts, &format!("{artefacts}/history.db")]);
    assert_eq!(again.stdout, "0 runs added, 0 replaced, 6 known\n", "{}", again.stderr);

    // A folder alone gives the same row as the history that its run wrote.
    let of = |place: &Place| json(&place.run(&["trends", "--json"]))["cases"].clone();
    let folders: Vec<String> = std::fs::read_dir(artefacts)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.display().to_string())
        .collect();
    let empty = Place::new();
    let import: Vec<&str> = ["history", "import"].into_iter().chain(folders.iter().map(String::as_str)).collect();
    assert_eq!(empty.run(&import).stdout, "2 runs added, 0 replaced, 0 known\n");
    assert_eq!(of(&empty), of(&ci));

    let none = here.run(&["history", "import", "scenarios"]);
    assert!(none.code == 2 && none.stderr.contains("there is no run in scenarios\nhint: "), "{}", none.stderr);
    let pruned = here.run(&["history", "prune", "--keep", "1"]);
    assert_eq!(pruned.stdout, "2 runs removed, 1 kept\n", "{}", pruned.stderr);
    assert_eq!(here.run(&["history", "prune", "--before", "2001-01-01"]).stdout, "0 runs removed, 1 kept\n");
    assert_eq!(here.run(&["history", "prune"]).code, 2);
}

#[test]
fn a_history_that_cannot_be_written_changes_no_verdict() {
    let place = place();
    place.write("blocked", "");
    let ended = place.run(&["run", "scenarios", "--history", "blocked/history.db", "--out", "out", "--quiet"]);
    assert!([0, 1].contains(&ended.code), "{}", ended.stderr);
    assert!(ended.stderr.contains("warning: the run is not in the history: "), "{}", ended.stderr);
    place.write("notes.db", &"x".repeat(2_000));
    let ended = place.run(&["run", "scenarios", "--history", "notes.db", "--out", "other"]);
    assert!(ended.stderr.contains("notes.db is not a history of gabfest"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(place.path().join("notes.db")).unwrap(), "x".repeat(2_000));
    let read = place.run(&["history", "--history", "notes.db"]);
    assert!(read.code == 2 && read.stderr.contains("is not a history"), "{}", read.stderr);
    assert!(read.stderr.contains("\nhint: move notes.db away"), "{}", read.stderr);
    std::fs::create_dir(place.path().join("nights")).unwrap();
    let read = place.run(&["history", "--history", "nights"]);
    let said = read.stderr.contains("the history nights is a folder\nhint: ");
    assert!(read.code == 2 && said, "{}", read.stderr);
    let ended = place.run(&["run", "scenarios", "--out", "/proc/none", "--history", "none"]);
    assert!(ended.code == 2 && ended.stderr.contains("\nhint: name another folder with --out"), "{}", ended.stderr);

    assert_eq!(night(&place, 1, &["--history", "none"]).stderr, "");
    assert!(!place.path().join("gabfest-runs/history.db").exists());
    let none = place.run(&["history"]);
    assert!(
        none.code == 2 && none.stderr.contains("there is no history in gabfest-runs/history.db"),
        "{}",
        none.stderr
    );
    let unwatched = place.run(&["submit", "scenarios", "--label", "a=b"]);
    assert!(unwatched.code == 2 && unwatched.stderr.contains("need --watch"), "{}", unwatched.stderr);
    let wrong = place.run(&["run", "scenarios", "--label", "commit"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("a label is NAME=VALUE"), "{}", wrong.stderr);
}

#[test]
fn runs_that_end_at_once_are_both_kept_and_a_resume_replaces_its_run() {
    let place = place();
    let runs: Vec<_> = ["a", "b", "c"]
        .map(|out| {
            let args = ["run", "scenarios", "--repeats", "5", "--quiet", "--out", out];
            place
                .gabfest(&args)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .into_iter()
        .collect();
    for mut run in runs {
        assert!(run.wait().unwrap().code().is_some_and(|code| code < 2));
    }
    let runs = || json(&place.run(&["trends", "--json"]))["runs"].as_array().unwrap().len();
    assert_eq!(runs(), 3);
    let resumed = place.run(&["resume", "a", "--quiet", "--label", "again=yes"]);
    assert!(resumed.code < 2, "{}", resumed.stderr);
    assert_eq!(runs(), 3);
    let found = json(&place.run(&["trends", "--json"]));
    let labelled = found["runs"].as_array().unwrap().iter().filter(|run| run["labels"]["again"] == "yes").count();
    assert_eq!(labelled, 1);
}

#[test]
fn the_history_tells_a_change_of_the_agent_from_a_night() {
    let place = place();
    for seed in 1..=9 {
        night(&place, seed, &["--out", &format!("night-{seed}")]);
    }
    let weaker =
        SETTINGS.replace("probability: 0.95", "probability: 0.1").replace("probability: 0.5", "probability: 0.0");
    place.write("gabfest.yaml", &weaker);
    night(&place, 10, &["--out", "worse"]);
    let compare = |base: &str, new: &str| place.run(&["compare", base, new]);
    let words = |ended: &Ended| ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let change = words(&compare("night-9", "worse"));
    assert!(change.contains("the agent changed, or what is listed here"), "{change}");
    let same = words(&compare("night-8", "night-9"));
    assert!(same.contains("may be the night's"), "{same}");
    let found = place.run(&["compare", "night-9", "worse", "--json"]);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!((&found["nights"]["differences"], &found["nights"]["beyond"]), (&8.into(), &true.into()));
    let few = words(&compare("night-2", "night-3"));
    assert!(few.contains("Two runs cannot tell"), "{few}");
    let none = words(&place.run(&["compare", "night-9", "worse", "--history", "none"]));
    assert!(none.contains("Two runs cannot tell"), "{none}");
}

/// refund fails now and then, always in the same way; from the third night on hours fails too.
#[test]
fn a_failure_is_new_or_seen_since_a_night() {
    let place = place();
    let settings = |hours: f64| {
        format!(
            "endpoints:\n  weak: {{ kind: mock, mock: {{ pass: [{{ probability: {hours:?} }}, {{ scenario: refund, probability: 0.5 }}] }} }}\nagents:\n  weak: {{ endpoint: weak }}\nroles: {{ agent: weak }}\n"
        )
    };
    let play = |place: &Place, seed: u32, hours: f64| {
        place.write("gabfest.yaml", &settings(hours));
        let out = format!("night-{seed}");
        night(place, seed, &["--out", &out]);
        place.json(&format!("{out}/report.json"))["past"].clone()
    };
    // hours asks something else, so that its failure is another one.
    let hours = SCENARIO.replace("NAME", "hours").replace("I want my money back.", "When are you open?");
    place.write("scenarios/hours.scenario.yaml", &hours.replace("value: money", "value: open"));
    assert_eq!(play(&place, 1, 1.0), Value::Null, "nothing is known in the first night");
    let second = play(&place, 2, 1.0);
    let third = play(&place, 3, 0.0);
    let of = |past: &Value, is_new: bool| -> Vec<Value> {
        let failures = past["failures"].as_array().unwrap().iter();
        failures.filter(|failure| failure["is_new"] == is_new).cloned().collect()
    };
    let [old] = &of(&second, false)[..] else { panic!("{second}") };
    assert_eq!((&old["seen"], &old["nights"]), (&2.into(), &2.into()));
    assert_eq!(of(&third, true).len(), 1, "{third}");
    assert_eq!(of(&third, false)[0]["signature"], old["signature"]);
    for page in ["night-3/report.md", "night-3/report.html"] {
        let text = std::fs::read_to_string(place.path().join(page)).unwrap();
        assert!(text.contains("new: no earlier night has it") && text.contains("in 3 of 3 nights"), "{page}: {text}");
    }
    // A report that is written again says what was known then.
    let again = place.run(&["report", "night-2"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(place.json("night-2/report.json")["past"], second);

    let found = json(&place.run(&["history", "--failures", "--json"]));
    let failures = found["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 2, "{failures:?}");
    let refund = failures.iter().find(|failure| failure["cases"] == serde_json::json!(["refund"])).unwrap();
    assert_eq!((&refund["seen"], &refund["nights"], &refund["in_last"]), (&3.into(), &3.into(), &true.into()));
    let failed: u64 = case(&found, "refund")["nights"]
        .as_array()
        .unwrap()
        .iter()
        .map(|night| night["trials"].as_u64().unwrap() - night["passed"].as_u64().unwrap())
        .sum();
    assert_eq!(refund["trials"], failed, "every failed trial is counted once");
    let text = place.run(&["history", "--failures"]).stdout;
    assert!(text.contains("Failures over nights") && text.contains("3 of 3") && text.contains("1 of 1"), "{text}");
    let one = json(&place.run(&["history", "hours", "--failures", "--json"]));
    assert_eq!(one["failures"].as_array().unwrap().len(), 1);
    assert!(place.run(&["trends"]).stdout.contains("Failures over nights"));

    // The folders and the history of CI say the same elsewhere.
    let other = Place::new();
    for from in ["gabfest-runs/history.db", "night-1", "night-2", "night-3"] {
        let from = place.path().join(from);
        assert_eq!(other.run(&["history", "import", from.to_str().unwrap()]).code, 0);
    }
    let imported = json(&other.run(&["history", "--failures", "--json"]));
    assert_eq!(imported["failures"], found["failures"]);
}

#[test]
fn the_schemas_hold_for_what_is_printed() {
    let place = place();
    night(&place, 1, &[]);
    night(&place, 2, &[]);
    for what in ["history", "trends"] {
        let printed = place.run(&["schema", what]);
        let schema: Value = serde_json::from_str(&printed.stdout).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let found = json(&place.run(&[what, "--json"]));
        assert!(validator.is_valid(&found), "{what}: {found}");
        assert!(!validator.is_valid(&serde_json::json!({ "schema_version": 1 })));
        let known = schema["properties"].as_object().unwrap();
        assert!(found.as_object().unwrap().keys().all(|key| known.contains_key(key)), "the schema describes every key");
        let case = schema["$defs"]["Course"]["properties"].as_object().unwrap();
        assert!(found["cases"][0].as_object().unwrap().keys().all(|key| case.contains_key(key)), "{what}");
    }
}

#[test]
fn the_half_life_is_a_setting_and_other_keys_do_not_matter() {
    let place = place();
    night(&place, 1, &[]);
    let half_life =
        |more: &[&str]| json(&place.run(&[&["history", "--json"], more].concat()))["half_life_nights"].clone();
    assert_eq!(half_life(&[]), 7.0);
    // The one who reads the history may lack what a run needs.
    let settings = SETTINGS.replace("team: shop", "team: shop, commit: '${env:GABFEST_NO_SUCH_COMMIT}'");
    place.write("gabfest.yaml", &format!("{settings}history: {{ half_life: 14 }}\n"));
    assert_eq!((half_life(&[]), half_life(&["--half-life", "3"])), (14.0.into(), 3.0.into()));
    place.write("gabfest.yaml", "history: { half_life: no }\n");
    let wrong = place.run(&["history"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("history.half_life is \"no\""), "{}", wrong.stderr);
}

/// A night that stops when it is decided counts in the ledger, and says nothing about how much nights differ.
#[test]
fn a_night_that_was_decided_early_is_marked() {
    let place = place();
    let settings = SETTINGS.replace("pass_rate: 0.3", "pass_rate: 0.6");
    place.write("gabfest.yaml", &settings);
    let ended = place.run(&["run", "scenarios", "--decide", "--quiet", "--seed", "1"]);
    assert!([0, 1, 3].contains(&ended.code), "{}", ended.stderr);
    let found = json(&place.run(&["history", "--json"]));
    assert_eq!((&found["runs"][0]["decided_early"], &found["runs"][0]["is_night"]), (&true.into(), &true.into()));
    assert_eq!(case(&found, "refund")["belief"]["nights"], 1);
    assert!(place.run(&["trends"]).stdout.contains("decided early"));
    let plan = json(&place.run(&["plan", "scenarios", "--detect", "10pp", "--json"]));
    assert_eq!(plan["basis"]["nights"], 0, "its rates follow from when it stopped");
}
