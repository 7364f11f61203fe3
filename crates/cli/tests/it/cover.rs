//! `--cover`: few combinations that have every pair of values, as a flag and as a setting.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::process::Place;

const SCENARIO: &str = "
name: order
description: a customer orders
run:
  - name: a
    input: b
    evaluations: [{type: string_contains, value: c}]
judgment: {strategy: all_pass}
gabfest: {weight: 1}
";
const PATHS: [&str; 4] = ["run[0].name", "run[0].input", "run[0].evaluations[0].value", "description"];

/// Three values for each of four axes.
fn place(more: &str) -> Place {
    let place = Place::new();
    place.write("order.scenario.yaml", SCENARIO);
    let axes: String =
        PATHS.iter().map(|path| format!("  - parameter: {path}\n    values: [one, two, three]\n")).collect();
    place
        .write("order.matrix.yaml", &format!("name: order\nbase_scenario: order.scenario.yaml\nmatrix:\n{axes}{more}"));
    place
}

/// The values of each case of a report, in the order of the axes.
fn rows(report: &Value) -> Vec<Vec<String>> {
    let value = |case: &Value, path: &str| case["parameters"][path].as_str().unwrap().to_owned();
    let cases = report["cases"].as_array().unwrap();
    cases.iter().map(|case| PATHS.iter().map(|path| value(case, path)).collect()).collect()
}

fn pairs(rows: &[Vec<String>]) -> BTreeSet<(usize, String, usize, String)> {
    let of = |row: &Vec<String>| {
        let pairs = (0..row.len()).flat_map(|one| (one + 1..row.len()).map(move |other| (one, other)));
        pairs.map(|(one, other)| (one, row[one].clone(), other, row[other].clone())).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of).collect()
}

#[test]
fn a_few_of_81_combinations_have_every_pair() {
    let place = place("");
    let dry = place.run(&["run", "order.matrix.yaml", "--cover", "2", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    let line = dry.stdout.lines().find(|line| line.contains(" of 81 combinations cover every pair")).unwrap();
    let played: usize = line.trim_start_matches("order/order: ").split(' ').next().unwrap().parse().unwrap();
    assert!((9..=12).contains(&played), "{line}");
    assert!(dry.stdout.contains(&format!("\n{played} cases, {played} trials")), "{}", dry.stdout);

    let play = |more: &[&str], out: &str| {
        let ended = place.run(&[&["run", "order.matrix.yaml", "--quiet", "--out", out], more].concat());
        assert!(ended.code < 2, "{}", ended.stderr);
        rows(&place.json(&format!("{out}/report.json")))
    };
    let covered = play(&["--cover", "2"], "covered");
    assert_eq!((covered.len(), pairs(&covered).len()), (played, 6 * 9));
    assert_eq!(play(&["--cover", "2"], "again"), covered, "the same plan every time");
    assert_eq!(play(&["--cover", "1"], "one").len(), 3);
    let triples = play(&["--cover", "3"], "three").len();
    assert!((27..=40).contains(&triples), "{triples}");

    // As a setting, which the flag replaces.
    place.write("gabfest.yaml", "cover: 2\n");
    assert_eq!(play(&[], "set"), covered);
    assert_eq!(play(&["--cover", "all"], "all").len(), 81);
    assert_eq!(place.run(&["check", ".", "--cover", "2"]).code, 0);
    let wrong = place.run(&["run", ".", "--cover", "4"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("expected 1 to 3, or `all`"), "{}", wrong.stderr);
}

#[test]
fn what_is_excluded_is_left_out_and_what_is_added_is_played() {
    let more = "exclude:\n  - {name: one, input: two}\n  - {name: one, input: three}\ninclude:\n  - {name: four, input: one, value: one, description: one}\n";
    let place = place(more);
    let play = |more: &[&str], out: &str| {
        let ended = place.run(&[&["run", "order.matrix.yaml", "--cover", "2", "--quiet", "--out", out], more].concat());
        assert!(ended.code < 2, "{}", ended.stderr);
        rows(&place.json(&format!("{out}/report.json")))
    };
    let found = play(&[], "out");
    assert!(found.iter().all(|row| row[0] != "one" || row[1] == "one"), "{found:?}");
    assert_eq!(found.iter().filter(|row| row[0] == "four").count(), 1);
    let crossed: Vec<Vec<String>> = found.iter().filter(|row| row[0] != "four").cloned().collect();
    assert_eq!(pairs(&crossed).len(), 6 * 9 - 2);
    // What a condition or a filter leaves is covered in turn.
    let chosen = play(&["--where", "description=two"], "where");
    assert!(chosen.iter().all(|row| row[3] == "two") && pairs(&chosen).len() == 3 * 9 - 2 + 9, "{chosen:?}");
    let filtered = play(&["--filter", "\"description\":\"two\""], "filter");
    assert!(filtered.iter().all(|row| row[3] == "two") && pairs(&filtered).len() == 3 * 9 - 2 + 9, "{filtered:?}");
}

#[test]
fn a_product_that_is_too_large_to_play_is_covered() {
    let place = Place::new();
    place.write("order.scenario.yaml", SCENARIO);
    let values: String = (0..30).map(|value| format!("v{value}, ")).collect();
    let axes: String = PATHS.iter().map(|path| format!("  - parameter: {path}\n    values: [{values}]\n")).collect();
    place.write("big.matrix.yaml", &format!("name: big\nbase_scenario: order.scenario.yaml\nmatrix:\n{axes}"));
    let all = place.run(&["run", "big.matrix.yaml", "--dry-run"]);
    assert!(all.code == 2 && all.stderr.contains("810000 cases"), "{}", all.stderr);
    let dry = place.run(&["run", "big.matrix.yaml", "--dry-run", "--cover", "2"]);
    assert!(dry.code == 0 && dry.stdout.contains(" of 810,000 combinations cover every pair"), "{}", dry.stdout);
}
