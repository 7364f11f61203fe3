//! The real ElizaOS files and facts of the cases folder, which `GABFEST_CASES` names.

use std::{collections::BTreeMap, path::PathBuf};

use formats::read;
use scenario::{Diagnostic, matrix};
use serde_json::Value;
use yaml::path;

fn folder(skipped: &str) -> Option<PathBuf> {
    cases::folder("eliza", skipped)
}

fn json(folder: &std::path::Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// Files in which gabfest finds less than upstream does, and why that is intended.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("enhanced-demo", "environment: Required", "`environment` defaults to local"),
    ("arrays-heavy", "environment: Required", "`environment` defaults to local"),
    ("invalid-missing-fields", "environment: Required", "`environment` defaults to local"),
];

/// The lines of the faults that upstream's schema finds, by file and upstream's message.
const LINES: &[(&str, &str, u32, &str)] = &[
    ("enhanced-demo", "judgment.strategy: None", 1, "missing key `judgment`"),
    (
        "arrays-heavy",
        "run[0].evaluations[0].type: invalid discriminator 'workflow_execution'",
        148,
        "unknown evaluation `workflow_execution`",
    ),
    (
        "arrays-heavy",
        "run[1].evaluations[0].type: invalid discriminator 'data_quality'",
        158,
        "unknown evaluation `data_quality`",
    ),
    ("arrays-heavy", "judgment.strategy: None", 1, "missing key `judgment`"),
    ("complex-nested", "environment.type: 'production' not 'local'", 33, "unknown word `production`"),
    (
        "complex-nested",
        "run[0].evaluations[0].type: invalid discriminator 'data_analysis'",
        137,
        "unknown evaluation `data_analysis`",
    ),
    (
        "complex-nested",
        "run[0].evaluations[1].type: invalid discriminator 'response_format'",
        143,
        "unknown evaluation `response_format`",
    ),
    (
        "complex-nested",
        "run[1].evaluations[0].type: invalid discriminator 'security_coverage'",
        163,
        "unknown evaluation `security_coverage`",
    ),
    ("complex-nested", "judgment.strategy: None", 1, "missing key `judgment`"),
    ("simple-test.scenario", "environment.type: 'test' not 'local'", 12, "unknown word `test`"),
    (
        "simple-test.scenario",
        "run[0].evaluations[1].type: invalid discriminator 'response_time'",
        39,
        "unknown evaluation `response_time`",
    ),
    ("simple-test.scenario", "judgment.strategy: None", 1, "missing key `judgment`"),
    ("invalid-missing-fields", "run: Required array", 1, "missing key `run`"),
    ("invalid-missing-fields", "judgment.strategy: None", 1, "missing key `judgment`"),
];

