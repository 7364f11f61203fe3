//! `gabfest compare` on runs of the mock model.

use crate::process::Place;

const SCENARIO: &str = "
name: NAME
description: a customer wants money back
run:
  - input: I want my money back.
    evaluations: [{type: string_contains, value: money}]
judgment: {strategy: all_pass}
";

/// Two agents of the settings are the mock model, and one of them fails often.
const SETTINGS: &str = "
endpoints:
  weak: { kind: mock, mock: { pass: [{ probability: 0.2 }] } }
agents:
  weak: { endpoint: weak }
";

fn night(place: &Place, agent: &str, out: &str) {
    let ended = place.run(&["run", "scenarios", "--agent", agent, "--repeats", "10", "--out", out, "--quiet"]);
    assert!([0, 1].contains(&ended.code), "{}{}", ended.stdout, ended.stderr);
}

fn place() -> Place {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    for name in ["refund", "exchange", "returns"] {
        place.write(&format!("scenarios/{name}.scenario.yaml"), &SCENARIO.replace("NAME", name));
    }
    place
}

#[test]
fn two_runs_are_compared_whatever_their_agents_are_called() {
    let place = place();
    night(&place, "mock", "good");
    night(&place, "weak", "bad");
    let ended = place.run(&["compare", "good", "bad"]);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.starts_with("✗ WORSE  good → bad\n") && ended.stdout.contains("refund: 10/10 → "),
        "{}",
        ended.stdout
    );

    let json = place.run(&["compare", "good", "bad", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.code, &found["verdict"], &found["contract"]["compared"]), (1, &"worse".into(), &3.into()));
    let passed = |folder: &str| place.json(&format!("{folder}/report.json"))["summary"]["trials"]["pass"].clone();
    assert_eq!((&found["rate"]["base_pass"], &found["rate"]["new_pass"]), (&passed("good"), &passed("bad")));
    assert!(found["figures"][0]["base_values"].as_u64() == Some(30), "one turn a trial: {}", found["figures"]);
    assert_eq!(found["contract"]["differences"], serde_json::json!([]), "the agent is no difference");

    // The way back is an improvement, and not worse.
    let back = place.run(&["compare", "bad", "good", "--format", "markdown"]);
    assert!(back.code == 0 && back.stdout.starts_with("# ✅ BETTER"), "{}", back.stdout);
    let page = place.run(&["compare", "bad", "good", "--format", "html"]);
    assert!(page.code == 0 && page.stdout.starts_with("<!doctype html>"), "{}", page.stdout);
}

#[test]
fn a_check_with_a_name_has_a_row_of_its_own() {
    let place = place();
    let named = "{type: string_contains, name: speaks of money, value: money}, {type: string_contains, name: says anything, value: e}";
    for name in ["refund", "exchange", "returns"] {
        let scenario = SCENARIO.replace("NAME", name).replace("{type: string_contains, value: money}", named);
        place.write(&format!("scenarios/{name}.scenario.yaml"), &scenario);
    }
    night(&place, "mock", "good");
    night(&place, "weak", "bad");
    let json = place.run(&["compare", "good", "bad", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let checks = found["checks"].as_array().unwrap();
    let names: Vec<&str> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["says anything", "speaks of money"], "{}", json.stderr);
    assert_eq!((&checks[0]["outcome"], &checks[1]["outcome"]), (&"same".into(), &"worse".into()), "{checks:?}");
    // The trials of both runs, as their own lines have them.
    let passed = |folder: &str| {
        let lines = std::fs::read_to_string(place.path().join(folder).join("trials.jsonl")).unwrap();
        let passes = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let of = line["judgments"].as_array().unwrap().clone();
            of.iter().any(|one| one["name"] == "speaks of money" && one["finding"] == "pass")
        };
        lines.lines().filter(|line| passes(line)).count()
    };
    assert_eq!(
        (&checks[1]["base"]["pass"], &checks[1]["new"]["pass"]),
        (&passed("good").into(), &passed("bad").into())
    );
    assert_eq!(checks[1]["cells"], 3);
    let page = place.run(&["compare", "good", "bad"]).stdout;
    let row = page.lines().find(|line| line.trim_start().starts_with("speaks of money")).unwrap();
    assert!(row.contains("30/30") && row.ends_with("worse"), "{page}");
}

