//! What reports show beside verdicts: requirements of a battery, evaluations that only inform, scores by weight.

use crate::process::{Place, scenarios};

const WEIGHED: &str = "
name: weighed
description: three opinions
run:
  - input: hello
    expected: Hello there!
    evaluations:
      - { type: string_contains, value: hello, weight: 3 }
      - { type: string_contains, value: goodbye }
      - { type: string_contains, value: farewell, required: false, description: says farewell }
judgment: { strategy: all_pass }
gabfest: { required_score: 0.7 }
";

fn has(place: &Place, page: &str, all: &[&str]) {
    let text = std::fs::read_to_string(place.path().join("out").join(page)).unwrap();
    for said in all {
        assert!(text.contains(said), "{page} does not say {said}: {text}");
    }
}

#[test]
fn a_battery_has_a_section_in_every_report() {
    let place = Place::new();
    let battery = format!("{}/emely/quality.battery.yaml", scenarios());
    let ended = place.run(&["run", &battery, "--seed", "7", "--repeats", "4", "--out", "out"]);
    assert!([0, 1].contains(&ended.code), "{}{}", ended.stdout, ended.stderr);
    for said in ["Requirements of Quality of a chat partner", "ML-U3", "ML-I13 · REQ_I1", "typing mistakes"] {
        assert!(ended.stdout.contains(said), "{said}: {}", ended.stdout);
    }
    has(&place, "report.md", &["## Quality battery", "| ML-U3 · REQ_U3 | typing mistakes |", "| ML-I13 · REQ_I1 |"]);
    has(
        &place,
        "report.html",
        &[
            "data-testid=\"battery\"",
            "ML-U3 · REQ_U3",
            "ML-I13 · REQ_I1",
            "<svg class=\"levels\"",
            "aria-label=\"Success by level of error: level ",
        ],
    );
    let mut files: Vec<String> = std::fs::read_dir(place.path().join("out/batteries"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let name = "quality-of-a-chat-partner-mock";
    let conversations = (0..4).map(|repeat| format!("{name}-conversation-{repeat}.txt"));
    let books = ["report", "summary"].map(|kind| format!("{name}_{kind}.xlsx"));
    let mut expected: Vec<String> = conversations.chain(books).collect();
    expected.extend(["histograms.csv", "scores.csv"].map(str::to_owned));
    expected.sort();
    assert_eq!(files, expected);
    // A setting for all cases makes no combination of them, whose name would be a number and a hash.
    let compat = place.run(&["run", &battery, "--compat", "emely-9043c93", "--out", "compat"]);
    assert!(compat.stdout.contains("Requirements of Quality of a chat partner\n"), "{}", compat.stdout);
    assert!(place.path().join("compat/batteries").join(format!("{name}_summary.xlsx")).is_file());
    // The findings about single replies are the section's, and no evaluations of their own.
    let page = std::fs::read_to_string(place.path().join("out/report.html")).unwrap();
    assert!(!page.contains("data-testid=\"informing\""));
}

#[test]
fn what_only_informs_and_what_weighs_is_marked() {
    let place = Place::new();
    place.write("weighed.scenario.yaml", WEIGHED);
    let ended = place.run(&["run", "weighed.scenario.yaml", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    for said in ["Beside the verdict", "weighed: score by weight 75%", "only informs"] {
        assert!(ended.stdout.contains(said), "{said}: {}", ended.stdout);
    }
    has(
        &place,
        "report.md",
        &["weighed: score by weight 75%", "| string_contains: says farewell | weighed | 0 | 1 | 0 |"],
    );
    has(
        &place,
        "report.html",
        &["data-testid=\"informing\"", "<span class=\"informs\"", "weight 3", "score by weight", "75%"],
    );
}
