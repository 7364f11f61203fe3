//! Scenarios of all formats, written as `*.scenario.yaml` and read again.

use std::path::{Path, PathBuf};

use formats::{eliza, read};
use scenario::{Action, Diagnostic, format::Script};
use serde_json::Value;

/// What the two may differ in: the place and the format.
fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !matches!(key.as_str(), "line" | "source" | "format"));
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

fn told(script: &Script) -> Value {
    let mut value = serde_json::to_value((&script.scenario, &script.personas, script.repeats)).unwrap();
    strip(&mut value);
    value
}

fn survives(script: &Script, path: &str) {
    let text = eliza::write(script).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (documents, findings) = formats::eliza::FORMAT.open(&text, "converted.scenario.yaml");
    assert_eq!(findings, [], "{path}\n{text}");
    let (again, findings) = formats::eliza::FORMAT.read(&documents[0]);
    let errors: Vec<&Diagnostic> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert!(errors.is_empty(), "{path}: {errors:?}\n{text}");
    assert_eq!(told(&again.unwrap()), told(script), "{path}\n{text}");
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// How many scenarios of each format are below a folder, after each was converted.
fn convert_all(folder: &Path) -> std::collections::BTreeMap<&'static str, usize> {
    let mut paths = Vec::new();
    files(folder, &mut paths);
    let mut counts = std::collections::BTreeMap::new();
    for file in read::read(&paths).scenarios {
        let is_battery = file.script.scenario.steps.iter().any(|step| matches!(step.action, Action::Examine(_)));
        if is_battery {
            assert!(eliza::write(&file.script).is_err());
        } else {
            survives(&file.script, &file.document.path);
        }
        *counts.entry(file.format.name()).or_default() += 1;
    }
    counts
}

#[test]
fn shipped_scenarios_survive() {
    let counts = convert_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"));
    for format in ["eliza", "skunit", "line", "battery"] {
        assert!(counts.contains_key(format), "{counts:?}");
    }
}

#[test]
fn the_good_file_survives() {
    let (documents, _) = formats::eliza::FORMAT.open(super::GOOD, "good.scenario.yaml");
    survives(&formats::eliza::FORMAT.read(&documents[0]).0.unwrap(), "good.scenario.yaml");
}

#[test]
fn real_scenarios_survive() {
    let Some(cases) = cases::folder("", "the real scenarios of all formats") else { return };
    let counts = convert_all(&cases);
    println!("{counts:?}");
    assert!(counts.values().sum::<usize>() > 100, "{counts:?}");
}
