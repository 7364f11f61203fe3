//! Batteries: faults of a file, and Emely's data, names and conversations in the cases folder.

use std::path::PathBuf;

use formats::battery::{saved, shipped};
use scenario::{
    Action,
    battery::{Answer, DataSet, Requirement, Tester},
};
use serde_json::Value;

fn folder(skipped: &str) -> Option<PathBuf> {
    cases::folder("emely", skipped)
}

fn json(name: &str) -> Option<Value> {
    let text = std::fs::read_to_string(folder(name)?.join(name)).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn read(text: &str) -> (Option<scenario::format::Script>, Vec<String>) {
    let (documents, mut found) = formats::battery::FORMAT.open(text, "b.battery.yaml");
    let mut script = None;
    for document in &documents {
        let (read, more) = formats::battery::FORMAT.read(document);
        script = read;
        found.extend(more);
    }
    (script, found.iter().map(|found| format!("{}:{} {}", found.line, found.column, found.message)).collect())
}

#[test]
fn all_faults_of_a_battery_are_reported() {
    let (script, found) = read(include_str!("faulty/full.battery.yaml"));
    assert!(script.is_none());
    let expected = [
        "2:7 expected text, found none",
        "3:1 unknown key `conversation_lenght`",
        "4:22 expected a whole number from 1 to 1000, found 0",
        "5:9 unknown word `emely-1`, expected `emely-9043c93`",
        "6:18 expected at least one line, and none that is blank",
        "7:19 expected a whole number from 1 to 1000, found 0",
        "8:25 expected a number from 0 to 1, found 2",
        "10:3 unknown requirement `I1`",
        "12:3 `REQ_U3` and `ML-U3` are the same requirement",
        "14:10 ML-U5 needs a probability, because it takes turns of the conversation",
        "15:10 expected a probability from 0 to 1, found 7",
        "16:10 ML-A6 examines every reply: only `required` applies to it",
        "17:3 unknown requirement `ML-X`",
        "19:5 a QA set needs an `answer`",
        "20:61 a CO set has no `answer`",
        "21:11 expected a whole number from 1 to 9999, found 10000",
        "22:37 a data set needs `information` with words in it",
        "23:66 an `answer` in words needs `extract`: what is looked for in the reply",
        "24:5 an IF set needs `blocked`: words that a reply must not hold",
    ];
    assert_eq!(found, expected);
}

#[test]
fn faults_of_the_whole_are_reported_too() {
    let faults = |requirements: &str| {
        read(&format!("name: b\ntester: {{lines: [Hey]}}\nconversation_length: 9\nrequirements: {{{requirements}}}\n"))
            .1
    };
    assert_eq!(faults("ML-U3: 0.8, ML-I4: 0.3"), ["4:1 the probabilities add up to 1.1000, which is more than 1"]);
    assert_eq!(faults("ML-A6: false"), ["4:1 the battery examines nothing"]);
    assert_eq!(faults("ML-I1: {probability: 0.1, max_wait: 7}").len(), 1);
    assert_eq!(faults("ML-I1: {probability: 0.1, max_wait: 6}"), [] as [&str; 0]);
    assert_eq!(read("name: b\nrequirements: {ML-A6: true}\n").1, ["1:1 the battery has no `tester`"]);
}

#[test]
fn a_small_battery_has_the_usual_settings() {
    let (script, found) = read("name: b\ntester: {lines: [Hey, Ho]}\nrequirements: {MLA6TC1: true, REQ_I5: 0.2}\n");
    let script = script.unwrap_or_else(|| panic!("{found:?}"));
    let Action::Examine(battery) = &script.scenario.steps[0].action else { panic!("a battery") };
    assert_eq!((battery.length, battery.tester_memory, battery.agent_memory, script.repeats), (2, 2, None, Some(1)));
    assert_eq!(battery.requirements(), [Requirement::LongMemory, Requirement::Stutter]);
    assert_eq!(battery.tester, Tester::Lines(vec!["Hey".to_owned(), "Ho".to_owned()]));
    assert_eq!(battery.sets, shipped(false));
    assert_eq!(found.len(), 1, "it never has room: {found:?}");
}

#[test]
fn the_shipped_sets_are_those_of_the_original_in_words_of_our_own() {
    let Some(cases) = json("testsets.json") else { return };
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let sets = shipped(false);
    let datasets = cases["datasets"].as_object().unwrap();
    assert_eq!(datasets.len(), 15);
    for theirs in datasets.values() {
        let id = theirs["id"].as_u64().unwrap();
        let ours: &DataSet = sets.iter().find(|set| u64::from(set.id) == id).unwrap();
        assert_eq!(ours.kind.name(), theirs["test"], "{id}");
        assert_eq!((ours.is_closed(), ours.extract.as_deref()), (theirs["directed"] == true, theirs["QA"].as_str()));
        let answer = match &ours.answer {
            Some(Answer::Text(text)) => Value::from(text.clone()),
            Some(Answer::Yes(yes)) => Value::from(*yes),
            None => Value::Null,
        };
        // A dog is a dog; `compat` keeps the original's answer.
        assert_eq!(answer == theirs["answer"], id != 1203, "{id}");
        let (information, questions) = (texts(&theirs["information"]), texts(&theirs["question"]));
        assert_eq!((ours.information.len(), ours.questions.len()), (information.len(), questions.len()), "{id}");
        let shared = ours
            .information
            .iter()
            .chain(&ours.questions)
            .find(|text| information.iter().chain(&questions).any(|theirs| theirs == *text));
        assert_eq!(shared, None, "{id}");
    }
}

#[test]
fn both_revisions_name_the_same_requirements() {
    let Some(cases) = json("testsets.json") else { return };
    for (then, later) in cases["test_case_renames"].as_object().unwrap() {
        let name = if then.contains("ML-A7") { "ML-A7" } else { then };
        let requirement = Requirement::of_name(name);
        assert!(requirement.is_some() && requirement == Requirement::of_name(later.as_str().unwrap()), "{then}");
    }
    for (name, base) in cases["test_type_base_ids"].as_object().unwrap() {
        assert_eq!(Requirement::of_name(name).map(|it| u64::from(it.base())), base.as_u64(), "{name}");
    }
}

#[test]
fn every_setting_of_the_original_has_a_counterpart_or_a_reason() {
    let Some(cases) = json("config-defaults.json") else { return };
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/emely.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    // A setting that exists per requirement appears once.
    let stems = ["is_ML", "p_ML", "maxsets_", "maxlength_", "is_testing_REQ_", "p_is_testing_REQ_"];
    for revision in cases.as_object().unwrap().values() {
        for key in revision.as_object().unwrap().keys() {
            let name = stems.iter().find(|stem| key.starts_with(*stem)).copied().unwrap_or(key);
            assert!(docs.contains(&format!("`{name}")), "docs/emely.md says nothing of {key}");
        }
    }
}

/// The labels do not include the coherence of replies, so no score can be compared with them.
#[test]
fn pairs_of_sentences_have_two_halves() {
    let Some(folder) = folder("9 pairs of sentences of Emely") else { return };
    let text =
        std::fs::read_to_string(folder.join("saved_conversations/validation_NSP/sentences_MLI3TC1.txt")).unwrap();
    let pairs: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(':')).collect();
    assert_eq!(pairs.len(), 9);
    assert!(pairs.iter().all(|(said, answer)| *said == pairs[0].0 && !answer.is_empty()));
}

