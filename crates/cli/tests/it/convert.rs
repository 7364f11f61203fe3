//! `gabfest convert`: files of every format become YAML that is played the same.

use crate::process::{Place, scenarios};

#[test]
fn one_scenario_becomes_one_file() {
    let place = Place::new();
    let from = format!("{}/skunit/smallest.skunit.md", scenarios());
    let ended = place.run(&["convert", &from, "hours.scenario.yaml"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("wrote 1 file"), "{}", ended.stdout);
    let text = std::fs::read_to_string(place.path().join("hours.scenario.yaml")).unwrap();
    for line in ["name: Opening hours", "- input: When do you open on Saturdays?", "  history: expected"] {
        assert!(text.lines().any(|found| found == line || found.trim_start() == line.trim_start()), "{line}\n{text}");
    }
    assert_eq!(place.run(&["check", "hours.scenario.yaml", "--strict"]).code, 0);
    assert_eq!(place.run(&["run", "hours.scenario.yaml", "--out", "out", "--quiet"]).code, 0);
    // Existing files are not overwritten without the flag.
    let again = place.run(&["convert", &from, "hours.scenario.yaml"]);
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(again.stderr.contains("hint: --force overwrites it"), "{}", again.stderr);
    assert_eq!(place.run(&["convert", &from, "hours.scenario.yaml", "--force"]).code, 0);
}

#[test]
fn a_file_of_several_becomes_a_folder() {
    let place = Place::new();
    let from = format!("{}/skunit/full.skunit.md", scenarios());
    let refused = place.run(&["convert", &from, "all.yaml"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("hint: name a folder to write to"), "{}", refused.stderr);
    assert_eq!(place.run(&["convert", &from, "folder"]).code, 0);
    assert_eq!(place.run(&["check", "folder", "--strict"]).code, 0);
    // The same cases with the same verdicts.
    let verdicts = |path: &str, out: &str| {
        let ended = place.run(&["run", path, "--out", out, "--quiet", "--seed", "7"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let report = place.json(&format!("{out}/report.json"));
        let mut cases: Vec<String> = report["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|case| format!("{} {} {}", case["scenario"], case["trials"]["planned"], case["trials"]["pass"]))
            .collect();
        cases.sort();
        cases
    };
    assert_eq!(verdicts("folder", "converted"), verdicts(&from, "written"));
}

#[test]
fn variants_of_a_question_become_a_matrix() {
    let place = Place::new();
    place.write("shop.qna", "# ? When do you open?\n- opening hours\n- are you open\n```\nAt 9.\n```\n");
    assert_eq!(place.run(&["convert", "shop.qna", "yaml"]).code, 0);
    let matrix = std::fs::read_to_string(place.path().join("yaml/shop.matrix.yaml")).unwrap();
    assert!(matrix.contains("are you open") && matrix.contains("base_scenario: shop.scenario.yaml"), "{matrix}");
    let ended = place.run(&["run", "yaml", "--out", "out", "--quiet"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(place.json("out/report.json")["summary"]["trials"]["planned"], 3);
}

#[test]
fn unconvertible_scenarios_are_reported_and_not_written() {
    let place = Place::new();
    let battery = place.run(&["convert", &format!("{}/emely/smallest.battery.yaml", scenarios()), "out"]);
    assert_eq!(battery.code, 2);
    assert!(battery.stderr.contains("gabfest's own format"), "{}", battery.stderr);
    place.write("broken.skunit.md", "### CHECK NotEmpty\n## [USER]\nHi\n");
    let broken = place.run(&["convert", "broken.skunit.md", "out"]);
    assert_eq!(broken.code, 2);
    assert!(broken.stderr.contains("--> broken.skunit.md:1:5"), "{}", broken.stderr);
    let absent = place.run(&["convert", "absent.qna", "out"]);
    assert_eq!(absent.code, 2);
    assert!(!place.path().join("out").exists());
}
