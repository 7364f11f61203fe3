//! Objectives from the command line and the settings: exit codes, reports, and what is refused.

use crate::process::Place;

const SCENARIO: &str = "name: greets\ndescription: d\ngabfest: {tags: [shop]}\nrun:\n  - input: hello\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

fn place(settings: &str) -> Place {
    let place = Place::new();
    place.write("greets.scenario.yaml", SCENARIO);
    place.write("gabfest.yaml", settings);
    place
}

#[test]
fn a_broken_objective_is_a_failed_gate_on_every_page() {
    let place = place("objectives:\n  - errors == 0\n  - {objective: max(response) < 1us, abort: false}\n");
    let run = |args: &[&str]| place.run(&[&["run", ".", "-n", "3", "--out", "out"], args].concat());
    let ended = run(&[]);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.contains("max(response) < 1us") && ended.stdout.contains("required < 1us"),
        "{}",
        ended.stdout
    );
    let report = place.json("out/report.json");
    let gates: Vec<(&str, &str)> = report["gates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gate| (gate["name"].as_str().unwrap(), gate["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(gates[gates.len() - 2..], [("errors == 0", "PASS"), ("max(response) < 1us", "FAIL")]);
    for page in ["report.html", "report.md", "junit.xml"] {
        let text = std::fs::read_to_string(place.path().join("out").join(page)).unwrap();
        assert!(text.contains("max(response) &lt; 1us"), "{page}");
    }
}

#[test]
fn no_samples_are_undecided_and_other_objectives_hold() {
    let place = place("goodput: {response_ms: 60000}\n");
    let code = |objective: &str| {
        let ended = place.run(&["run", ".", "-n", "3", "--objective", objective]);
        assert!(ended.stdout.contains("Gates"), "{}{}", ended.stdout, ended.stderr);
        ended.code
    };
    assert_eq!(code("max(response) < 30s"), 0);
    assert_eq!(code("goodput{tag=shop} >= 99%"), 0);
    assert_eq!(code("pass_rate{scenario=greets} == 100%"), 0);
    assert_eq!(code("pass_rate{scenario=gretes} >= 0.5"), 3, "no conversation has this name");
    assert_eq!(code("p99(response) < 30s"), 3, "too few");
}

#[test]
fn an_aborted_run_exits_with_1_and_says_why_also_later() {
    // A run of an hour that one look at its first conversations ends.
    let place = place("slots: 2\nendpoints: {mock: {kind: mock, mock: {latency: {kind: constant, ms: 50}}}}\n");
    let ended =
        place.run(&["run", ".", "--duration", "1h", "--objective", "max(response) < 10ms, abort", "--out", "out"]);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    let reason = "the objective `max(response) < 10ms, abort` is broken";
    assert!(ended.stderr.contains(&format!("the run stopped: {reason}")), "{}", ended.stderr);
    let again = place.run(&["report", "out", "--format", "text"]);
    // The page wraps its lines.
    let words: Vec<&str> = again.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains(reason), "{}", again.stdout);
    let report = place.json("out/report.json");
    assert_eq!((report["run"]["state"].as_str(), report["verdict"].as_str()), (Some("interrupted"), Some("FAIL")));
    assert!(report["run"]["stopped"].as_str().unwrap().starts_with(reason));
    for page in ["report.html", "report.md", "junit.xml"] {
        let text = std::fs::read_to_string(place.path().join("out").join(page)).unwrap();
        assert!(text.contains("is broken"), "{page}");
    }
}

#[test]
fn wrong_objectives_are_refused_with_their_place() {
    let fine = place("slots: 2\n");
    for (objective, expected) in [
        ("p99(tftf) < 2s", "expected a time of turns at column 5, found \"tftf\""),
        ("goodput > 0.5", "counts turns by limits on times, and there are none"),
    ] {
        let ended = fine.run(&["run", ".", "--dry-run", "--objective", objective]);
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(expected) && ended.stderr.contains("hint: "), "{}", ended.stderr);
    }
    let place = place(
        "objectives:\n  - dropped == 0\n  - {objective: cost < 20 abort}\n  - {objective: cost < 2, abrot: true}\n",
    );
    let ended = place.run(&["check", "."]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    for expected in [
        "error: objectives[1] expected `for`, a comma or the end at column 11, found \"abort\"",
        "gabfest.yaml:3:",
        "help: put a comma before it",
        "abrot",
    ] {
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    }
}