#[test]
fn saved_conversations_are_read_with_their_tests() {
    let Some(folder) = folder("saved conversations of Emely") else { return };
    let folder = folder.join("saved_conversations");
    for number in 0..4 {
        let text = std::fs::read_to_string(folder.join(format!("test_run/conversation_{number}.txt"))).unwrap();
        let saved = saved::parse(&text).unwrap();
        assert_eq!((saved.exchanges.len(), saved.examination.turns.len()), (20, 20), "{number}");
        for (exchange, test) in saved.exchanges.iter().zip(&saved.examination.turns) {
            if let Some(test) = test {
                let set = saved.examination.set(test.requirement, test.set).unwrap();
                let told = set.information.iter().chain(&set.questions).any(|text| *text == exchange.0);
                assert!(told, "{number}: {} is of no data set", exchange.0);
            }
        }
        let ids = text.lines().find(|line| line.starts_with("test_ids")).unwrap();
        assert!(saved::write(&saved).contains(ids), "{number}: {ids}");
        assert_eq!(saved::parse(&saved::write(&saved)).unwrap(), saved);
    }
    for (name, exchanges) in [("saved_conversation.txt", 80), ("saved_conversation2.txt", 20)] {
        let text = std::fs::read_to_string(folder.join("validation_NSP").join(name)).unwrap();
        assert_eq!(saved::parse(&text).unwrap().exchanges.len(), exchanges, "{name}");
    }
}
