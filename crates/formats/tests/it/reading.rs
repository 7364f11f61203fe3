//! Files and folders on the disk.

use std::{fs, path::Path};

use formats::read;
use scenario::{Diagnostic, Reading};

const ASK: &str = "name: Ask\ndescription: d\njudgment: {strategy: all_pass}\nrun: [{input: hi}]\n";

fn put(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Findings with the paths cut down to the names of the files.
fn findings(reading: &Reading) -> Vec<String> {
    let shorten = |found: &Diagnostic| {
        let path = found.path.rsplit('/').next().unwrap_or_default().to_owned();
        Diagnostic { path, ..found.clone() }.to_string()
    };
    reading.diagnostics.iter().map(shorten).collect()
}

#[test]
fn a_folder_is_read_with_all_that_is_in_it_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "b.scenario.yaml", ASK);
    put(folder.path(), "a/z.scenario.yml", ASK);
    put(folder.path(), "personas/p.yaml", "name: angry\npersona: an angry customer\n");
    put(folder.path(), "shy.persona.yaml", "name: shy\npersona: a shy customer\n");
    put(folder.path(), ".hidden/x.scenario.yaml", "broken: [");
    put(folder.path(), ".x.scenario.yaml", "broken: [");
    put(folder.path(), "gabfest.yaml", "broken: [");
    put(folder.path(), "README.md", "broken: [");
    put(folder.path(), "gabfest-runs/1/trials.jsonl", "");
    put(folder.path(), "gabfest-runs/1/report.qna.tsv", "Line\tKbId\tQuery\n");
    let reading = read::read(&[folder.path().to_path_buf(), folder.path().join("b.scenario.yaml")]);
    assert_eq!(findings(&reading), Vec::<String>::new());
    let paths: Vec<&str> =
        reading.scenarios.iter().map(|file| file.document.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(paths, ["z.scenario.yml", "b.scenario.yaml"], "sorted, and each file once");
    assert_eq!(reading.personas.names().collect::<Vec<_>>(), ["angry", "shy"]);
}

#[test]
fn a_knowledge_base_that_another_one_takes_in_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let pair = |question: &str| format!("# ? {question}\n```\nyes\n```\n");
    put(folder.path(), "1-base.qna", pair("one"));
    put(folder.path(), "2-shop.qna", format!("[base](1-base.qna)\n[more](sub/more.qna)\n{}", pair("two")));
    put(folder.path(), "3-alone.qna", format!("{}- [x](1-base.qna#?)\n```\nno\n```\n", "# ? three\n"));
    put(folder.path(), "4-ring.qna", format!("[all](ring/*)\n{}", pair("four")));
    put(folder.path(), "ring/5.qna", format!("[all](./*)\n{}", pair("five")));
    put(folder.path(), "ring/6.qna", format!("[all](./*)\n{}", pair("six")));
    put(folder.path(), "sub/more.qna", pair("seven"));
    let asked = |paths: &[std::path::PathBuf]| -> Vec<String> {
        let reading = read::read(paths);
        assert_eq!(findings(&reading), Vec::<String>::new());
        let plan = scenario::plan::build(&reading, &scenario::plan::Choices::default()).unwrap();
        let case = |number| plan.case(number).unwrap();
        let mut asked: Vec<String> =
            (0..plan.case_count()).map(|number| case(number).parameters[0].1.as_str().unwrap().to_owned()).collect();
        asked.sort();
        asked
    };
    let all = folder.path().to_path_buf();
    // A question that refers to another file's questions is a question itself.
    let once = ["five", "four", "one", "one", "seven", "six", "three", "two"];
    assert_eq!(asked(std::slice::from_ref(&all)), once);
    // A file that the user names is played in any case.
    let twice = ["five", "four", "one", "one", "one", "seven", "six", "three", "two"];
    assert_eq!(asked(&[all, folder.path().join("1-base.qna")]), twice);
}

#[test]
fn files_below_the_named_folder_may_be_imported() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("all");
    put(&all, "shop/faq.qna", "[base](../base/base.lu)\n# ? one\n```\nyes\n```\n");
    put(&all, "base/base.lu", "[more](../shop/more/more.qna)\n# ? two\n```\nyes\n```\n");
    put(&all, "shop/more/more.qna", "# ? three\n- [x](../../../secret.qna#?)\n```\nyes\n```\n");
    put(&all, "shop/talk.battery.yaml", "name: b\nconversation: ../base/talk.txt\nrequirements: {ML-A6: true}\n");
    put(&all, "base/talk.txt", "hello\n hi\n");
    put(folder.path(), "secret.qna", "# ? secret\n```\nyes\n```\n");
    let read_of = |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(|path| folder.path().join(path)).collect();
        let reading = read::read(&paths);
        let asked: Vec<String> = reading.scenarios.iter().map(|file| file.script.scenario.name.clone()).collect();
        (asked, findings(&reading))
    };
    let outside = |file: &str, root: &str| {
        let root = folder.path().join(root);
        format!("`{file}` is outside of the folder `{}`: name a folder that contains both files", root.display())
    };
    let (asked, found) = read_of(&["all"]);
    assert_eq!(asked, ["one", "two", "three", "three", "b"]);
    assert!(
        found.len() == 2 && found.iter().all(|found| found.contains(&outside("../../../secret.qna", "all"))),
        "{found:#?}"
    );
    // The outermost folder counts, whatever the order of names.
    assert_eq!(read_of(&["all/shop", "all"]).0, ["one", "two", "three", "three", "b"]);
    let (_, found) = read_of(&["all/shop"]);
    assert!(found[0].contains(&outside("../base/base.lu", "all/shop")), "{found:#?}");
    assert!(found.iter().any(|found| found.contains(&outside("../base/talk.txt", "all/shop"))), "{found:#?}");
    let (asked, found) = read_of(&["all/shop/talk.battery.yaml"]);
    assert!(asked.is_empty() && found.len() == 1, "one error, and no second about the tester: {found:#?}");
}