#[test]
fn real_files_are_accepted_and_refused_as_upstream_does() {
    let Some(folder) = folder("28 real ElizaOS files") else { return };
    let expected = json(&folder, "expected-schema-validity.json");
    let mut wrong = Vec::new();
    for (name, expected) in expected.as_object().unwrap() {
        let reading = read::read(&[folder.join(name)]);
        let errors: Vec<&Diagnostic> = reading.diagnostics.iter().filter(|found| found.is_error()).collect();
        let valid = expected["upstream_schema_valid"].as_bool().unwrap();
        if valid != errors.is_empty() {
            wrong.push(format!("{name}: upstream says {valid}, we say {errors:#?}"));
        }
        let known: Vec<_> = LINES.iter().filter(|(file, ..)| name.contains(file)).collect();
        for fault in expected["errors"].as_array().unwrap() {
            let fault = fault.as_str().unwrap();
            if DIFFERENCES.iter().any(|(file, text, _)| name.contains(file) && *text == fault) {
                continue;
            }
            let Some((_, _, line, message)) = known.iter().find(|(_, text, ..)| *text == fault) else {
                wrong.push(format!("{name}: `{fault}` is on no table"));
                continue;
            };
            if !errors.iter().any(|found| found.line == *line && found.message.contains(message)) {
                wrong.push(format!("{name}: expected line {line}: {message}, found {errors:#?}"));
            }
        }
        if errors.len() != known.len() {
            wrong.push(format!("{name}: expected {} errors, found {errors:#?}", known.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(DIFFERENCES.iter().all(|(.., reason)| !reason.is_empty()));
}

#[test]
fn combinations_have_the_ids_and_order_of_the_facts() {
    let Some(folder) = folder("21 combination ids") else { return };
    let facts = json(&folder, "facts/matrix-combinations.json");
    for (name, fact) in facts.as_object().unwrap() {
        let reading = read::read(&[folder.join(name)]);
        assert!(!reading.diagnostics.iter().any(Diagnostic::is_error), "{:#?}", reading.diagnostics);
        let plan = scenario::plan::build(&reading, &scenario::plan::Choices::default()).unwrap();
        assert_eq!(plan.case_count(), fact["total_combinations"].as_u64().unwrap(), "{name}");
        assert_eq!(plan.planned(), fact["total_runs"].as_u64(), "{name}");
        for combination in fact["combinations"].as_array().unwrap() {
            let case = plan.case(combination["index"].as_u64().unwrap()).unwrap();
            assert_eq!(case.combination.as_deref(), combination["id"].as_str());
            let parameters: BTreeMap<String, Value> = case.parameters.iter().cloned().collect();
            let expected: BTreeMap<String, Value> =
                combination["parameters"].as_object().unwrap().clone().into_iter().collect();
            assert_eq!(parameters, expected);
            assert_eq!(matrix::combination::id(case.number, &case.parameters), case.combination.clone().unwrap());
            plan.scenario(&case, formats::ALL).unwrap();
        }
    }
}

#[test]
fn paths_are_read_as_the_facts_say() {
    let Some(folder) = folder("the facts of parameter paths") else { return };
    let facts = json(&folder, "facts/path-parser.json");
    let pairs = |name: &str| -> Vec<(String, Value)> {
        let list = facts[name].as_array().unwrap().iter();
        list.map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].clone())).collect()
    };
    for (text, segments) in pairs("parse") {
        let path = path::Path::parse(&text).unwrap();
        let found: Vec<Value> = path
            .0
            .iter()
            .map(|segment| match segment {
                path::Segment::Key(key) => key.as_str().into(),
                path::Segment::Index(index) => (*index).into(),
            })
            .collect();
        assert_eq!(Value::from(found), segments, "{text}");
        assert_eq!(path.to_string(), text);
    }
    for (text, message) in pairs("errors") {
        assert_eq!(path::Path::parse(&text).unwrap_err().to_string(), message.as_str().unwrap(), "{text}");
    }
    for (text, message) in pairs("derived_from_code_not_tested_upstream") {
        let found = format!("error: {}", path::Path::parse(&text).unwrap_err());
        assert_eq!(found, message.as_str().unwrap(), "{text}");
    }
    for (text, expected) in pairs("normalize") {
        assert_eq!(path::normalize(&text), expected.as_str().unwrap(), "{text}");
    }
}

#[test]
fn limits_and_defaults_are_those_of_the_facts() {
    let Some(folder) = folder("the facts of schema limits and defaults") else { return };
    let facts = json(&folder, "facts/evaluators.json");
    let broken = |old: &str, new: &str| {
        let document = yaml::open(&super::GOOD.replacen(old, new, 1), "x").unwrap();
        formats::eliza::FORMAT.read(&document).0.is_none()
    };
    for fact in facts["schema_rejects"].as_array().unwrap() {
        let refused = match fact.as_str().unwrap() {
            "max_turns 1" => broken("max_turns: 6\n      timeout", "max_turns: 1\n      timeout"),
            "max_turns 25" => broken("max_turns: 6\n      timeout", "max_turns: 25\n      timeout"),
            "user_simulator without persona" => broken("        persona: polite customer\n", ""),
            "conversation_length.target_range [5]" => broken("target_range: [2, 5]", "target_range: [5]"),
            "user_satisfaction.satisfaction_threshold 1.5" => {
                broken("satisfaction_threshold: 0.7", "satisfaction_threshold: 1.5")
            }
            "context_retention.retention_turns 0" => broken("retention_turns: 3", "retention_turns: 0"),
            other => panic!("no test for `{other}`"),
        };
        assert!(refused, "{fact}");
    }
    let defaults = &facts["schema_defaults"];
    let conversation = super::accepted::smallest_conversation();
    assert_eq!(conversation.turn_timeout_ms, defaults["timeout_per_turn_ms"].as_u64().unwrap());
    assert_eq!(conversation.total_timeout_ms, defaults["total_timeout_ms"].as_u64().unwrap());
    assert_eq!(conversation.simulator.temperature, defaults["temperature"].as_f64().unwrap());
    assert_eq!(u64::from(conversation.simulator.max_tokens), defaults["max_tokens"].as_u64().unwrap());
    assert_eq!(conversation.simulator.knowledge_level.name(), defaults["knowledge_level"].as_str().unwrap());
    assert_eq!(conversation.stops[0].judge.as_ref().unwrap().threshold, defaults["threshold"].as_f64().unwrap());
}
