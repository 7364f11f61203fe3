//! A newcomer's first steps: run the shipped scenarios, look at the files, try the small commands.

use std::path::Path;

use serde_json::json;

use crate::process::{Place, scenarios};

#[test]
fn the_shipped_scenarios_run_without_keys_and_leave_a_report() {
    let place = Place::new();
    let ended = place.run(&["run", &scenarios(), "--out", "out"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    for file in ["report.json", "report.html", "report.md", "junit.xml", "trials.jsonl", "transcripts.jsonl"] {
        assert!(place.path().join("out").join(file).is_file(), "{file} is missing");
    }
    let report = place.json("out/report.json");
    assert_eq!(report["verdict"], "PASS");
    let summary = &report["summary"];
    for path in [
        "/schema_version",
        "/run/id",
        "/run/name",
        "/run/started_at",
        "/run/ended_at",
        "/run/seed",
        "/run/plan_digest",
        "/run/gabfest_version",
        "/gates/0/name",
        "/summary/trials/planned",
        "/summary/trials/not_started",
        "/summary/completed_rate",
        "/summary/conversations",
        "/summary/turns",
        "/summary/success_rate/estimate",
        "/summary/success_rate/low",
        "/summary/success_rate/method",
        "/summary/flaky_cases",
        "/summary/latency/turn/p999_ms",
        "/summary/latency/ttft/count",
        "/summary/tokens/agent/input",
        "/summary/cost/total_usd",
        "/summary/cost/complete",
        "/summary/cost/unpriced_calls",
        "/summary/llm_calls/judge",
        "/summary/attempts/total",
        "/summary/attempts/lost",
        "/summary/unsettled_usd",
        "/cases/0/id",
        "/cases/0/scenario",
        "/cases/0/format",
        "/cases/0/persona",
        "/cases/0/parameters",
        "/cases/0/trials",
        "/cases/0/flaky",
    ] {
        assert!(report.pointer(path).is_some(), "report.json has no {path}");
    }
    assert_eq!(summary["trials"]["planned"], summary["trials"]["pass"]);
    let formats: std::collections::BTreeSet<&str> =
        report["cases"].as_array().unwrap().iter().map(|case| case["format"].as_str().unwrap()).collect();
    assert_eq!(formats, ["battery", "eliza", "line", "qna", "skunit"].into(), "all formats, one report");
    let played: Vec<&str> =
        report["cases"].as_array().unwrap().iter().map(|case| case["scenario"].as_str().unwrap()).collect();
    let smallest = [
        "Can shoes be returned?",
        "Opening hours",
        "What are your opening hours?",
        "smallest",
        "Small talk without stuttering",
    ];
    assert!(smallest.iter().all(|name| played.contains(name)), "{played:?}");
    assert_eq!(summary["trials"]["not_started"], 0);
    let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
    assert_eq!(trials.lines().count() as u64, summary["trials"]["planned"].as_u64().unwrap());
    let first: serde_json::Value = serde_json::from_str(trials.lines().next().unwrap()).unwrap();
    for key in [
        "trial_id",
        "case_id",
        "repeat",
        "epoch",
        "verdict",
        "failure_kind",
        "blame",
        "strategy",
        "termination_reason",
        "turns",
        "duration_ms",
        "llm_calls",
        "tokens",
        "cost_usd",
        "judgments",
    ] {
        assert!(first.get(key).is_some(), "trials.jsonl has no {key}");
    }
    assert!(ended.stdout.contains("PASS"), "{}", ended.stdout);
}

#[test]
fn an_old_run_renders_to_the_same_bytes() {
    let place = Place::new();
    let ended = place.run(&["run", &scenarios(), "--out", "out", "--quiet"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
    let again = place.run(&["report", "out", "--out", "again"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    for file in ["report.json", "report.html", "report.md", "junit.xml", "trials.jsonl", "transcripts.jsonl"] {
        let read = |folder: &str| std::fs::read(place.path().join(folder).join(file)).unwrap();
        assert!(read("out") == read("again"), "{file} differs");
    }
    let json = place.run(&["report", "out", "--format", "json"]);
    assert_eq!(
        json.stdout.trim_end(),
        std::fs::read_to_string(place.path().join("out/report.json")).unwrap().trim_end()
    );
}

#[test]
fn a_new_project_works_as_it_is() {
    let place = Place::new();
    assert_eq!(place.run(&["init", "mine"]).code, 0);
    let inside = Place::new();
    let config = place.path().join("mine/gabfest.yaml").display().to_string();
    let folder = place.path().join("mine/scenarios").display().to_string();
    let checked = inside.run(&["check", &folder, "--strict", "--config", &config]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    let ended = inside.run(&["run", &folder, "--config", &config, "--out", "out"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(place.run(&["init", "mine"]).code, 2, "a folder with files is left alone");
    // The number of cases in its comment is correct.
    let matrix = std::fs::read_to_string(place.path().join("mine/scenarios/refund.matrix.yaml")).unwrap();
    let dry = inside.run(&["run", &folder, "--config", &config, "--dry-run"]).stdout;
    assert!(matrix.contains("two cases, three trials each") && dry.contains("2 cases, 6 trials"), "{dry}");
}

#[test]
fn the_runs_of_a_folder_are_listed() {
    let place = Place::new();
    let none = place.run(&["runs"]);
    assert!(none.code == 2 && none.stderr.contains("there are no runs in gabfest-runs\nhint: "), "{}", none.stderr);
    let eliza = format!("{}/eliza/billing-refund.scenario.yaml", scenarios());
    for name in ["first", "second"] {
        let out = format!("gabfest-runs/{name}");
        assert_eq!(place.run(&["run", &eliza, "--name", name, "--out", &out]).code, 0);
    }
    place.write("gabfest-runs/killed/run.db", "");
    place.write("gabfest-runs/notes/x.txt", "");
    let list = place.run(&["runs"]).stdout;
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(list.lines().next().unwrap().split("  ").filter(|head| !head.is_empty()).count(), 7, "{list}");
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), ["RUN", "second", "first", "killed"], "{list}");
    assert!(rows[1][1] == "PASS" && rows[1][2] == "100%" && rows[1].ends_with(&["second"]), "{list}");
    assert_eq!(rows[3][1], "unfinished");
    assert_eq!(place.run(&["runs", "gabfest-runs"]).stdout, list);
    assert_eq!(place.run(&["runs", "nowhere"]).code, 2);
}

#[test]
fn quiet_prints_errors_only() {
    let place = Place::new();
    let warned = "name: a\ndescription: b\njudgment: {strategy: all_pass}\nunknwon: 1\nrun: [{input: hi, evaluations: [{type: string_contains, value: hi}]}]\n";
    place.write("a.scenario.yaml", warned);
    let loud = place.run(&["run", "a.scenario.yaml"]);
    assert!(loud.stderr.contains("unknwon"), "{}", loud.stderr);
    let quiet = place.run(&["run", "a.scenario.yaml", "--quiet"]);
    // The verdict of a run that failed is no warning.
    let verdict = "✗ FAIL  a.scenario.yaml\n  every_case_passes: of 1 case, 1 failed (a)\n";
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (loud.code, "", verdict));
    let strict = place.run(&["run", "a.scenario.yaml", "--quiet", "--strict"]);
    assert!(strict.code == 2 && strict.stderr.contains("error: unknown key `unknwon`"), "{}", strict.stderr);
}

/// On a terminal of 60 columns no line of the bar is longer, because a longer one would leave a copy at each step.
#[test]
fn progress_fits_the_terminal() {
    let place = Place::new();
    place.write("gabfest.yaml", "endpoints: { mock: { kind: mock, mock: { latency: { kind: constant, ms: 40 } } } }\n");
    let run = format!(
        "stty cols 60 rows 20; exec {} run {}/eliza/billing-refund.scenario.yaml --repeats 6 --slots 1",
        env!("CARGO_BIN_EXE_gabfest"),
        scenarios()
    );
    let mut command = std::process::Command::new("script");
    command.args(["--quiet", "--return", "--command", &run, "/dev/null"]).current_dir(place.path());
    let Ok(output) = command.env("TERM", "xterm").stdin(std::process::Stdio::null()).output() else {
        println!("SKIPPED: there is no `script` to give it a terminal");
        return;
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut in_sequence = false;
    let is_shown = |letter: &char| {
        let was_in_sequence = in_sequence;
        in_sequence = *letter == '\x1b' || (in_sequence && !letter.is_ascii_alphabetic());
        !was_in_sequence && !in_sequence
    };
    let plain: String = printed.chars().filter(is_shown).collect();
    let bars: Vec<&str> = plain.split(['\r', '\n']).filter(|line| line.contains("trials  ")).collect();
    assert!(!bars.is_empty(), "{printed}");
    assert!(bars.iter().all(|bar| bar.chars().count() <= 60), "{bars:#?}");
}

#[test]
fn a_dry_run_plays_nothing() {
    let place = Place::new();
    let ended = place.run(&["run", &scenarios(), "--dry-run", "--repeats", "5"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for word in ["trials", "conversations", "calls", "tokens", "time"] {
        assert!(ended.stdout.contains(word), "{word} is missing in\n{}", ended.stdout);
    }
    assert!(!place.path().join("gabfest-runs").exists());
}

#[test]
fn presets_are_listed_and_printed() {
    let place = Place::new();
    let list = place.run(&["preset"]).stdout;
    assert!(list.lines().any(|line| line.starts_with("langgraph ")) && list.contains("Dify"), "{list}");
    let page = place.run(&["preset", "dify"]).stdout;
    assert!(page.contains("agents:\n  dify:\n    http:\n") && page.contains("response_mode: streaming"), "{page}");
    let unknown = place.run(&["preset", "langraph"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("langgraph"), "{}", unknown.stderr);
}

#[test]
fn schemas_and_completions_are_printed() {
    let place = Place::new();
    for what in ["scenario", "matrix", "persona", "config", "report", "transcript", "history", "trends", "plan"] {
        let ended = place.run(&["schema", what]);
        let schema: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert!(schema["properties"].is_object(), "{what}");
    }
    let config = place.run(&["schema", "config"]).stdout;
    let config = jsonschema::validator_for(&serde_json::from_str(&config).unwrap()).unwrap();
    for (settings, fine) in [
        (json!({ "endpoints": { "m": { "kind": "mock", "mock": { "pass": [{ "probability": 0.5 }] } } } }), true),
        (json!({ "gates": { "pass_rate": 0.9 }, "slots": 4 }), true),
        (json!({ "gates": { "pass_rate": 90 } }), false),
        (json!({ "endpoints": { "m": { "mock": { "pass": [{ "probability": 1.5 }] } } } }), false),
        (json!({ "endpoints": { "m": { "mock": { "hang_rat": 0.5 } } } }), false),
        (json!({ "endpoints": { "m": { "timeout_ms": 0 } } }), false),
        (json!({ "endpoint": {} }), false),
    ] {
        assert_eq!(config.is_valid(&settings), fine, "{settings}");
        place.write("gabfest.yaml", &settings.to_string());
        let strict = place.run(&["run", &scenarios(), "--dry-run", "--strict", "--config", "gabfest.yaml"]);
        let refused = strict.code == 2;
        // A timeout of 0 is refused when the endpoint is opened, at the start of the run.
        assert!(refused != fine || settings["endpoints"]["m"]["timeout_ms"] == 0, "{settings}: {}", strict.stderr);
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.run(&["completions", shell]).stdout.contains("gabfest"));
    }
    assert!(Path::new(&scenarios()).is_dir());
}