#[test]
fn a_faulty_file_is_reported_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "1.scenario.yaml", "name: [");
    put(folder.path(), "2.scenario.yaml", b"name: a\ndescription: \xff\n");
    put(folder.path(), "3.scenario.yaml", vec![b'x'; (1 << 20) + 1]);
    put(folder.path(), "4.scenario.yaml", "name: a\n");
    put(folder.path(), "5.scenario.yaml", ASK);
    put(
        folder.path(),
        "6.matrix.yaml",
        "name: m\nbase_scenario: gone.scenario.yaml\nmatrix: [{parameter: name, values: [a]}]\n",
    );
    put(
        folder.path(),
        "7.matrix.yaml",
        "name: m\nbase_scenario: 4.scenario.yaml\nmatrix: [{parameter: name, values: [a]}]\n",
    );
    put(
        folder.path(),
        "8.persona.yaml",
        "[{name: p, persona: x}, {name: p, persona: y}, {name: all, persona: z}, {nmae: q}]",
    );
    let reading = read::read(&[folder.path().to_path_buf()]);
    let found = findings(&reading);
    let expected = [
        "1.scenario.yaml:",
        "2.scenario.yaml:2: warning: the file is not UTF-8 here; gabfest reads it as Windows-1252",
        "2.scenario.yaml:1:1: error: missing key `judgment`",
        "2.scenario.yaml:1:1: error: missing key `run`",
        "3.scenario.yaml: error: the file is 1048577 bytes; at most 1048576 are read",
        "4.scenario.yaml:1:1: error: missing key `description`",
        "4.scenario.yaml:1:1: error: missing key `judgment`",
        "4.scenario.yaml:1:1: error: missing key `run`",
        "6.matrix.yaml:2:16: error: the base scenario `",
        "7.matrix.yaml:2:16: error: the base scenario `",
        "8.persona.yaml:1:32: error: the persona `p` exists already",
        "8.persona.yaml:1:55: error: `all` selects every persona",
        "8.persona.yaml:1:73: error: missing key `name`",
        "8.persona.yaml:1:73: error: missing key `persona`",
        "8.persona.yaml:1:74: warning: unknown key `nmae`",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "expected {expected}, found {found}");
    }
    assert_eq!((reading.scenarios.len(), reading.matrices.len()), (1, 0));
}

#[test]
fn paths_that_hold_nothing_are_errors_with_hints() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "empty/readme.txt", "");
    for name in ["x.txt", "x.qna", "x.qna.tsv", "x.lu", "x.qna.json"] {
        put(folder.path(), name, "\n");
    }
    for (name, message) in [
        ("gone.scenario.yaml", "cannot be read: "),
        ("empty", "the folder contains no scenario, matrix or persona"),
        ("x.txt", "is not a scenario file"),
        ("x.qna", "the file is empty"),
        ("x.qna.tsv", "the file is empty"),
        ("x.lu", "the file is empty"),
        ("x.qna.json", "the file is empty"),
    ] {
        let reading = read::read(&[folder.path().join(name)]);
        assert_eq!(reading.diagnostics.len(), 1);
        assert!(reading.diagnostics[0].message.starts_with(message), "{:?}", reading.diagnostics);
        assert!(reading.diagnostics[0].is_error() && reading.diagnostics[0].help.is_some());
    }
}

#[test]
fn names_of_scenarios_that_lead_to_no_file_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "ask.scenario.yaml", ASK);
    put(folder.path(), "other/readme.txt", "");
    std::os::unix::fs::symlink("gone.yaml", folder.path().join("link.scenario.yaml")).unwrap();
    std::os::unix::fs::symlink("gone.txt", folder.path().join("readme.txt")).unwrap();
    std::os::unix::fs::symlink("other", folder.path().join("folder.scenario.yaml")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("pipe.scenario.yaml")).unwrap();
    let reading = read::read(&[folder.path().to_owned()]);
    let found: Vec<(&str, bool)> =
        reading.diagnostics.iter().map(|found| (found.message.as_str(), found.is_error())).collect();
    let expected = [
        ("the link to `gone.yaml` cannot be followed: No such file or directory (os error 2)", true),
        ("is neither a file nor a folder", true),
    ];
    assert_eq!(found, expected);
    assert!(reading.diagnostics[0].path.ends_with("/link.scenario.yaml"), "{:?}", reading.diagnostics[0]);
    assert_eq!(reading.scenarios.len(), 1);
}

