//! Gates on success rates and flaky cases: in the settings, in `--dry-run`, in every page, and in the exit code.

use serde_json::Value;

use crate::process::{Ended, Place};

const SCENARIO: &str = "name: NAME\ndescription: d\ngabfest: {tags: [TAG]}\nrun:\n  - input: hello\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

/// Two folders; the mock fails in about half of the trials of `weak`.
fn place(gates: &str) -> Place {
    let place = Place::new();
    for (folder, name) in [("shop", "refund"), ("shop", "weak"), ("talk", "hours")] {
        let text = SCENARIO.replace("NAME", name).replace("TAG", folder);
        place.write(&format!("{folder}/{name}.scenario.yaml"), &text);
    }
    let mock = "endpoints: {m: {kind: mock, mock: {pass: [{probability: 1}, {scenario: weak, probability: 0.5}]}}}\nagents: {bot: {endpoint: m}}\n";
    place.write("gabfest.yaml", &format!("{mock}{gates}"));
    place
}

fn play(place: &Place, repeats: &str, more: &[&str]) -> Ended {
    place.run(&[&["run", ".", "--agent", "bot", "--repeats", repeats, "--out", "out"], more].concat())
}

/// The verdict and the reason of each gate on a success rate.
fn rates(report: &Value) -> Vec<(String, String, String)> {
    let text = |gate: &Value, key: &str| gate[key].as_str().unwrap().to_owned();
    let gates = report["gates"].as_array().unwrap().iter();
    gates
        .filter(|gate| text(gate, "name").starts_with("success_rate") || gate["name"] == "max_flaky_cases")
        .map(|gate| (text(gate, "name"), text(gate, "verdict"), text(gate, "reason")))
        .collect()
}

#[test]
fn rates_are_required_of_the_run_and_of_its_parts_by_point_and_by_bound() {
    let place = place(
        "gates:\n  case_pass_rate: 0\n  success_rate:\n    - 60%\n    - {min: 50%, by: bound}\n    - {min: 90%, by: bound, per: suite}\n    - {min: 90%, by: bound, confidence: 80%, per: tag}\n    - {min: 80%, per: scenario}\n    - {min: 95%, by: bound, per: case}\n",
    );
    let ended = play(&place, "20", &[]);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    let report = place.json("out/report.json");
    let found = rates(&report);
    let passed = |name: &str| {
        report["cases"].as_array().unwrap().iter().find(|case| case["scenario"] == name).unwrap()["pass"].as_u64()
    };
    let weak = passed("weak").unwrap();
    assert!((passed("refund"), passed("hours")) == (Some(20), Some(20)) && (4..=15).contains(&weak), "{weak} of 20");
    let verdicts: Vec<(&str, &str)> =
        found.iter().map(|(name, verdict, _)| (name.as_str(), verdict.as_str())).collect();
    assert_eq!(
        verdicts,
        [
            ("success_rate >= 60%, by point", "PASS"),
            ("success_rate >= 50%, by 95% bound", "PASS"),
            ("success_rate >= 90% per suite, by 95% bound", "FAIL"),
            ("success_rate >= 90% per tag, by 80% bound", "FAIL"),
            ("success_rate >= 80% per scenario, by point", "FAIL"),
            ("success_rate >= 95% per case, by 95% bound", "FAIL"),
        ]
    );
    let reason = |gate: usize| found[gate].2.as_str();
    assert!(
        reason(1).contains(&format!("{} of 60 passed", 40 + weak)) && reason(1).contains("so at least"),
        "{}",
        reason(1)
    );
    assert!(reason(2).contains("shop: ") && reason(2).contains("so at most"), "{}", reason(2));
    assert!(reason(4).contains(&format!("of 3 scenarios, 1 failed (weak: {weak} of 20 passed")), "{}", reason(4));
    // 20 of 20 do not show 95 %: two cases are undecided, and the third fails.
    assert!(
        reason(5).contains("2 undecided (refund: 20 of 20 passed (100 %), so between 86.08 % and 100 %"),
        "{}",
        reason(5)
    );
    let verdict = |name: &str| {
        report["cases"].as_array().unwrap().iter().find(|case| case["scenario"] == name).unwrap()["verdict"].clone()
    };
    assert_eq!((verdict("weak"), verdict("hours")), ("FAIL".into(), "INCONCLUSIVE".into()));
    for page in ["report.html", "report.md", "junit.xml"] {
        let text = std::fs::read_to_string(place.path().join("out").join(page)).unwrap();
        for words in ["per suite, by 95% bound", "by the 80 % lower bound (Clopper-Pearson)", "60 % by point"] {
            assert!(text.contains(words), "{page} has no {words:?}");
        }
    }
    assert_eq!(report["summary"]["success_rate_scope"]["scenarios"], 3);
    assert!(ended.stdout.contains("for these 3 scenarios"), "{}", ended.stdout);
}

