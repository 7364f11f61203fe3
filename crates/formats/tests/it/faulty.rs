//! One file of each format with as many faults as possible: every finding with its line, message and hint.

use std::path::Path;

use formats::read;
use scenario::Diagnostic;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/faulty")
}

#[test]
fn all_faults_of_a_file_are_reported() {
    let names: Vec<String> =
        read_dir().into_iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    for (format, ending) in [
        (formats::eliza::FORMAT, ".scenario.yaml"),
        (formats::skunit::FORMAT, ".skunit.md"),
        (formats::qna::FORMAT, ".qna"),
        (formats::qna::FORMAT, ".qna.json"),
        (formats::qna::FORMAT, ".qna.tsv"),
        (formats::line::FORMAT, ".conversation.yaml"),
        (formats::battery::FORMAT, ".battery.yaml"),
    ] {
        let name = format!("full{ending}");
        assert!(
            names.contains(&name) && formats::of_file(&name).map(|found| found.name()) == Some(format.name()),
            "{name} is missing"
        );
    }
    for path in read_dir() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let reading = read::read(std::slice::from_ref(&path));
        assert!(reading.diagnostics.iter().any(Diagnostic::is_error), "{name}");
        assert!(reading.matrices.is_empty(), "{name}");
        let all: Vec<String> = reading.diagnostics.iter().map(told).collect();
        insta::assert_snapshot!(name, all.join("\n"));
    }
}

/// A user's folder: no fault of one file keeps another from being read, and a run with faults does not start.
#[test]
fn faults_of_one_file_hide_none_of_another() {
    let all = read::read(&[folder()]).diagnostics;
    for path in read_dir() {
        for found in read::read(std::slice::from_ref(&path)).diagnostics {
            assert!(all.iter().any(|other| told(other) == told(&found)), "{}", told(&found));
        }
    }
}

fn read_dir() -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// As `gabfest check` prints it, with the name of the file for its path.
fn told(found: &Diagnostic) -> String {
    let folder = format!("{}/", folder().display());
    let help = found.help.as_ref().map_or(String::new(), |help| format!("\n  hint: {help}"));
    format!("{found}{help}").replace(&folder, "")
}
