//! The real QnA Maker files of the cases folder, which `GABFEST_CASES` names.

use std::path::{Path, PathBuf};

use scenario::{
    Diagnostic,
    format::qna::{KnowledgeBase, NoFiles, collate, json, knowledge_base, write},
    read,
};
use serde_json::Value;

/// The folder of the QnA cases; `None` where the variable is unset, which is said loudly.
fn folder(skipped: &str) -> Option<PathBuf> {
    match std::env::var_os("GABFEST_CASES") {
        Some(cases) => Some(PathBuf::from(cases).join("qna")),
        None => {
            println!("SKIPPED: {skipped} (GABFEST_CASES is not set)");
            None
        }
    }
}

fn fixtures(skipped: &str) -> Option<PathBuf> {
    Some(folder(skipped)?.join("botframework-cli-9fa25c6c/packages/qnamaker/test/fixtures"))
}

fn base(path: &Path) -> KnowledgeBase {
    let collated = read::knowledge_base(path);
    assert!(collated.diagnostics.is_empty(), "{}: {:#?}", path.display(), collated.diagnostics);
    collated.base
}

/// Upstream's own results on Windows end their lines in CRLF; its names come from its command line.
fn expected(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap().replace("\\r\\n", "\\n");
    let mut value: Value = serde_json::from_str(&text).unwrap();
    if let Some(base) = value.as_object_mut() {
        base.remove("name");
    }
    value
}

fn found(base: &KnowledgeBase) -> Value {
    let mut value = json::write(base);
    value.as_object_mut().unwrap().remove("name");
    value
}

#[test]
fn qna_files_become_the_verified_knowledge_bases() {
    let Some(fixtures) = fixtures("7 verified knowledge bases") else { return };
    for (input, verified) in [
        ("testcases/multiturn.qna", "multiturn.qna.json"),
        ("examples/all.qna", "all-qna.json"),
        ("testcases/qnaref.qna", "qna5.json"),
        ("testcases/ref14.qna", "ref14_a.json"),
        ("testcases/ref15.qna", "ref15_a.json"),
        ("testcases/collate/12.qna", "12qna.json"),
    ] {
        let base = base(&fixtures.join(input));
        assert_eq!(found(&base), expected(&fixtures.join("verified").join(verified)), "{input}");
    }
    let base = base(&fixtures.join("testcases/collate/qna-alterations.qna"));
    assert_eq!(json::write_alterations(&base), expected(&fixtures.join("verified/alterations_qna4.json")));
    assert_eq!(json::write_alterations(&base), expected(&fixtures.join("verified/collate_Alterations.json")));
}

#[test]
fn a_folder_is_put_together_as_upstream_does() {
    let Some(fixtures) = fixtures("the collated folder") else { return };
    let folder = fixtures.join("testcases/collate");
    // A file that imports the whole folder is the folder.
    let importing = folder.join("all.qna");
    let collated = collate("[all](./*)", &importing.to_string_lossy(), &mut read::Beside::of(&importing));
    assert!(
        collated.diagnostics.iter().all(|found| found.message.contains("none.lu")
            || found.message.contains("9.lu")
            || found.message.contains("changeAlarm.lu")),
        "{:#?}",
        collated.diagnostics
    );
    assert_eq!(found(&collated.base), expected(&fixtures.join("verified/collate-qna.json")));
    assert_eq!(json::write_alterations(&collated.base), expected(&fixtures.join("verified/collate_Alterations.json")));
}

