//! The real QnA Maker files of the cases folder, which `GABFEST_CASES` names.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use formats::{
    qna::{Asked, KnowledgeBase, collate, json as qna_json, knowledge_base, write},
    read,
};
use scenario::{Diagnostic, format::NoFiles};
use serde_json::{Value, json};

fn folder(skipped: &str) -> Option<PathBuf> {
    cases::folder("qna", skipped)
}

fn fixtures(skipped: &str) -> Option<PathBuf> {
    Some(folder(skipped)?.join("botframework-cli-9fa25c6c/packages/qnamaker/test/fixtures"))
}

fn base(path: &Path) -> KnowledgeBase {
    let collated = read::knowledge_base(path);
    assert!(collated.diagnostics.is_empty(), "{}: {:#?}", path.display(), collated.diagnostics);
    collated.base
}

/// Upstream's own results from Windows use CRLF; their names come from its command line.
fn expected(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap().replace("\\r\\n", "\\n");
    let mut value: Value = serde_json::from_str(&text).unwrap();
    if let Some(base) = value.as_object_mut() {
        base.remove("name");
    }
    value
}

fn found(base: &KnowledgeBase) -> Value {
    let mut value = qna_json::write(base);
    value.as_object_mut().unwrap().remove("name");
    value
}

/// In the service's form, which is separate from the knowledge base.
fn alterations_of(base: &KnowledgeBase) -> Value {
    let all: Vec<Value> = base.alterations.iter().map(|one| json!({ "alterations": one.words })).collect();
    json!({ "wordAlterations": all })
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
    assert_eq!(alterations_of(&base), expected(&fixtures.join("verified/alterations_qna4.json")));
    assert_eq!(alterations_of(&base), expected(&fixtures.join("verified/collate_Alterations.json")));
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
    assert_eq!(alterations_of(&collated.base), expected(&fixtures.join("verified/collate_Alterations.json")));
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

/// Findings in files that upstream refuses too: (file, line, message, reason).
const FINDINGS: &[(&str, u32, &str, &str)] = &[
    ("testcases/invalid-alterations.lu", 1, "an alteration without words", "upstream's test for just that"),
    ("testcases/qna-filter-line-without-hyphen.lu", 6, "Invalid QnA filter line", "upstream's test for just that"),
    ("testcases/qna-question-line-without-hyphen.lu", 2, "Invalid QnA question line", "upstream's test for just that"),
];

/// JSON files that are not knowledge bases: (file, what they are).
const OTHER_JSON: &[(&str, &str)] = &[
    ("fixtures/updatekb.json", "a change to a knowledge base, as the service takes it"),
    ("verified/collated-luis.json", "a language model"),
    ("verified/collated-luis_LUISBatchTest.json", "utterances for a test of a language model"),
    ("empty-file/config/qnamaker.settings.development.westus.json", "settings of upstream's builder"),
    ("sandwich/config/qnamaker.settings.development.westus.json", "settings of upstream's builder"),
    ("multi-locales/config/qnamaker.settings.development.westus.json", "settings of upstream's builder"),
    ("sandwich/qnafiles/qnaconfig.json", "settings of upstream's cross-training"),
    ("testcases/emptyIntentDescriptors.json", "a language model"),
];

#[test]
fn every_real_file_is_read_without_an_unexplained_finding() {
    let Some(folder) = folder("every real .qna, .lu and .json file") else { return };
    let mut files = Vec::new();
    walk(&folder, &mut files);
    let (mut read, mut round) = (0, 0);
    let (mut used, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.to_string_lossy().into_owned();
        let is_json = name.ends_with(".json");
        if !(name.ends_with(".qna") || name.ends_with(".lu") || is_json) {
            continue;
        }
        let collated = read::knowledge_base(&path);
        if is_json && collated.diagnostics.iter().any(Diagnostic::is_error) {
            match OTHER_JSON.iter().position(|(file, _)| name.ends_with(file)) {
                Some(row) => others.insert(row),
                None => {
                    wrong.push(format!("{name}: {:#?}", collated.diagnostics));
                    continue;
                }
            };
            continue;
        }
        for found in &collated.diagnostics {
            // The cases hold a part of upstream's files only.
            if found.message.starts_with("Cannot find reference") && found.message.contains("No such file") {
                continue;
            }
            let explains = |(file, line, text, _): &(&str, u32, &str, &str)| {
                name.ends_with(file) && found.line == *line && found.message.contains(text)
            };
            match FINDINGS.iter().position(explains) {
                Some(row) => {
                    used.insert(row);
                }
                None => wrong.push(format!("{name}: {found}")),
            }
        }
        read += 1;
        if collated.diagnostics.is_empty() {
            let again = knowledge_base(&write::write(&collated.base), "again.qna", &mut NoFiles);
            assert_eq!(again.diagnostics, [], "{name}");
            assert_eq!(again.base, collated.base, "{name}");
            round += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((used.len(), others.len()), (FINDINGS.len(), OTHER_JSON.len()), "every row explains something");
    assert!(
        FINDINGS.iter().map(|row| row.3).chain(OTHER_JSON.iter().map(|row| row.1)).all(|reason| !reason.is_empty())
    );
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

/// The batch tester's results for its table: the same questions in the same order, and no label without an expected id.
#[test]
fn the_batch_testers_result_is_about_its_table() {
    let Some(folder) = folder("a result of the batch tester") else { return };
    let folder = folder.join("azure-batchtesting");
    let reading = read::read(&[folder.join("sampledata-cqa.tsv")]);
    let asked: Vec<Asked> = reading.scenarios.iter().map(|file| Asked::of(&file.document.value).unwrap()).collect();
    let questions: Vec<&String> = asked.iter().flat_map(|asked| &asked.questions).collect();
    let result = std::fs::read_to_string(folder.join("sampledata-cqa-result.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = result.lines().map(|line| line.split('\t').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|head| *head == name).unwrap();
    let cells = |name: &str| -> Vec<&str> {
        rows[1..].iter().map(|row| row.get(column(name)).copied().unwrap_or_default()).collect()
    };
    assert_eq!(cells("Query"), questions);
    assert_eq!(cells("Line"), ["1", "2", "3"]);
    let expected: Vec<String> = asked
        .iter()
        .flat_map(|asked| vec![asked.id.map_or(String::new(), |id| id.to_string()); asked.questions.len()])
        .collect();
    assert_eq!(cells("ExpectedAnswerId"), expected);
    assert!(cells("Label").iter().all(|label| label.is_empty()));
}

/// Each sample of a report is read as the pair that it is about: its results are in comments.
#[test]
fn the_reports_of_the_specification_are_read() {
    let Some(folder) = folder("the samples of reports in the specification") else { return };
    let text = std::fs::read_to_string(folder.join("spec-a9584d8d/QnAMaker-TestDevSpec.md")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (mut pairs, mut results) = (0, 0);
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("## ?")) {
        let before = lines[..number].iter().rev().take_while(|line| line.starts_with('>')).count();
        let fences = (number..lines.len()).filter(|at| lines[*at].starts_with("```")).nth(1).unwrap();
        let sample = lines[number - before..=fences].join("\n");
        let read = knowledge_base(&sample, "x.qna", &mut NoFiles);
        assert_eq!(read.diagnostics, [], "{sample}");
        assert_eq!(read.base.pairs.len(), 1, "{sample}");
        let variants =
            lines[number..fences].iter().take_while(|line| !line.starts_with("**") && !line.starts_with("```"));
        let written = 1 + variants.filter(|line| line.starts_with("- ")).count();
        assert_eq!(read.base.pairs[0].questions.len(), written, "{line}");
        pairs += 1;
        results += sample.lines().filter(|line| line.starts_with("> PASS") || line.starts_with("> FAIL")).count();
    }
    assert!(pairs >= 10 && results >= 14, "{pairs} pairs, {results} results");
}