#[test]
fn too_few_trials_for_a_bound_are_no_pass() {
    let place = place("gates: {success_rate: {min: 95%, by: bound}, max_flaky_cases: 0}\n");
    let ended = play(&place, "20", &["--filter", "hours"]);
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    let report = place.json("out/report.json");
    let [(_, rate, why), (_, flaky, _)] = rates(&report).try_into().unwrap();
    assert_eq!((rate.as_str(), flaky.as_str()), ("INCONCLUSIVE", "PASS"));
    assert!(why.contains("too few, at least 59 trials are needed"), "{why}");
    std::fs::remove_dir_all(place.path().join("out")).unwrap();
    assert_eq!(play(&place, "59", &["--filter", "hours"]).code, 0, "59 of 59 show it");
    std::fs::remove_dir_all(place.path().join("out")).unwrap();
    let flaky = play(&place, "20", &["--filter", "weak"]);
    let gates = place.json("out/report.json");
    assert!(flaky.code == 1 && gates["gates"].to_string().contains("1 of 1 case is flaky"), "{gates}");
}

#[test]
fn a_dry_run_says_what_each_gate_would_do() {
    let dry = |gates: &str, more: &[&str]| {
        let place = place(gates);
        let ended = place.run(&[&["run", ".", "--agent", "bot", "--dry-run"], more].concat());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.stdout
    };
    let text = dry("gates: {pass_rate: 0.95}\n", &["--repeats", "20", "--filter", "hours"]);
    for words in [
        "gates  if each trial passes with the same true rate",
        "  pass_rate >= 95 %: 20 trials\n    a true 99% passes 98 of 100 runs; a true 95% is stopped in 1 of 4 runs; a true 90% passes 39 of 100 runs\n",
        "  case_pass_rate: 20 trials in 1 case\n    a case fails if 5 or fewer of 20 trials pass\n",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let text = dry(
        "gates: {success_rate: {min: 95%, by: bound, per: scenario}}\nobjectives: [p95(response) < 2s]\n",
        &["--repeats", "20"],
    );
    for words in [
        "20 trials in each of 3 scenarios\n    no run passes: at least 59 trials are needed",
        "p95(response) < 2s: p95 needs at least 130 turns to pass",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let text = dry("", &["--repeats", "5"]);
    assert!(
        text.contains("every_case_passes: 5 trials in each of 3 cases\n    a true 99.9% passes 99 of 100 runs"),
        "{text}"
    );
}

#[test]
fn the_interval_of_a_run_of_many_scenarios_comes_from_how_much_they_differ() {
    let place = Place::new();
    for number in 0..8 {
        let text = SCENARIO.replace("NAME", &format!("s{number}")).replace("TAG", "t");
        place.write(&format!("s{number}.scenario.yaml"), &text);
    }
    // Half of the scenarios always pass, and half never do.
    let fails = |number: u32| format!("{{scenario: s{number}, probability: 0}}");
    let rules: Vec<String> = (0..4).map(fails).collect();
    place.write(
        "gabfest.yaml",
        &format!(
            "endpoints: {{m: {{kind: mock, mock: {{pass: [{{probability: 1}}, {}]}}}}}}\nagents: {{bot: {{endpoint: m}}}}\n",
            rules.join(", ")
        ),
    );
    let ended = play(&place, "20", &[]);
    let report = place.json("out/report.json");
    let (rate, scope) = (&report["summary"]["success_rate"], &report["summary"]["success_rate_scope"]);
    assert_eq!((&rate["estimate"], &rate["method"]), (&0.5.into(), &"clustered 95%".into()), "{rate}");
    let effect = scope["design_effect"].as_f64().unwrap();
    assert!((effect - 20.0 * 8.0 / 7.0).abs() < 1e-9 && scope["clustered"] == true, "{scope}");
    let width = rate["high"].as_f64().unwrap() - rate["low"].as_f64().unwrap();
    assert!(width > 0.6, "eight scenarios say as much as eight trials: {rate}");
    for page in ["report.html", "report.md"] {
        let text = std::fs::read_to_string(place.path().join("out").join(page)).unwrap();
        assert!(text.contains("for scenarios like these 8"), "{page}");
    }
    assert!(ended.stdout.contains("clustered 95% interval"), "{}", ended.stdout);
}
