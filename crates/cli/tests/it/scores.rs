//! The operator chooses which model measures texts, its use is counted, and `gabfest models` manages the models.

use crate::process::Place;

const ALIKE: &str = "
name: alike
description: one question
run:
  - input: hello
    evaluations:
      - { type: similarity, expected: [Is there anything at all about trains?], threshold: 0.99 }
judgment: { strategy: all_pass }
";

#[test]
fn an_endpoint_that_measures_is_named_in_the_judgment_and_counted() {
    let place = Place::new();
    place.write("alike.scenario.yaml", ALIKE);
    place.write(
        "gabfest.yaml",
        "endpoints: { vectors: { kind: mock } }\nscores: { similarity: { endpoint: vectors }, answer: auto }\n",
    );
    let ended = place.run(&["run", "alike.scenario.yaml", "--out", "out"]);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    let report = place.json("out/report.json");
    let calls = &report["summary"]["llm_calls"];
    assert_eq!((&calls["scorer"], &calls["judge"]), (&1.into(), &0.into()), "{calls}");
    let lines = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
    assert!(lines.contains("by vectors, required 0.99"), "{lines}");
}

#[test]
fn scores_that_cannot_be_had_are_refused_before_anything_is_played() {
    let rows = [
        ("{ similarity: { endpoint: nowhere } }", "scores.similarity.endpoint names \"nowhere\""),
        ("{ answer: { endpoint: mock } }", "scores.answer names the endpoint \"mock\""),
        ("{ similarity: embeded }", "did you mean `embedded`"),
        ("{ hub: models.example.com }", "scores.hub"),
        ("{ answer: { model: no-such-model } }", "no-such-model"),
    ];
    for (scores, says) in rows {
        let place = Place::new();
        place.write("alike.scenario.yaml", ALIKE);
        place.write("gabfest.yaml", &format!("scores: {scores}\n"));
        let ended = place.run(&["run", "alike.scenario.yaml", "--out", "out"]);
        assert_eq!(ended.code, 2, "{scores}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(says), "{scores}: {}", ended.stderr);
    }
}

#[test]
fn models_are_kept_once_they_are_whole() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let mut command = place.gabfest(args);
        let output = command.env("GABFEST_MODELS", place.path().join("models")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, stdout, _) = run(&["models", "list"]);
    assert!(code == Some(0) && stdout.contains("all-MiniLM-L6-v2") && stdout.contains("not kept"), "{stdout}");
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        place.write(&format!("mine/{name}"), "{}");
    }
    let (code, stdout, stderr) = run(&["models", "fetch", "toxicity", "--from", "mine"]);
    assert!(code == Some(0) && stdout.lines().count() == 3, "{stdout}{stderr}");
    let (_, stdout, _) = run(&["models", "list"]);
    assert!(stdout.contains("toxicity"), "{stdout}");
    let (code, _, stderr) = run(&["models", "fetch", "--from", "mine"]);
    assert!(code == Some(3) && stderr.contains("config.json has the wrong content"), "{code:?} {stderr}");
    for args in [&["models", "fetch", "toxicity"][..], &["models", "fetch", "toxicity", "--from", "elsewhere"]] {
        let (code, _, stderr) = run(args);
        assert!(code == Some(2) && stderr.contains("hint: name its source with --from"), "{code:?} {stderr}");
    }
}
