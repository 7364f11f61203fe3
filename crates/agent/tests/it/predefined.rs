//! Agents with predefined answers: written answers, an old run, a person.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent::{Surroundings, interactive::Terminal};
use async_trait::async_trait;
use record::FailureKind;
use serde_json::json;

use super::house::{connect, open, outcome, say, say_within, settings, start, surroundings};

#[tokio::test]
async fn answers_are_given_in_order() {
    for (repeat, third) in [(false, None), (true, Some("one"))] {
        let agent = connect(json!({ "replayed": { "answers": ["one", "two"], "repeat": repeat } }));
        let mut session = open(&*agent, "t1").await;
        let first = say(&mut *session, 1, "hi").await.expect("a reply");
        assert_eq!((first.text.as_str(), first.cost_nanos), ("one", Some(0)));
        assert_eq!(outcome(&say(&mut *session, 2, "hi").await).1, "two");
        let last = say(&mut *session, 3, "hi").await;
        match third {
            Some(text) => assert_eq!(outcome(&last), (None, text.to_owned())),
            None => assert_eq!(outcome(&last).0, Some(FailureKind::AgentEmpty)),
        }
        assert_eq!(
            outcome(&say(&mut *open(&*agent, "t2").await, 1, "hi").await).1,
            "one",
            "each conversation begins anew"
        );
    }
}

#[tokio::test]
async fn an_old_run_is_replayed() {
    let turn = |number: u32, speaker: &str, agent: &str| {
        json!({
            "number": number, "step": 1, "speaker": speaker, "user": "u", "agent": agent, "exit_code": null,
            "tool_calls": [{ "id": "c", "name": "f", "arguments": "{}", "result": "7" }], "actions": ["GO"],
            "started_micros": 0, "duration_micros": 0, "calls": [], "notes": [],
        })
    };
    let line = json!({
        "trial_id": "t1", "case_id": "c1", "number": 0, "repeat": 0, "verdict": "FAIL",
        "turns": [turn(1, "scripted", "as then"), turn(2, "program", "a program's"), turn(3, "simulated", "and then")],
    });
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("transcripts.jsonl"), format!("{line}\n\n")).expect("written");
    let surroundings = Surroundings { folder: folder.path().to_owned(), ..surroundings() };
    let value = json!({ "replayed": { "transcripts": "transcripts.jsonl" } });
    let agent = agent::connect("old", &settings(value.clone()), &surroundings).expect("connects").expect("an agent");
    let mut session = open(&*agent, "t1").await;
    let first = say(&mut *session, 1, "hi").await.expect("a reply");
    assert_eq!((first.text.as_str(), &first.actions[..]), ("as then", &["GO".to_owned()][..]));
    assert_eq!(first.tool_calls[0].result.as_deref(), Some("7"));
    assert_eq!(outcome(&say(&mut *session, 2, "hi").await).1, "and then");
    let Err(missing) = agent.open(start("t9")).await else { panic!("there is no such trial") };
    assert_eq!(missing.kind, FailureKind::Misconfigured);
    assert!(missing.message.contains("hold no trial t9"), "{missing}");

    std::fs::write(folder.path().join("transcripts.jsonl"), "{}\n").expect("written");
    let error = agent::connect("old", &settings(value), &surroundings).expect_err("no transcript");
    assert!(error.to_string().contains("line 1"), "{error}");
    for (replayed, says) in [
        (json!({}), "replayed.answers is missing"),
        (json!({ "answers": ["a"], "transcripts": "x" }), "replayed.transcripts cannot be used with `answers`"),
        (json!({ "transcripts": "none.jsonl" }), "none.jsonl cannot be read"),
    ] {
        let error =
            agent::connect("old", &settings(json!({ "replayed": replayed })), &surroundings).expect_err("refused");
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// A person who types these lines; keeps the texts that were shown.
#[derive(Debug)]
struct Typist {
    lines: Mutex<VecDeque<&'static str>>,
    shown: Mutex<Vec<String>>,
}

#[async_trait]
impl Terminal for Typist {
    async fn ask(&self, shown: &str) -> io::Result<Option<String>> {
        tokio::time::sleep(Duration::from_millis(30)).await;
        self.shown.lock().expect("no panic").push(shown.to_owned());
        Ok(self.lines.lock().expect("no panic").pop_front().map(str::to_owned))
    }
}

#[tokio::test]
async fn a_person_answers_at_the_terminal() {
    let typist = Arc::new(Typist { lines: Mutex::new(VecDeque::from(["Good day", ""])), shown: Mutex::default() });
    let surroundings =
        Surroundings { slots: 1, terminal: Some(Arc::clone(&typist) as Arc<dyn Terminal>), ..Surroundings::default() };
    let agent = agent::connect("me", &settings(json!({ "interactive": {} })), &surroundings)
        .expect("connects")
        .expect("an agent");
    assert_eq!(agent.unready(), None);
    let mut session = open(&*agent, "t1").await;
    // The scenario's time for a turn is shorter than anybody types.
    let said = say_within(&mut *session, 1, "Hi \u{1b}[31mred", Duration::from_millis(1)).await;
    assert_eq!(outcome(&said), (None, "Good day".to_owned()));
    assert_eq!(outcome(&say(&mut *session, 2, "?").await).0, Some(FailureKind::AgentEmpty));
    assert_eq!(
        outcome(&say(&mut *session, 3, "?").await).0,
        Some(FailureKind::AgentUnreachable),
        "stdin is at its end"
    );
    let shown = typist.shown.lock().unwrap();
    assert!(shown[0].contains("refund") && shown[0].contains("user: Hi [31mred\nyou> "), "{shown:?}");
    assert!(!shown[1].contains("refund"), "{shown:?}");
}

#[tokio::test]
async fn a_person_needs_a_terminal_and_one_conversation_at_a_time() {
    for (slots, says) in [(4, "--slots 1"), (1, "there is none here")] {
        let surroundings = Surroundings { slots, ..Surroundings::default() };
        let agent = agent::connect("me", &settings(json!({ "interactive": {} })), &surroundings).unwrap().unwrap();
        assert!(agent.unready().is_some_and(|reason| reason.contains(says)), "before a conversation begins");
        let Err(error) = agent.open(start("t1")).await else { panic!("nobody is there") };
        assert_eq!(error.kind, FailureKind::Misconfigured);
        assert!(error.message.contains(says), "{error}");
    }
}
