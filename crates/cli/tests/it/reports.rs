//! What reports show in addition to verdicts: requirements of a battery, evaluations that only inform, scores by
//! weight.

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

/// Streams a few words, each some milliseconds after the one before.
const STREAMED: &str = "
endpoints:
  mock: { kind: mock, stream: true, mock: { ttft: { ms: 20 }, inter_token: { ms: 5 } } }
";

#[test]
fn goodput_counts_what_meets_the_limits_of_the_settings() {
    let place = Place::new();
    place.write("weighed.yaml", WEIGHED);
    let goodput = |out: &str, limits: &str| {
        place.write("gabfest.yaml", &format!("{STREAMED}goodput: {limits}\n"));
        let ended = place.run(&["run", "weighed.yaml", "--repeats", "3", "--out", out]);
        assert!([0, 1].contains(&ended.code), "{}{}", ended.stdout, ended.stderr);
        (place.json(&format!("{out}/report.json")), ended.stdout)
    };
    let (report, page) = goodput("wide", "{ response_ms: 600000, ttft_ms: 600000, per_output_token_ms: 600000 }");
    let (all, latency) = (&report["goodput"], &report["summary"]["latency"]);
    assert_eq!((all["turns"].as_u64(), all["turns_met"].as_u64()), (Some(3), Some(3)), "{all}");
    assert_eq!((&all["conversations"]["estimate"], &all["turn_share"]), (&1.0.into(), &1.0.into()));
    assert!(page.contains("100% of turns and 100% of conversations"), "{page}");
    for times in ["response", "turn", "wait", "ttft", "inter_token", "per_output_token"] {
        assert_eq!(latency[times]["count"], 3, "{times}: {latency}");
        assert_eq!(latency[times]["p90_ms"], serde_json::Value::Null, "3 replies have no p90");
    }
    assert!(latency["response"]["p50_ms"].as_f64() >= latency["turn"]["p50_ms"].as_f64(), "{latency}");
    assert_eq!(report["by_scenario"][0]["goodput"]["turns_met"], 3);
    let starts: u64 =
        report["series"]["slices"].as_array().unwrap().iter().map(|it| it["starts"].as_u64().unwrap()).sum();
    assert_eq!(starts, 3);
    let (report, page) = goodput("narrow", "{ ttft_ms: 1 }");
    assert_eq!((&report["goodput"]["turns_met"], &report["goodput"]["missed"]["ttft"]), (&0.into(), &3.into()));
    assert!(page.contains("3 with a late first token"), "{page}");
    let (report, page) = goodput("none", "{}");
    assert!(report.get("goodput").is_none() && !page.contains("goodput"), "{page}");
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
    // A setting for all cases is not a combination, whose name would be a number and a hash.
    let compat = place.run(&["run", &battery, "--compat", "emely-9043c93", "--out", "compat"]);
    assert!(compat.stdout.contains("Requirements of Quality of a chat partner\n"), "{}", compat.stdout);
    assert!(place.path().join("compat/batteries").join(format!("{name}_summary.xlsx")).is_file());
    // The section shows the findings about single replies, which are not separate evaluations.
    let page = std::fs::read_to_string(place.path().join("out/report.html")).unwrap();
    assert!(!page.contains("data-testid=\"informing\""));
}

#[test]
fn informing_and_weighted_checks_are_marked() {
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
