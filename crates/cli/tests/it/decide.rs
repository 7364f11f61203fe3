//! `run --decide`: what is printed, the exit codes, the report, and what is refused.

use crate::process::Place;

const SCENARIO: &str = "name: greets\ndescription: d\nrun:\n  - input: hello\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

fn place(settings: &str, passes: f64) -> Place {
    let place = Place::new();
    place.write("greets.scenario.yaml", SCENARIO);
    let mock = format!("endpoints: {{mock: {{kind: mock, mock: {{pass: [{{probability: {passes}}}]}}}}}}\n");
    place.write("gabfest.yaml", &format!("{mock}{settings}"));
    place
}

#[test]
fn a_good_agent_passes_early_and_every_page_says_so() {
    let place = place("gates: {pass_rate: 0.95}\n", 1.0);
    let ended = place.run(&["run", ".", "--decide", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let least = "the run stops when it is decided: PASS after 56 repeats of 1 case or more (56 conversations), FAIL after 6 or more, \
                 at most 60";
    assert!(ended.stderr.contains(least), "{}", ended.stderr);
    let report = place.json("out/report.json");
    let reason = report["gates"][0]["reason"].as_str().unwrap();
    let right = "decided after 56 of 60 repeats (56 conversations): PASS, 56 of 56 passed; a run at 90 % passes with a chance of \
                 at most 5 %";
    assert_eq!((report["verdict"].as_str(), reason), (Some("PASS"), right));
    assert_eq!(report["sequential"]["consumed"], 56);
    assert_eq!(report["summary"]["trials"]["not_started"], 0);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&ended.stdout).contains("decided after 56 of 60 repeats"), "{}", ended.stdout);
    for page in ["report.html", "report.md", "junit.xml"] {
        let text = std::fs::read_to_string(place.path().join("out").join(page)).unwrap();
        assert!(words(&text).contains("decided after 56 of 60 repeats"), "{page}");
    }
    let again = place.run(&["report", "out", "--format", "json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&again.stdout).unwrap(), report);
}

#[test]
fn a_bad_agent_fails_early_alike_with_any_number_of_slots() {
    let place = place("gates: {pass_rate: 0.95}\ndecide: {repeats: 200}\n", 0.6);
    let sequential: Vec<serde_json::Value> = ["1", "3", "32"]
        .into_iter()
        .map(|slots| {
            let ended = place.run(&["run", ".", "--seed", "5", "--slots", slots, "--out", slots]);
            assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
            place.json(&format!("{slots}/report.json"))["sequential"].clone()
        })
        .collect();
    assert_eq!(sequential[0]["verdict"], "FAIL");
    assert!(sequential[0]["consumed"].as_u64().unwrap() < 60, "{}", sequential[0]);
    assert!(sequential.iter().all(|other| *other == sequential[0]), "{sequential:?}");
}

#[test]
fn repeats_that_do_not_decide_are_inconclusive() {
    // At 86 %, neither 26 passes in a row nor nine failures of 30 are likely.
    let place = place("gates: {pass_rate: 0.9}\ndecide: {repeats: 30, indifference: 10pp}\n", 0.86);
    let ended = place.run(&["run", ".", "--seed", "1", "--out", "out"]);
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("not decided after 30 of 30"), "{}", ended.stdout);
}

#[test]
fn runs_that_cannot_be_decided_are_refused() {
    for (settings, args, expected) in [
        (
            "gates: {pass_rate: 0.95}\n",
            vec!["--decide", "-n", "20"],
            "PASS takes at least 56 repeats of each of 1 case, and at most 20 are allowed",
        ),
        ("", vec!["--decide"], "a run that decides early needs a success rate to decide"),
        ("gates: {pass_rate: 1.0}\n", vec!["--decide"], "no number of passes shows a success rate of 1"),
        ("gates: {pass_rate: 0.95}\n", vec!["--decide", "--duration", "5s"], "a load has no number of repeats"),
        ("decide: {indifference: 5%}\n", vec![], "decide.indifference is \"5%\", and a margin is in percentage points"),
        ("decide: {false_pass: 0.7}\n", vec![], "decide.false_pass is 0.7, and must be from 0.0001 to 0.4"),
        ("decide: {repeat: 7}\n", vec![], "unknown key `repeat`"),
    ] {
        let place = place(settings, 1.0);
        let ended = place.run(&[vec!["run", "."], args].concat());
        assert_eq!(ended.code, 2, "{settings}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    }
}

#[test]
fn a_load_plays_as_before_beside_the_section() {
    let place = place("gates: {pass_rate: 0.95}\ndecide: {}\n", 1.0);
    let ended = place.run(&["run", ".", "--iterations", "3", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert_eq!(place.json("out/report.json").get("sequential"), None);
}
