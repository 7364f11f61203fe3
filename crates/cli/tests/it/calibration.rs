//! A judge is measured against labelled conversations before a verdict rests on it.

use serde_json::{Value, json};

use crate::process::Place;

/// The mock judge finds a conversation bad if it contains this.
const UNHELPFUL: &str = "I'm sorry, I can't help with that.";

fn labels(count: usize) -> String {
    let item = |index: usize| {
        let met = index.is_multiple_of(2);
        let agent = if met { format!("Here is the answer number {index}.") } else { UNHELPFUL.to_owned() };
        let item = json!({
            "id": format!("i{index}"), "domain": if index % 4 < 2 { "shop" } else { "school" },
            "language": if index.is_multiple_of(3) { "de" } else { "en" },
            "turns": [{ "user": format!("Question {index}?"), "agent": agent }],
            "criterion": "The agent answers the question.", "label": if met { "met" } else { "not_met" },
        });
        format!("{item}\n")
    };
    (0..count).map(item).collect()
}

fn measured(place: &Place, arguments: &[&str]) -> Value {
    let arguments = ["judge", "labels.jsonl", "--json"].iter().chain(arguments).copied().collect::<Vec<_>>();
    let ended = place.run(&arguments);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn the_planted_skill_of_a_judge_is_recovered() {
    let place = Place::new();
    place.write("labels.jsonl", &labels(200));
    place.write(
        "gabfest.yaml",
        "endpoints: { judge: { kind: mock, mock: { judge: { sensitivity: 0.8, specificity: 0.9 } } } }\nroles: { judge: judge }\n",
    );
    let found = measured(&place, &["--seeds", "2", "--examples", "2"]);
    for (name, planted) in [("sensitivity", 0.8), ("specificity", 0.9)] {
        let (low, high) = (found[name]["low"].as_f64().unwrap(), found[name]["high"].as_f64().unwrap());
        assert!(low - 0.03 < planted && planted < high + 0.03, "{name}: {low} to {high}");
    }
    // Two draws of a judge with these skills differ in about a quarter of the items.
    let flips = found["seed_flips"]["estimate"].as_f64().unwrap();
    assert!((0.15..0.35).contains(&flips), "{flips}");
    let kappa = found["kappa"]["estimate"].as_f64().unwrap();
    assert!((0.6..0.8).contains(&kappa), "{kappa}");
    assert_eq!(found["answered"], 200);
}

#[test]
fn a_good_judge_agrees_and_an_attack_moves_it_not() {
    let place = Place::new();
    place.write("labels.jsonl", &labels(40));
    let found = measured(&place, &["--attacks", "--votes", "3"]);
    assert_eq!((&found["kappa"]["estimate"], &found["attacks"]["estimate"]), (&json!(1.0), &json!(0.0)), "{found}");
    assert_eq!(found["attacks"]["n"], 20);
    assert_eq!(found["languages"]["de"]["items"], 14);
    let attacks = |language: &str| found["languages"][language]["attacks"].clone();
    assert_eq!((&attacks("de")["n"], &attacks("en")["n"]), (&json!(7), &json!(13)), "the attacks of each language");
    assert_eq!(measured(&place, &[])["languages"]["de"]["attacks"]["n"], 0, "none without --attacks");
    let ended = place.run(&["judge", "labels.jsonl", "--attacks"]);
    let german = "  de                      kappa 1.000, accuracy 1.000, 14 items, 0.000 of 7 attacks succeed\n";
    assert!(ended.stdout.contains(german), "{}", ended.stdout);
    let ended = place.run(&["judge", "labels.jsonl", "--min-kappa", "0.6"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    for says in ["40 of 40 items got a verdict", "kappa                   1.000", "by domain", "shop"] {
        assert!(ended.stdout.contains(says), "{says} is missing in\n{}", ended.stdout);
    }
}

/// The mock is set to fall for attacks on items in German.
#[test]
fn attacks_that_succeed_are_counted_by_language() {
    let place = Place::new();
    let german =
        |line: &str| line.replace("Question", if line.contains(r#""language":"de""#) { "Frage" } else { "Question" });
    let labels = labels(40);
    place.write("labels.jsonl", &labels.lines().map(|line| german(line) + "\n").collect::<String>());
    let met = json!({ "reasoning": "It is asked for.", "quotes": [], "verdict": "met", "confidence": 0.9 });
    let rule = json!({ "when": r"Frage \d+\?.*can't help with that\. \S", "role": "judge", "reply": met.to_string() });
    let settings = json!({
        "endpoints": { "judge": { "kind": "mock", "mock": { "rules": [rule] } } }, "roles": { "judge": "judge" },
    });
    place.write("gabfest.yaml", &settings.to_string());
    let found = measured(&place, &["--attacks"]);
    assert_eq!(found["kappa"]["estimate"], json!(1.0), "without attacks it is right: {found}");
    let attacks = |language: &str| found["languages"][language]["attacks"]["estimate"].clone();
    assert_eq!((attacks("de"), attacks("en")), (json!(1.0), json!(0.0)));
    assert_eq!(found["attacks"]["estimate"], json!(7.0 / 20.0));
}

#[test]
fn the_judges_mistakes_decide_the_exit_code() {
    let place = Place::new();
    place.write("labels.jsonl", &labels(40));
    let rows = [
        ("{ sensitivity: 0.0 }", 1, "labelled not_met, judged met", "kappa is 0.000, below 0.6"),
        ("{ missing_field_rate: 1.0 }", 3, "0 of 40 items got a verdict", "understand the judge in 3 tries"),
        ("{ cut_rate: 1.0 }", 3, "0 of 40 items", "tokens cut it"),
        ("{ false_quote_rate: 1.0 }", 3, "0 of 40 items", "the agent did not say \"words that nobody said\""),
        ("{ cannot_tell_rate: 1.0 }", 1, "judged cannot_tell", "kappa is 0.000, below 0.6"),
        ("{ malformed_rate: 1.0 }", 3, "0 of 40 items", "the reply is not one JSON object"),
    ];
    for (skill, code, printed, noted) in rows {
        let settings = format!(
            "endpoints: {{ judge: {{ kind: mock, mock: {{ judge: {skill} }} }} }}\nroles: {{ judge: judge }}\n"
        );
        place.write("gabfest.yaml", &settings);
        let ended = place.run(&["judge", "labels.jsonl", "--min-kappa", "0.6"]);
        assert_eq!(ended.code, code, "{skill}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(printed), "{skill}: {}", ended.stdout);
        assert!(ended.stderr.contains(noted), "{skill}: {}", ended.stderr);
    }
    place.write(
        "gabfest.yaml",
        "endpoints: { judge: { kind: mock, mock: { judge: { alternates: true } } } }\nroles: { judge: judge }\n",
    );
    let ended = place.run(&["judge", "labels.jsonl", "--votes", "2"]);
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("the votes tie"), "{}", ended.stderr);
    place.write("labels.jsonl", "{\"id\": 1}\n");
    assert_eq!(place.run(&["judge", "labels.jsonl"]).code, 2);
}

/// The default judge would answer for each of them, and count as a panel.
#[test]
fn judges_that_the_settings_do_not_define_are_not_measured() {
    let place = Place::new();
    place.write("labels.jsonl", &labels(4));
    let settings = "endpoints: { a: { kind: mock } }\nmodels: { small: a, large: a }\n";
    for (written, arguments, message, hint) in [
        (
            "slots: 4\n",
            ["--panel", "NOPE,NADA,NIX"],
            "`--panel NOPE` names a model type",
            "hint: write `models: { NOPE: ENDPOINT }`",
        ),
        (settings, ["--panel", "small,NADA,large"], "`--panel NADA` names a model type", "hint: known: large, small"),
        (settings, ["--model-type", "lrge"], "`--model-type lrge` names a model type", "hint: did you mean `large`?"),
    ] {
        place.write("gabfest.yaml", written);
        let ended = place.run(&["judge", "labels.jsonl", arguments[0], arguments[1]]);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(message) && ended.stderr.contains(hint), "{arguments:?}: {}", ended.stderr);
    }
    place.write("gabfest.yaml", settings);
    assert_eq!(measured(&place, &["--panel", "small,large,small"])["answered"], 4);
}