#[test]
fn json_becomes_the_verified_qna_files() {
    let Some(fixtures) = fixtures("3 verified .qna files") else { return };
    for (input, verified) in [
        ("verified/multiturn.qna.json", "multiturn.json.qna"),
        ("testcases/MultiturnReplaceKbWithFlattenedTree.json", "MultiturnReplaceKbWithFlattenedTree.qna"),
    ] {
        let base = base(&fixtures.join(input));
        let verified = std::fs::read_to_string(fixtures.join("verified").join(verified)).unwrap();
        assert_eq!(write::write(&base), verified, "{input}");
    }
    let mut sorted = base(&fixtures.join("testcases/all_qna.json"));
    sorted.pairs.iter_mut().for_each(|pair| pair.questions.sort_by_key(|question| question.to_lowercase()));
    sorted.pairs.sort_by_key(|pair| pair.questions[0].to_lowercase());
    (sorted.name, sorted.urls) = (String::new(), Vec::new());
    let verified = std::fs::read_to_string(fixtures.join("verified/qna_sorted.lu")).unwrap();
    assert_eq!(write::write(&sorted), verified);
    let mut alterations = base(&fixtures.join("testcases/qna-alterations_Alterations.json"));
    alterations.alterations.iter_mut().for_each(|one| one.words.sort_by_key(|word| word.to_lowercase()));
    alterations.alterations.sort_by_key(|one| one.words[0].to_lowercase());
    let again = collate(&write::write(&alterations), "x.qna", &mut NoFiles).base;
    assert_eq!(again.alterations, alterations.alterations);
    let verified = std::fs::read_to_string(fixtures.join("verified/qna_a_sorted.lu")).unwrap();
    assert_eq!(write::write(&alterations), verified);
}

/// What is found in files that upstream refuses too, or that name what is not there: (file, line, message).
const FINDINGS: &[(&str, u32, &str)] = &[
    ("testcases/invalid-alterations.lu", 1, "an alteration without words"),
    ("testcases/qna-filter-line-without-hyphen.lu", 6, "Invalid QnA filter line"),
    ("testcases/qna-question-line-without-hyphen.lu", 2, "Invalid QnA question line"),
    ("fixtures/empty.json", 0, ""),
];

#[test]
fn every_real_file_is_read_without_an_unexplained_finding() {
    let Some(folder) = folder("every real .qna, .lu and .json file") else { return };
    let mut files = Vec::new();
    walk(&folder, &mut files);
    let (mut read, mut round) = (0, 0);
    for path in files {
        let name = path.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let is_json = name.ends_with(".json");
        if !(name.ends_with(".qna") || name.ends_with(".lu") || (is_json && text.contains("qnaList"))) {
            continue;
        }
        let collated = read::knowledge_base(&path);
        let known: Vec<_> = FINDINGS.iter().filter(|(file, ..)| name.ends_with(file)).collect();
        let unexplained: Vec<&Diagnostic> = collated
            .diagnostics
            .iter()
            .filter(|found| {
                let missing = found.message.starts_with("Cannot find reference");
                let known = known.iter().any(|(_, line, text)| found.line == *line && found.message.contains(text));
                !(known || (missing && found.message.contains("No such file")))
            })
            .collect();
        assert!(unexplained.is_empty(), "{name}: {unexplained:#?}");
        assert_eq!(known.is_empty(), !collated.diagnostics.iter().any(|found| found.line > 0 && !known.is_empty()));
        read += 1;
        if collated.diagnostics.is_empty() {
            let again = knowledge_base(&write::write(&collated.base), "again.qna", &mut NoFiles);
            assert_eq!(again.diagnostics, [], "{name}");
            assert_eq!(again.base, collated.base, "{name}");
            round += 1;
        }
    }
    println!("{read} files were read, {round} written and read again");
    assert!(read > 60 && round > 50, "{read} read, {round} written");
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}

#[test]
fn the_chitchat_is_ninety_pairs_and_a_case_a_question() {
    let Some(folder) = folder("the chitchat knowledge base") else { return };
    let path = folder.join("chitchat/english/qna_chitchat_professional.qna");
    let base = base(&path);
    let questions: usize = base.pairs.iter().map(|pair| pair.questions.len()).sum();
    assert_eq!((base.pairs.len(), questions), (90, 9793));
    let reading = read::read(&[path]);
    let plan = scenario::plan::build(&reading, &scenario::plan::Choices::default()).unwrap();
    assert_eq!((plan.groups.len(), plan.case_count()), (90, 9793));
    let size = plan.to_json().len();
    assert!(size < 1 << 20, "the plan has {size} bytes");
}

#[test]
fn the_batch_testers_tables_are_read() {
    let Some(folder) = folder("2 tables of the batch tester") else { return };
    for name in ["sampledata.tsv", "sampledata-cqa.tsv"] {
        let reading = read::read(&[folder.join("azure-batchtesting").join(name)]);
        assert!(reading.diagnostics.is_empty(), "{name}: {:#?}", reading.diagnostics);
        let plan = scenario::plan::build(&reading, &scenario::plan::Choices::default()).unwrap();
        assert_eq!(plan.case_count(), 3, "{name}");
    }
}
