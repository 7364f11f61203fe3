//! `gabfest plan`: repeats, time and money of a comparison, from the history or from what is assumed.

use serde_json::Value;

use crate::process::Place;

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
  weak:
    kind: mock
    mock: { pass: [{ probability: 0.9 }] }
    price: { input_per_million: 1000, output_per_million: 1000 }
agents:
  weak: { endpoint: weak }
roles: { agent: weak }
gates: { pass_rate: 0.3, case_pass_rate: 0 }
";

fn place() -> Place {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    for at in 0..8 {
        place.write(&format!("scenarios/s{at}.scenario.yaml"), &SCENARIO.replace("NAME", &format!("s{at}")));
    }
    place
}

fn plan(place: &Place, more: &[&str]) -> Value {
    let ended = place.run(&[&["plan", "scenarios", "--json"], more].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn without_a_history_it_says_what_it_assumes() {
    let place = place();
    let found = plan(&place, &["--detect", "5pp", "--assume-rate", "80%"]);
    assert_eq!((&found["cases"], &found["scenarios"], &found["clustered"]), (&8.into(), &8.into(), &true.into()));
    assert_eq!(found["basis"]["known_cases"], 0);
    assert!((found["success_rate"].as_f64().unwrap() - 0.8).abs() < 1e-9, "{found}");
    let repeats = found["repeats"].as_u64().unwrap();
    // 8 scenarios of 0.8 and 0.75: Student's t of 7 degrees asks for about (1.89 + 1.42)² (0.16 + 0.1875) / 0.05² / 8 repeats.
    assert!((160..=240).contains(&repeats), "{repeats}");
    let chosen = &found["chosen"];
    assert_eq!((&chosen["repeats"], &chosen["conversations"]), (&repeats.into(), &(repeats * 8).into()));
    assert!(chosen["power"].as_f64().unwrap() >= 0.9 && chosen["smallest"].as_f64().unwrap() <= 0.05 + 1e-4);
    assert_eq!(chosen["cost"]["source"], "estimate");
    let text = place.run(&["plan", "scenarios", "--detect", "5pp", "--assume-rate", "80%"]).stdout;
    assert!(text.contains("no history of these cases: assumed are a success rate of 80%"), "{text}");
    assert!(text.contains(&format!("needs {repeats} repeats of each of 8 cases in both runs")), "{text}");
    // More repeats find smaller falls; the flag fixes them.
    let fixed = plan(&place, &["--detect", "5pp", "--repeats", "50"]);
    assert_eq!(fixed["chosen"]["repeats"], 50);
    assert!(fixed["chosen"]["smallest"].as_f64().unwrap() > 0.05);
}

#[test]
fn the_history_gives_rates_costs_and_times_and_a_budget_bounds_the_repeats() {
    let place = place();
    for seed in ["1", "2", "3", "4"] {
        let ended = place.run(&["run", "scenarios", "--repeats", "10", "--quiet", "--seed", seed]);
        assert!(ended.code < 2, "{}", ended.stderr);
    }
    let found = plan(&place, &["--detect", "15pp"]);
    assert_eq!((&found["basis"]["nights"], &found["basis"]["known_cases"]), (&4.into(), &8.into()));
    let rate = found["success_rate"].as_f64().unwrap();
    assert!((0.82..0.97).contains(&rate), "{rate}");
    let cost = &found["chosen"]["cost"];
    assert_eq!(cost["source"], "history");
    let usd = |name: &str| cost[name].as_f64().unwrap();
    assert!(usd("low") <= usd("usd") && usd("usd") <= usd("high") && usd("usd") > 0.0, "{cost}");
    assert_eq!(found["chosen"]["wall"]["history"]["nights"], 4);

    let needed = found["repeats"].as_u64().unwrap();
    let budget = usd("high") / 3.0;
    let tight = plan(&place, &["--detect", "15pp", "--budget", &format!("{budget:.6}")]);
    assert_eq!((&tight["repeats"], &tight["budget"]["is_enough"]), (&needed.into(), &false.into()));
    let (paid, chosen) = (tight["budget"]["repeats"].as_u64().unwrap(), &tight["chosen"]);
    assert!(paid >= needed / 4 && paid <= needed / 3 + 1, "{paid} of {needed}");
    assert_eq!(chosen["repeats"], paid);
    assert!(chosen["cost"]["high"].as_f64().unwrap() <= budget * 1.000_001);
    assert!(chosen["smallest"].as_f64().unwrap() > 0.15 && chosen["power"].as_f64().unwrap() < 0.9, "{chosen}");
    let text = place.run(&["plan", "scenarios", "--detect", "15pp", "--budget", &format!("{budget:.6}")]).stdout;
    assert!(text.contains(" pays ") && text.contains("which find a fall of "), "{text}");
    // Another history, and none.
    assert_eq!(plan(&place, &["--history", "none"])["basis"]["nights"], 0);
    let missing = place.run(&["plan", "scenarios", "--history", "nothing.db"]);
    assert!(missing.code == 2 && missing.stderr.contains("there is no history in nothing.db"), "{}", missing.stderr);
}

#[test]
fn what_cannot_be_planned_is_refused_with_a_hint() {
    let place = place();
    for (more, words) in [
        (&["--detect", "2pp"][..], "a fall of 2pp is within the margin of 3pp"),
        (&["--detect", "95pp"], "so it cannot fall by 95%"),
        (&["--detect", "3"], "a fall is in percentage points from 0pp to 100pp, such as 3pp"),
        (&["--power", "1.2"], "expected a chance from 0.5 to 0.999"),
        (&["--budget", "no"], "expected US dollars"),
        (&["--decide"], "--decide ends a run early"),
        (&["--iterations", "20"], "a load plays cases as often as its rate allows"),
    ] {
        let ended = place.run(&[&["plan", "scenarios"], more].concat());
        assert!(ended.code == 2 && ended.stderr.contains(words), "{more:?}: {}", ended.stderr);
    }
    let narrow = plan(&place, &["--detect", "2pp", "--margin", "1pp", "--power", "0.5"]);
    assert!(narrow["repeats"].as_u64().is_some(), "{narrow}");
    let hopeless = plan(&place, &["--detect", "3pp", "--power", "0.99"]);
    assert_eq!((&hopeless["repeats"], &hopeless["chosen"]), (&Value::Null, &Value::Null));
    let text = place.run(&["plan", "scenarios", "--detect", "3pp", "--power", "0.99"]).stdout;
    assert!(text.contains("no number of repeats of 8 cases finds a fall of 3 points"), "{text}");
}

#[test]
fn the_schema_holds_for_what_is_printed() {
    let place = place();
    let printed = place.run(&["schema", "plan"]);
    let schema: Value = serde_json::from_str(&printed.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for more in [&["--detect", "5pp"][..], &["--power", "0.99"], &["--budget", "0.001"]] {
        let found = plan(&place, more);
        assert!(validator.is_valid(&found), "{found}");
        let known = schema["properties"].as_object().unwrap();
        assert!(found.as_object().unwrap().keys().all(|key| known.contains_key(key)), "the schema describes every key");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "schema_version": 1 })));
}