#[test]
fn a_file_that_is_named_itself_may_have_any_name_and_brings_its_personas() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "mine.yaml", ASK);
    put(folder.path(), "personas/p.yaml", "name: angry\npersona: an angry customer\n");
    let reading = read::read(&[folder.path().join("mine.yaml")]);
    assert_eq!(findings(&reading), Vec::<String>::new());
    assert_eq!(reading.scenarios.len(), 1);
    assert!(reading.personas.get("angry").is_some());
}

#[test]
fn the_base_of_a_matrix_plays_alone_only_if_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "base.scenario.yaml", ASK);
    put(
        folder.path(),
        "m.matrix.yaml",
        "name: m\nbase_scenario: base.scenario.yaml\nmatrix: [{parameter: name, values: [a]}]\n",
    );
    let (all, base, matrix) =
        (folder.path().to_path_buf(), folder.path().join("base.scenario.yaml"), folder.path().join("m.matrix.yaml"));
    for (paths, alone) in [
        (vec![all.clone()], false),
        (vec![matrix.clone()], false),
        (vec![all, base.clone()], true),
        (vec![base, matrix], true),
    ] {
        let reading = read::read(&paths);
        assert_eq!((reading.scenarios.len(), reading.matrices.len()), (1, 1));
        assert_eq!(reading.scenarios[0].plays_alone(), alone, "{paths:?}");
    }
}

#[test]
fn bad_values_of_an_axis_are_found_at_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let base = ASK.replace("{input: hi}", "{conversation: {max_turns: 3, user_simulator: {persona: p, objective: o}}}");
    put(folder.path(), "base.scenario.yaml", base);
    let matrix = "name: m\nbase_scenario: base.scenario.yaml\nmatrix:\n  - parameter: run[0].conversation.max_turns\n    values:\n      - 5\n      - 50\n      - many\n  - parameter: run[0].conversation.user_simulator.stile\n    values: [a]\n  - parameter: run[0].conversation.user_simulator\n    values:\n      - {persona: x, objective: y}\n      - {persona: x}\n      - {persona: x, objective: y, stlye: z}\n  - parameter: a-b\n    values: [1]\n";
    put(folder.path(), "m.matrix.yaml", matrix);
    let found = findings(&read::read(&[folder.path().to_path_buf()]));
    assert_eq!(found, ["m.matrix.yaml:16:16: error: `a-b` is not a path: Invalid property name in path"]);
    put(folder.path(), "m.matrix.yaml", matrix.replace("a-b", "name").replace("[1]", "[b]"));
    let reading = read::read(&[folder.path().to_path_buf()]);
    let found = findings(&reading);
    let expected = [
        "m.matrix.yaml:7:9: error: with this value for `run[0].conversation.max_turns`: expected a whole number from 2 to 20, found 50",
        "m.matrix.yaml:8:9: error: with this value for `run[0].conversation.max_turns`: found text \"many\", expected a number",
        "m.matrix.yaml:9:16: error: `run[0].conversation.user_simulator` has no key `stile` in",
        "m.matrix.yaml:14:9: error: with this value for `run[0].conversation.user_simulator`: missing key `objective`",
        "m.matrix.yaml:15:9: warning: with this value for `run[0].conversation.user_simulator`: unknown key `stlye`",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "expected {expected}, found {found}");
    }
    assert!(reading.matrices.is_empty());
}

#[test]
fn sql_files_travel_in_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let text = |file: &str| format!("{ASK}gabfest:\n  database:\n    - connection: main\n      files: [{file}]\n");
    put(folder.path(), "sql/seed.sql", "insert into t values (1);");
    put(folder.path(), "s/ok.scenario.yaml", text("sql/seed.sql"));
    put(folder.path(), "s/sql/seed.sql", "create table t (a int);");
    let reading = read::read(&[folder.path().join("s/ok.scenario.yaml")]);
    assert_eq!(findings(&reading), Vec::<String>::new());
    let seeding = &reading.scenarios[0].script.scenario.environment.databases[0];
    assert_eq!(seeding.files, [("sql/seed.sql".to_owned(), "create table t (a int);".to_owned())]);
    for (file, message) in [("../sql/seed.sql", "is outside of the folder"), ("gone.sql", "cannot be read")] {
        put(folder.path(), "s/bad.scenario.yaml", text(file));
        let reading = read::read(&[folder.path().join("s/bad.scenario.yaml")]);
        assert!(reading.scenarios.is_empty());
        assert_eq!(reading.diagnostics[0].line, 8, "{:?}", reading.diagnostics);
        assert!(reading.diagnostics[0].message.contains(message), "{:?}", reading.diagnostics);
    }
}
