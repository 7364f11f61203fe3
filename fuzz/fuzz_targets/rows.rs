//! Reads arbitrary bytes as the data set of a scenario. The first line is the kind of the file.

#![no_main]

use std::{fs, path::PathBuf, process, sync::LazyLock};

use scenario::{
    Diagnostic,
    plan::{Choices, build},
};

const SCENARIO: &str = "name: Refund
description: d
judgment: {strategy: all_pass}
gabfest:
  data: {file: rows.KIND, id: case, types: {amount: number}, sample: 3}
run:
  - conversation:
      max_turns: 2
      user_simulator: {persona: p, objective: 'get ${row.amount} EUR back for ${row.order}'}
";

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("gabfest-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let kind = match &bytes[..end] {
        b"jsonl" => "jsonl",
        b"tsv" => "tsv",
        _ => "csv",
    };
    fs::write(FOLDER.join(format!("rows.{kind}")), bytes.get(end + 1..).unwrap_or_default()).expect("a file");
    fs::write(FOLDER.join("x.scenario.yaml"), SCENARIO.replace("KIND", kind)).expect("a file");
    let reading = formats::read(&[FOLDER.join("x.scenario.yaml")]);
    if !reading.diagnostics.iter().any(Diagnostic::is_error) {
        let _ = build(&reading, &Choices::default());
    }
});
