//! `quarantine` in the settings: its cases inform and never block, and entries that are wrong or over are reported.

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
  weak: { kind: mock, mock: { pass: [{ scenario: refund, probability: 0.0 }] } }
agents:
  weak: { endpoint: weak }
roles: { agent: weak }
";

fn entry(case: &str, expires: &str) -> String {
    format!(
        "{SETTINGS}quarantine:\n  - {{ case: {case}, owner: ann@shop, reason: bank is down, expires: {expires} }}\n"
    )
}

fn place(settings: &str) -> Place {
    let place = Place::new();
    place.write("gabfest.yaml", settings);
    for name in ["refund", "hours"] {
        place.write(&format!("scenarios/{name}.scenario.yaml"), &SCENARIO.replace("NAME", name));
    }
    place
}

fn night(place: &Place, more: &[&str]) -> Ended {
    let repeats: &[&str] = if more.contains(&"--repeats") { &[] } else { &["--repeats", "5"] };
    place.run(&[&["run", "scenarios"], repeats, more].concat())
}

#[test]
fn a_quarantined_case_informs_and_never_blocks() {
    let place = place(SETTINGS);
    assert_eq!(night(&place, &["--out", "before"]).code, 1, "refund fails every time");
    place.write("gabfest.yaml", &entry("refund", "2999-12-31"));
    let ended = night(&place, &["--out", "out"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    for text in [ended.stdout, std::fs::read_to_string(place.path().join("out/report.md")).unwrap()] {
        // Markdown keeps `@` from naming an account.
        for words in ["Quarantined cases", "bank is down", "2999-12-31"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    let report = place.json("out/report.json");
    let case =
        |name: &str| report["cases"].as_array().unwrap().iter().find(|case| case["scenario"] == name).unwrap().clone();
    assert_eq!((&case("refund")["fail"], &case("refund")["verdict"]), (&5.into(), &"FAIL".into()), "it is not hidden");
    assert_eq!(case("refund")["quarantine"]["reason"], "bank is down");
    assert!(case("hours").get("quarantine").is_none());
    assert_eq!(report["summary"]["trials"]["fail"], 5, "figures have its trials");
    let junit = std::fs::read_to_string(place.path().join("out/junit.xml")).unwrap();
    assert!(junit.contains("quarantined until 2999-12-31 by ann@shop") && !junit.contains("<failure"), "{junit}");
    let page = std::fs::read_to_string(place.path().join("out/report.html")).unwrap();
    assert!(page.contains("Quarantined cases") && page.contains("bank is down"));
    // The other case still blocks.
    place.write("gabfest.yaml", &entry("refund", "2999-12-31").replace("scenario: refund, ", ""));
    assert_eq!(night(&place, &["--out", "both"]).code, 1);
}

#[test]
fn wrong_entries_are_errors_and_one_that_is_over_counts_again() {
    let place = place(&entry("refnd", "2999-12-31"));
    for ended in [night(&place, &["--dry-run"]), place.run(&["check", "scenarios"])] {
        assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
        let text = &ended.stderr;
        assert!(text.contains("quarantine[0].case names \"refnd\", and there is no such case"), "{text}");
        assert!(text.contains("gabfest.yaml:8:") && text.contains("did you mean `refund`?"), "{text}");
    }
    // A part of the scenarios does not have every case.
    let part = place.run(&["check", "scenarios/hours.scenario.yaml"]);
    assert_eq!(part.code, 0, "{}", part.stderr);

    place.write("gabfest.yaml", &entry("refund", "soon").replace("ann@shop", "''"));
    let ended = night(&place, &["--dry-run"]);
    assert!(ended.code == 2 && ended.stderr.contains("expires is \"soon\", and must be a day"), "{}", ended.stderr);
    assert!(ended.stderr.contains("quarantine[0].owner is missing"), "{}", ended.stderr);

    place.write("gabfest.yaml", &entry("refund", "2020-01-31"));
    let ended = night(&place, &["--out", "late"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let text = &ended.stderr;
    assert!(text.contains("\"refund\" expired on 2020-01-31") && text.contains("owner: ann@shop"), "{text}");
    assert!(place.json("late/report.json")["cases"][1].get("quarantine").is_none());
}

#[test]
fn a_quarantined_case_that_gets_worse_is_a_warning() {
    let half = entry("refund", "2999-12-31").replace("probability: 0.0", "probability: 0.9");
    let place = place(&half);
    for seed in ["1", "2", "3", "4"] {
        let ended = night(&place, &["--repeats", "20", "--seed", seed, "--quiet"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    }
    let over = "  - { case: hours, owner: bob@shop, reason: slow, expires: 2020-01-31 }\n";
    place.write("gabfest.yaml", &format!("{}{over}", entry("refund", "2999-12-31")));
    let ended = night(&place, &["--repeats", "20", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = &ended.stderr;
    assert!(
        text.contains("warning: the quarantined case refund is worse than before: 0 of 20 trials passed"),
        "{text}"
    );
    assert!(text.contains("its owner is ann@shop"), "{text}");
    // The report says so too, and the entries that are over.
    let past = place.json("out/report.json")["past"].clone();
    assert_eq!((&past["alerts"][0]["case"], &past["alerts"][0]["owner"]), (&"refund".into(), &"ann@shop".into()));
    assert_eq!((&past["expired"][0]["case"], &past["expired"][0]["expires"]), (&"hours".into(), &"2020-01-31".into()));
    let page = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    for text in [ended.stdout, page("out/report.md"), page("out/report.html")] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("refund is worse than before: 0 of 20 trials passed"), "{text}");
        assert!(words.contains("expired on 2020-01-31: its gates count again"), "{text}");
    }
}

#[test]
fn objectives_and_comparisons_leave_a_quarantined_case_out() {
    let half = SETTINGS.replace("probability: 0.0", "probability: 1.0");
    let place = place(&half);
    let play = |place: &Place, more: &[&str]| place.run(&[&["run", "scenarios", "--repeats", "20"], more].concat());
    assert_eq!(play(&place, &["--out", "base"]).code, 0);
    let objectives = "objectives: ['pass_rate >= 90%', 'pass_rate{scenario=refund} >= 90%', 'cost < 1']\n";
    place.write("gabfest.yaml", &format!("{SETTINGS}{objectives}"));
    let blocked = play(&place, &["--out", "blocked", "--baseline", "base"]);
    assert_eq!(blocked.code, 1, "{}{}", blocked.stdout, blocked.stderr);

    place.write("gabfest.yaml", &format!("{}{objectives}", entry("refund", "2999-12-31")));
    let ended = play(&place, &["--out", "out", "--baseline", "base"]);
    // 20 trials of one case cannot show a fall of less than 3 points, so nothing is worse and nothing is shown.
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    let gates = place.json("out/report.json")["gates"].as_array().unwrap().clone();
    let open: Vec<_> = gates.iter().filter(|gate| gate["verdict"] != "PASS").collect();
    assert!(open.len() == 1 && open[0]["name"] == "regression" && open[0]["verdict"] == "INCONCLUSIVE", "{gates:?}");
    let of_refund = gates.iter().find(|gate| gate["name"].as_str().unwrap().contains("refund")).unwrap();
    assert!(of_refund["reason"].as_str().unwrap().contains("in quarantine"), "{of_refund}");
    let whole = gates.iter().find(|gate| gate["name"] == "pass_rate >= 90%").unwrap();
    assert!(whole["reason"].as_str().unwrap().contains("of 20"), "only the other case: {whole}");

    let found = place.json("out/compare.json");
    assert_eq!((&found["worse_cases"], &found["rate"]["quarantined"]), (&0.into(), &1.into()), "{found}");
    let refund = found["cases"].as_array().unwrap().iter().find(|case| case["title"] == "refund").unwrap();
    assert_eq!((&refund["quarantined"], &refund["outcome"]), (&true.into(), &"worse".into()), "it is not hidden");
    let page = std::fs::read_to_string(place.path().join("out/compare.md")).unwrap();
    assert!(page.contains("In quarantine") && page.contains("refund: 20/20 → 0/20, worse"), "{page}");
}
