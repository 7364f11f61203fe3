//! The fuzzer's corpus: every input is read by its reader, as in the fuzz target.

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
};

use formats::{
    encoding, matrix,
    qna::{knowledge_base, write},
};
use scenario::{Diagnostic, format::NoFiles, persona::Library};

/// The texts of a target's inputs, by name; bytes that are no text are refused before any reader sees them.
fn texts(target: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fuzz/corpus/{target}.zip"));
    let mut archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    let inputs = archive.len();
    assert!(inputs >= 50, "{target} has {inputs} inputs");
    let text = |place: usize| {
        let mut input = archive.by_index(place).unwrap();
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).unwrap();
        let (text, _) = encoding::decode(bytes, "x").ok()?;
        Some((input.name().unwrap().into_owned(), text))
    };
    (0..inputs).filter_map(text).collect()
}

#[test]
fn scenarios_are_read_or_explained() {
    for (target, format, names) in [
        ("eliza", formats::eliza::FORMAT, &["x.scenario.yaml"][..]),
        ("skunit", formats::skunit::FORMAT, &["x.skunit.md"]),
        ("qna", formats::qna::FORMAT, &["x.qna", "x.qna.tsv"]),
        ("line", formats::line::FORMAT, &["x.conversation.yaml"]),
        ("battery", formats::battery::FORMAT, &["x.battery.yaml"]),
    ] {
        let mut read = 0;
        for (path, text) in texts(target) {
            for name in names {
                for document in format.open(&text, name).0 {
                    let (script, findings) = format.read(&document);
                    assert!(script.is_some() || findings.iter().any(Diagnostic::is_error), "{}", path);
                    read += 1;
                }
            }
        }
        assert!(read > 0, "{target}: nothing was opened");
    }
}

#[test]
fn knowledge_bases_survive_being_written() {
    let mut written = 0;
    for (path, text) in texts("qna") {
        let read = knowledge_base(&text, "x.qna", &mut NoFiles);
        if !read.diagnostics.iter().any(Diagnostic::is_error) {
            let again = knowledge_base(&write::write(&read.base), "x.qna", &mut NoFiles);
            assert_eq!(again.base, read.base, "{}", path);
            written += 1;
        }
    }
    assert!(written > 0);
}

#[test]
fn matrices_and_personas_are_read_or_explained() {
    for (path, text) in texts("matrix") {
        let Ok(document) = yaml::open(&text, "x.matrix.yaml") else { continue };
        let (matrix, findings) = matrix::read(&document);
        assert!(matrix.is_some() || findings.iter().any(Diagnostic::is_error), "{}", path);
    }
    for (_, text) in texts("persona") {
        if let Ok(document) = yaml::open(&text, "x.persona.yaml") {
            let mut library = Library::default();
            let findings = formats::persona::read(&mut document.clone(), &mut scenario::format::NoFiles, &mut library);
            assert!(library.names().next().is_some() || !findings.is_empty() || document.value.is_array());
        }
    }
}

#[test]
fn data_sets_are_read() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/rows");
    for kind in ["csv", "tsv", "jsonl"] {
        let seed = fs::read_to_string(seeds.join(kind)).unwrap();
        let (first, rows) = seed.split_once('\n').unwrap();
        assert_eq!(first, kind);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("rows.{kind}")), rows).unwrap();
        let scenario = format!(
            "name: a\ndescription: d\njudgment: {{strategy: all_pass}}\ngabfest:\n  data: {{file: rows.{kind}, id: case}}\n\
             run:\n  - {{input: 'Where is ${{row.order}}?'}}\n"
        );
        fs::write(folder.path().join("a.scenario.yaml"), scenario).unwrap();
        let reading = formats::read(&[folder.path().to_path_buf()]);
        assert!(!reading.diagnostics.iter().any(Diagnostic::is_error), "{kind}: {:?}", reading.diagnostics);
    }
}