#[test]
fn the_same_trials_are_pairs_and_a_changed_file_is_named() {
    let place = place();
    night(&place, "mock", "one");
    place.write("scenarios/refund.scenario.yaml", &SCENARIO.replace("NAME", "refund").replace("money}", "back}"));
    std::fs::remove_file(place.path().join("scenarios/returns.scenario.yaml")).unwrap();
    night(&place, "mock", "two");
    let ended = place.run(&["compare", "one", "two", "--margin", "20pp", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let contract = &found["contract"];
    assert_eq!((&contract["compared"], &contract["paired"], &contract["only_base"]), (&2.into(), &2.into(), &1.into()));
    assert_eq!(contract["differences"][0]["name"], "refund.scenario.yaml/refund", "{contract}");
    assert_eq!((ended.code, &found["verdict"], &found["rate"]["margin"]), (0, &"not_worse".into(), &0.2.into()));
    // 20 trials cannot show that a rate did not fall by 1 point.
    assert_eq!(place.run(&["compare", "one", "two", "--margin", "1pp"]).code, 3);
}

#[test]
fn a_run_that_is_not_there_is_an_error_of_use() {
    let place = place();
    night(&place, "mock", "one");
    let ended = place.run(&["compare", "one", "nothing"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("there is no report of the run \"nothing\"")
            && ended.stderr.contains("hint: name a run's folder"),
        "{}",
        ended.stderr
    );
    let ended = place.run(&["compare", "one", "one", "--history", "nofile.db"]);
    assert!(ended.code == 2 && ended.stderr.contains("there is no history in nofile.db\nhint: "), "{}", ended.stderr);
    let trials = std::fs::read_to_string(place.path().join("one/trials.jsonl")).unwrap();
    place.write("one/trials.jsonl", &trials[..trials.len() - 40]);
    let ended = place.run(&["compare", "one", "one"]);
    let lines = trials.lines().count();
    let said = format!("line {lines} of one/trials.jsonl is cut");
    assert!(ended.code == 2 && ended.stderr.contains(&said) && ended.stderr.contains("hint: "), "{}", ended.stderr);
    place.write("one/trials.jsonl", &trials);
    std::fs::remove_file(place.path().join("one/report.json")).unwrap();
    let ended = place.run(&["compare", "one", "one"]);
    assert!(ended.code == 2 && ended.stderr.contains("`gabfest report one` writes it"), "{}", ended.stderr);
    let ended = place.run(&["compare", "one", "one", "--margin", "3"]);
    assert!(
        ended.code == 2 && ended.stderr.contains("a margin is in percentage points from 0pp to 100pp, such as 3pp"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_run_that_is_worse_than_its_baseline_fails_and_the_first_has_none() {
    let place = place();
    let gates_of =
        |margin: &str| format!("gates: {{ pass_rate: 0.05, case_pass_rate: 0, regression: {{ margin: {margin} }} }}");
    place.write("gabfest.yaml", &format!("{SETTINGS}{}\n", gates_of("20pp")));
    let night = |more: &[&str]| place.run(&[&["run", "scenarios", "--repeats", "10"], more].concat());
    let first = night(&[]);
    assert!(first.code == 0 && first.stderr.contains("there is no last-green run \"scenarios\""), "{}", first.stderr);
    let same = night(&[]);
    assert!(same.code == 0 && same.stdout.contains("✓ NOT WORSE"), "{}{}", same.stdout, same.stderr);
    let worse = night(&["--agent", "weak", "--out", "bad"]);
    assert!(worse.code == 1 && worse.stdout.contains("✗ WORSE"), "{}{}", worse.stdout, worse.stderr);
    // The comparison is a gate of the run, on every page and in its history.
    assert!(worse.stdout.starts_with("✗ FAIL  scenarios\n"), "{}", worse.stdout);
    let report = place.json("bad/report.json");
    let gates: Vec<&serde_json::Value> =
        report["gates"].as_array().unwrap().iter().filter(|gate| gate["verdict"] != "PASS").collect();
    assert_eq!((&report["verdict"], gates.len(), &gates[0]["name"]), (&"FAIL".into(), 1, &"regression".into()));
    let reason = gates[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("WORSE, compared with gabfest-runs/"), "{reason}");
    let page = |name: &str| std::fs::read_to_string(place.path().join("bad").join(name)).unwrap();
    let junit = page("junit.xml");
    assert!(junit.contains("name=\"regression\"") && junit.matches("<failure").count() == 1, "{junit}");
    for name in ["report.html", "report.md"] {
        let text = page(name);
        assert!(text.contains("FAIL") && !text.contains("every gate held"), "{text}");
    }
    let runs = place.run(&["runs"]).stdout;
    assert!(runs.lines().any(|line| line.contains("FAIL")), "{runs}");
    let again = place.run(&["report", "bad", "--out", "again"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(place.json("again/report.json")["verdict"], "FAIL", "a report that is written elsewhere says the same");
    // A run that is worse is not the next baseline.
    let next = night(&["--agent", "weak", "--quiet"]);
    assert!(
        next.code == 1 && next.stderr.contains("✗ FAIL") && next.stderr.contains("regression: WORSE"),
        "{}",
        next.stderr
    );
    let last = night(&["--agent", "weak"]);
    assert!(last.code == 1 && last.stdout.contains("✗ WORSE"), "green before, so red again: {}", last.stdout);
    // Too little evidence is no failure, and not green either.
    place.write("gabfest.yaml", &format!("{SETTINGS}{}\n", gates_of("1pp")));
    let open = night(&["--out", "open"]);
    let report = place.json("open/report.json");
    assert_eq!((open.code, &report["verdict"]), (3, &"INCONCLUSIVE".into()), "{}", open.stdout);
    let junit = std::fs::read_to_string(place.path().join("open/junit.xml")).unwrap();
    assert!(junit.contains("<error") && !junit.contains("<failure"), "{junit}");
    assert_eq!(place.json("bad/compare.json")["verdict"], "worse");
    for page in ["compare.md", "compare.html"] {
        assert!(place.path().join("bad").join(page).is_file(), "{page}");
    }
    // The flag chooses another run, and does without the settings.
    place.write("gabfest.yaml", SETTINGS);
    let from_bad = night(&["--baseline", "bad", "--quiet"]);
    assert_eq!((from_bad.code, from_bad.stdout.as_str()), (0, ""), "{}", from_bad.stderr);
    assert_eq!(night(&["--baseline", "nothing"]).code, 2);
}

#[test]
fn a_baseline_that_is_gone_or_broken_does_not_turn_the_gate_off() {
    let place = place();
    place.write("gabfest.yaml", &format!("{SETTINGS}gates: {{ pass_rate: 0.05, case_pass_rate: 0 }}\n"));
    let night = |more: &[&str]| place.run(&[&["run", "scenarios", "--repeats", "10", "--quiet"], more].concat());
    assert_eq!(night(&[]).code, 0);
    let runs = || {
        let all = std::fs::read_dir(place.path().join("gabfest-runs")).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<_> = all.filter(|path| path.is_dir()).collect();
        all.sort();
        all
    };
    let folder = runs().remove(0);
    let report = std::fs::read_to_string(folder.join("report.json")).unwrap();
    std::fs::write(folder.join("report.json"), &report[..200]).unwrap();
    for baseline in ["last", "last-green"] {
        let ended = night(&["--baseline", baseline]);
        let said = ended.stderr.contains("the latest earlier run cannot be read: gabfest-runs/")
            && ended.stderr.contains("hint: `gabfest report gabfest-runs/");
        assert!(ended.code == 2 && said, "{}", ended.stderr);
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let ended = night(&["--baseline", "last"]);
    let said = ended.stderr.contains("is in the history and not in gabfest-runs/");
    assert!(ended.code == 2 && said && ended.stderr.contains("\nhint: "), "{}", ended.stderr);
    assert_eq!(night(&["--baseline", "last", "--history", "none", "--out", "first"]).code, 0);
    // An earlier one that is there is compared, and the run says which.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(night(&[]).code, 0);
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(night(&["--out", "elsewhere"]).code, 0);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let ended = night(&["--baseline", "last"]);
    assert!(ended.stderr.contains("compared with the one before it, gabfest-runs/"), "{}", ended.stderr);
}

const TALK: &str = "
name: NAME
description: a customer wants money back
run:
  - input: I want my money back.
    conversation:
      max_turns: 3
      user_simulator: {persona: a customer, objective: get the money back}
    evaluations: [{type: string_contains, value: money}]
judgment: {strategy: all_pass}
";

/// The seed and the verdict of each trial, and what was said in those whose words are kept.
fn said(place: &Place, folder: &str) -> (Vec<serde_json::Value>, Vec<serde_json::Value>) {
    let lines = |name: &str, of: fn(serde_json::Value) -> serde_json::Value| -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(place.path().join(folder).join(name)).unwrap();
        text.lines().map(|line| of(serde_json::from_str(line).unwrap())).collect()
    };
    let words = lines("transcripts.jsonl", |line| {
        let turns = line["turns"].as_array().unwrap().iter().map(|turn| [turn["user"].clone(), turn["agent"].clone()]);
        serde_json::json!([line["number"], turns.collect::<Vec<_>>()])
    });
    (lines("trials.jsonl", |trial| serde_json::json!([trial["number"], trial["seed"], trial["verdict"]])), words)
}

#[test]
fn agents_of_other_names_and_addresses_have_the_same_conversations_and_are_pairs() {
    let place = Place::new();
    for name in ["refund", "exchange"] {
        place.write(&format!("scenarios/{name}.scenario.yaml"), &TALK.replace("NAME", name));
    }
    let mock = "kind: mock, mock: { pass: [{ probability: 0.5 }] }";
    place.write(
        "gabfest.yaml",
        &format!("endpoints:\n  a: {{ {mock} }}\n  b: {{ {mock} }}\nagents:\n  old: {{ endpoint: a }}\n  new: {{ endpoint: b }}\n"),
    );
    night(&place, "old", "one");
    night(&place, "new", "two");
    let (one, two) = (said(&place, "one"), said(&place, "two"));
    assert!(one.0.len() == 20 && one.1.len() > 2, "some fail, and their words are kept: {one:?}");
    assert_eq!(one, two);
    let contract = |base: &str, new: &str| {
        let ended = place.run(&["compare", base, new, "--json"]);
        serde_json::from_str::<serde_json::Value>(&ended.stdout).unwrap()["contract"].clone()
    };
    assert_eq!(contract("one", "two")["paired"], 2);
    // The same at two addresses.
    let elsewhere = Place::new();
    let (_first, here) = elsewhere.serve(&["mock", "--listen", "127.0.0.1:0"]);
    let (_second, there) = elsewhere.serve(&["mock", "--listen", "127.0.0.1:0"]);
    night(&place, &here, "here");
    night(&place, &there, "there");
    assert_eq!(said(&place, "here"), said(&place, "there"));
    assert_eq!(contract("here", "there")["paired"], 2);
}

#[test]
fn the_schema_holds_for_what_is_printed_and_written() {
    let place = place();
    night(&place, "mock", "good");
    night(&place, "weak", "bad");
    let printed = place.run(&["schema", "compare"]);
    let schema: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (base, new) in [("good", "bad"), ("bad", "good"), ("good", "good")] {
        let found = serde_json::from_str(&place.run(&["compare", base, new, "--json"]).stdout).unwrap();
        let faults: Vec<String> = validator.iter_errors(&found).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{base} {new}: {faults:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "schema_version": 1 })));
    let known = schema["properties"].as_object().unwrap();
    let found: serde_json::Value =
        serde_json::from_str(&place.run(&["compare", "good", "bad", "--json"]).stdout).unwrap();
    assert!(found.as_object().unwrap().keys().all(|key| known.contains_key(key)), "the schema describes every key");
}

#[test]
fn the_report_of_a_run_has_the_comparison_also_when_it_is_written_again() {
    let place = place();
    place.write("gabfest.yaml", &format!("{SETTINGS}gates: {{ pass_rate: 0.05, case_pass_rate: 0 }}\n"));
    night(&place, "mock", "good");
    let ended =
        place.run(&["run", "scenarios", "--agent", "weak", "--repeats", "10", "--out", "bad", "--baseline", "good"]);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    let page = |name: &str| std::fs::read_to_string(place.path().join("bad").join(name)).unwrap();
    let (html, markdown) = (page("report.html"), page("report.md"));
    for text in [&html, &markdown] {
        for words in ["Compared with", "WORSE: the success rate fell", ", worse"] {
            assert!(text.contains(words), "{words:?} is missing in\n{text}");
        }
    }
    assert!(markdown.contains("refund: 10/10 → "), "{markdown}");
    let text = place.run(&["report", "bad", "--format", "text"]).stdout;
    assert!(text.contains("Compared with good") && text.contains("WORSE: the success rate fell"), "{text}");
    assert_eq!(place.run(&["report", "bad"]).code, 0);
    assert_eq!((page("report.html"), page("report.md")), (html, markdown), "the same bytes again");
    // A run that was not compared has no such section.
    assert!(!std::fs::read_to_string(place.path().join("good/report.md")).unwrap().contains("Compared with"));
}
