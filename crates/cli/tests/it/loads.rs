//! Loads from the command line: as many conversations as the pace says, of the cases that it chooses.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::process::Place;

fn scenario(name: &str, ours: &str) -> String {
    format!(
        "name: {name}\ndescription: d\ngabfest: {ours}\nrun:\n  - input: hello\n    evaluations: [{{type: string_contains, value: hello}}]\njudgment: {{strategy: all_pass}}\n"
    )
}

/// The trials of a run by scenario.
fn played(place: &Place, args: &[&str]) -> BTreeMap<String, u64> {
    let all: Vec<&str> = ["run", "."].iter().chain(args).chain(&["--out", "out"]).copied().collect();
    let ended = place.run(&all);
    assert_eq!(ended.code, 0, "{args:?}: {}{}", ended.stdout, ended.stderr);
    let text = std::fs::read_to_string(place.path().join("out/report.json")).unwrap();
    std::fs::remove_dir_all(place.path().join("out")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let cases = report["cases"].as_array().unwrap().iter();
    cases.map(|case| (case["scenario"].as_str().unwrap().to_owned(), case["pass"].as_u64().unwrap())).collect()
}

#[test]
fn a_load_plays_as_many_conversations_as_its_pace_says() {
    let place = Place::new();
    place.write("a.scenario.yaml", &scenario("a", "{tags: [often], weight: 3}"));
    place.write("b.scenario.yaml", &scenario("b", "{tags: [seldom]}"));
    place.write(
        "gabfest.yaml",
        "load:\n  both:\n    groups:\n      one: {rate: 20/s, duration: 500ms, tags: [often]}\n      two: {slots: 2, iterations: 7, tags: [seldom]}\n  alone: {slots: 3, iterations_per_slot: 4, tags: [seldom]}\n",
    );
    let of = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
        pairs.iter().map(|(name, many)| ((*name).to_owned(), *many)).collect()
    };
    assert_eq!(played(&place, &["--rate", "40/s", "--duration", "500ms"]), of(&[("a", 15), ("b", 5)]));
    assert_eq!(played(&place, &["--iterations", "8", "--slots", "2"]), of(&[("a", 6), ("b", 2)]));
    assert_eq!(played(&place, &["--pace", "both"]), of(&[("a", 10), ("b", 7)]));
    assert_eq!(played(&place, &["--pace", "alone"]), of(&[("b", 12)]), "what no group plays is not in the report");
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    let place = Place::new();
    place.write("a.scenario.yaml", &scenario("a", "{tags: [often]}"));
    place.write(
        "gabfest.yaml",
        "load:\n  night: {rate: 5/s, duration: 1m, tags: [oftn]}\n  search: {rate: 5/s, search: {to: 9/s}}\n  crowd: {slots: 40, duration: 1s}\n",
    );
    for (args, expected) in [
        (&["--pace", "nigt"][..], "the settings define crowd, night"),
        (&["--pace", "night"], "did you mean `often`?"),
        (&["--pace", "search"], "a search needs an objective without a filter"),
        (&["--pace", "search", "--objective", "pass_rate >= 100%"], "no number of conversations proves 100 %"),
        (&["--pace", "search", "--objective", "error_rate < 1%"], "fewer than 381 cannot show that"),
        (&["--rate", "5/s"], "--duration"),
        (&["--rate", "fast", "--duration", "1m"], "expected a rate such as 5/s"),
        (&["--rate", "5/s", "--duration", "5"], "expected a time such as 500ms"),
        (&["--rate", "5/s", "--duration", "1m", "-n", "3"], "cannot be used with"),
        (&["--rate", "5/s", "--duration", "1m", "--warm-up", "1m"], "--warm-up is 1m, and starts end after 1m"),
        (&["--pace", "crowd", "--slots", "39"], "plays up to 40 conversations at once, and --slots allows 39"),
        (&["--pace", "crowd", "--slots", "39"], "hint: allow 40"),
        (&["--warm-up", "1m"], "--warm-up is a part of a load"),
        (&["--rate", "5/s", "--duration", "31d"], "at most 10000000 are allowed"),
    ] {
        let all: Vec<&str> = ["run", ".", "--dry-run"].iter().chain(args).copied().collect();
        let ended = place.run(&all);
        assert_eq!(ended.code, 2, "{args:?}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(expected), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn a_pace_that_names_what_no_scenario_has_is_found_at_its_place() {
    let place = Place::new();
    place.write("a.scenario.yaml", &scenario("refund", "{tags: [often]}"));
    place.write(
        "gabfest.yaml",
        "load:
  fits: {rate: 5/s, duration: 1m, tags: [often], weights: {refund: 2}}
  night:
    rate: 5/s
    duration: 1m
    weights:
      refnd: 2
  hurry: {rate: 5/s, duration: 1m, where: {persona: [hurried]}}
  highest: {rate: 5/s, search: {to: 50/s}}
  both:
    duration: 1m
    exclude_tags: [oftn]
    groups:
      one:
        rate: 1/s
        where: {locale: [de]}
      two: {rate: 1/s, filter: nothing}
",
    );
    let found = [
        ("load group `night`: `weights` names `refnd`, and no scenario has this name or tag", "7:7"),
        ("load group `one`: no case has a `locale`", "16:17"),
        // Keys beside `groups` hold for each of them.
        ("load group `one`: no scenario has the tag `oftn`", "12:5"),
        ("load group `two`: no scenario has the tag `oftn`", "12:5"),
    ];
    let checked = place.run(&["check", "."]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    for (message, place) in found {
        let shown = format!("warning: {message}\n --> gabfest.yaml:{place}\n");
        assert!(checked.stderr.replace("  -->", " -->").contains(&shown), "{shown}: {}", checked.stderr);
    }
    assert!(checked.stderr.contains("did you mean `refund`?"), "{}", checked.stderr);
    assert_eq!(checked.stderr.matches("warning: load group").count(), 4, "{}", checked.stderr);
    assert_eq!(place.run(&["check", ".", "--strict"]).code, 2);

    let played = place.run(&["run", ".", "--pace", "both", "--dry-run"]);
    assert_eq!(played.code, 2, "{}", played.stderr);
    assert!(played.stderr.contains("error: load group `two`: no scenario has the tag `oftn`"), "{}", played.stderr);
    assert!(played.stderr.contains("--> gabfest.yaml:12:5"), "{}", played.stderr);
    assert!(!played.stderr.contains("refnd"), "only of the chosen pace: {}", played.stderr);
    // What only a run decides: its personas and its objectives.
    for (pace, message, at) in [
        ("hurry", "error: load group `hurry`: no case has the persona `hurried`", "8:44"),
        ("highest", "error: a search needs an objective", "9:24"),
    ] {
        let played = place.run(&["run", ".", "--pace", pace, "--dry-run"]);
        assert_eq!(played.code, 2, "{}", played.stderr);
        assert!(played.stderr.contains(message), "{}", played.stderr);
        assert!(played.stderr.contains(&format!("--> gabfest.yaml:{at}\n")), "{}", played.stderr);
    }
}
