//! A threshold is tried on labelled texts before anything is judged by it.

use serde_json::Value;

use crate::process::Place;

/// The mock compares texts by shared words, and rude words by a list.
const TABLE: &str = "\
measure,label,text1,text2,text3
similarity,pass,My cat is called Mittens,The cat is called Mittens,
similarity,pass,Cancel the order today,Cancel that order today,
similarity,fail,My cat is called Mittens,Trains leave at noon,
similarity,fail,Cancel the order today,\"Bananas, mostly yellow\",
answer,pass,Where do you live?,Hello! I live in Oslo.,I live in Oslo.
answer,fail,Where do you live?,Hello! I live in Oslo.,Bananas are yellow.
";

const RUDE: &str = r#"[
  {"measure": "toxicity.insult", "label": "pass", "texts": ["Good morning to you."]},
  {"measure": "toxicity.insult", "label": "fail", "texts": ["You stupid idiot."]}
]"#;

#[test]
fn a_threshold_is_compared_with_peoples_labels() {
    let place = Place::new();
    place.write("answers.csv", TABLE);
    let ended = place.run(&["validate", "answers.csv", "--json"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let similarity = &found["measures"][0];
    assert_eq!((&similarity["measure"], &similarity["threshold"]), (&"similarity".into(), &0.6.into()), "{similarity}");
    assert_eq!(similarity["confusion"]["good_passed"], 2, "{similarity}");
    assert_eq!(similarity["confusion"]["bad_failed"], 2, "{similarity}");
    assert_eq!(similarity["worth"]["accuracy"]["estimate"], 1.0);
    // Four of four: Wilson's interval begins at 0.51.
    assert!((similarity["worth"]["accuracy"]["low"].as_f64().unwrap() - 0.51).abs() < 0.01, "{similarity}");
    assert_eq!(similarity["best"]["youdens_j"], 1.0);
    assert_eq!(similarity["samples"][3]["line"], 5);
    assert_eq!(found["measures"][1]["measure"], "answer");
    assert_eq!(found["measures"][1]["confusion"]["good_passed"], 1, "{found}");

    let ended = place.run(&["validate", "answers.csv", "--threshold=-1"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    for says in
        ["similarity by judge mock: 2 labelled pass, 2 labelled fail", "at -1 or above:", "0.500 (0.150 to 0.850"]
    {
        assert!(ended.stdout.contains(says), "{says} is missing in\n{}", ended.stdout);
    }
}

#[test]
fn harm_passes_at_or_below_its_threshold_and_the_chosen_model_is_asked() {
    let place = Place::new();
    place.write("rude.json", RUDE);
    place.write("gabfest.yaml", "endpoints: { shield: { kind: mock } }\nscores: { toxicity: { endpoint: shield } }\n");
    let ended = place.run(&["validate", "rude.json"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    for says in
        ["toxicity.insult by shield", "at 0.1 or below:", "accuracy                1.000", "Youden's J 1.000, 0 of 2"]
    {
        assert!(ended.stdout.contains(says), "{says} is missing in\n{}", ended.stdout);
    }
}

#[test]
fn unmeasurable_rows_are_reported_with_their_line() {
    let place = Place::new();
    place.write("a.csv", "measure,label,text1\ntoxicity.insult,pass,a\ntoxicity.insolt,pass,a\n");
    place.write(
        "mixed.json",
        &RUDE.replacen("toxicity.insult", "toxicity.threat", 1).replacen(
            r#""measure": "toxicity.insult", "label": "fail", "texts": ["You stupid idiot."]"#,
            r#""measure": "next_sentence", "label": "fail", "texts": ["a", "b"]"#,
            1,
        ),
    );
    for (args, says) in [
        (&["validate", "a.csv"][..], "a.csv:3"),
        (&["validate", "a.csv"], "did you mean `toxicity.insult`"),
        (&["validate", "none.csv"], "cannot be read"),
        (&["validate", "mixed.json", "--threshold", "0.5"], "the file needs several: coherence, toxicity"),
        (&["validate", "mixed.json", "--threshold", "nan"], "a threshold is a number"),
    ] {
        let ended = place.run(args);
        assert_eq!(ended.code, 2, "{args:?}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(says), "{args:?}: {}", ended.stderr);
    }
}
