//! Results of A2A agents, in both wire forms, and the replies that they are.

use std::time::Duration;

use serde_json::json;

use super::*;

/// A short form of a result, for both versions.
#[derive(Debug, Clone, Copy)]
enum Sent {
    /// A message of the agent.
    Message(&'static str),
    /// A task with the state, the texts of its artifact `a`, and the message of its status.
    Task(&'static str, &'static [&'static str], &'static str),
    Status(&'static str, &'static str),
    /// A chunk of an artifact, and whether it is appended.
    Chunk(&'static str, &'static str, bool),
}

fn written(said: Sent, version: Version) -> Value {
    let old = version == Version::V03;
    let part = |text: &str| if old { json!({ "kind": "text", "text": text }) } else { json!({ "text": text }) };
    let message = |text: &str| {
        if text.is_empty() {
            Value::Null
        } else {
            json!({ "messageId": "m", "role": "agent", "contextId": "c", "parts": [part(text)] })
        }
    };
    let state = |state: &str| {
        if old { state.to_owned() } else { format!("TASK_STATE_{}", state.to_ascii_uppercase().replace('-', "_")) }
    };
    let (kind, key, mut body) = match said {
        Sent::Message(text) => ("message", "message", message(text)),
        Sent::Task(status, parts, words) => {
            let parts: Vec<Value> = parts.iter().map(|text| part(text)).collect();
            let artifacts = if parts.is_empty() { json!([]) } else { json!([{ "artifactId": "a", "parts": parts }]) };
            let status = json!({ "state": state(status), "message": message(words) });
            ("task", "task", json!({ "id": "t", "contextId": "c", "status": status, "artifacts": artifacts }))
        }
        Sent::Status(status, words) => {
            let status = json!({ "state": state(status), "message": message(words) });
            ("status-update", "statusUpdate", json!({ "taskId": "t", "contextId": "c", "status": status }))
        }
        Sent::Chunk(id, text, append) => {
            let artifact = json!({ "artifactId": id, "parts": [part(text)] });
            let update = json!({ "taskId": "t", "contextId": "c", "artifact": artifact, "append": append });
            ("artifact-update", "artifactUpdate", update)
        }
    };
    if old {
        body["kind"] = kind.into();
        body
    } else {
        json!({ key: body })
    }
}

fn waiting() -> KnownTask {
    KnownTask { context: Some("c".into()), task: Some("t".into()), artifacts: BTreeMap::from([("a".to_owned(), 5)]) }
}

/// The outcome of results: the text, its messages, and the waiting task; or why there is no reply.
fn heard(known: KnownTask, version: Version, results: &[Sent], streamed: bool) -> String {
    let mut heard = HeardTask::new(version, known);
    let sent = Instant::now();
    for (index, result) in results.iter().enumerate() {
        let result = written(*result, version);
        let came = sent + Duration::from_millis(10 * (index as u64 + 1));
        let verdict = if streamed { heard.event(&result, came) } else { heard.whole(&result) };
        match verdict.expect("it can be read") {
            Progress::GoesOn => assert!(streamed || index + 1 < results.len(), "{results:?}"),
            Progress::Over => assert_eq!(index + 1, results.len(), "{results:?}"),
            Progress::Failed(failure) => return format!("{failure:?}"),
        }
    }
    let known = heard.known();
    assert_eq!(known.context.as_deref(), Some("c"), "{results:?}");
    let reply = heard.finish(sent, sent + Duration::from_secs(1), streamed);
    let messages: Vec<&str> = reply.messages.iter().map(|said| said.text.as_str()).collect();
    let first = reply.receipt.timing.first_token.map_or(0, |first| first.as_millis());
    format!("{:?} {messages:?} {:?} {first}", reply.text, known.task)
}

#[test]
fn answers_that_come_whole() {
    use Sent::{Message, Task};
    let rows: [(&[Sent], KnownTask, &str); 9] = [
        (&[Message("Hello.")], KnownTask::default(), r#""Hello." [] None 0"#),
        (
            &[Task("completed", &["Order 7 ", "is shipped."], "")],
            KnownTask::default(),
            r#""Order 7 is shipped." [] None 0"#,
        ),
        (
            &[Task("completed", &["Report."], "Done.")],
            KnownTask::default(),
            r#""Report.\nDone." ["Report.", "Done."] None 0"#,
        ),
        (&[Task("input-required", &[], "Which one?")], KnownTask::default(), r#""Which one?" [] Some("t") 0"#),
        // It answers before it is done, and is looked at again.
        (
            &[Task("submitted", &[], ""), Task("working", &[], "Hm."), Task("completed", &["Yes."], "")],
            KnownTask::default(),
            r#""Yes." [] None 0"#,
        ),
        // Text that the previous turn received is not repeated.
        (&[Task("completed", &["First"], "Then.")], waiting(), r#""Then." [] None 0"#),
        (&[Task("failed", &[], "On fire.")], KnownTask::default(), r#"Failed("the task failed: On fire.")"#),
        (&[Task("rejected", &[], "")], KnownTask::default(), r#"Refused("the agent rejects the task")"#),
        (
            &[Task("auth-required", &[], "Log in.")],
            KnownTask::default(),
            r#"Refused("the task needs an authorization that gabfest does not have: Log in.")"#,
        ),
    ];
    for (results, known, expected) in rows {
        for version in [Version::V03, Version::V10] {
            assert_eq!(heard(known.clone(), version, results, false), expected, "{results:?} {version:?}");
        }
    }
}

#[test]
fn streams_of_a_task() {
    use Sent::{Chunk, Message, Status, Task};
    let rows: [(&[Sent], KnownTask, &str); 7] = [
        (&[Message("Hello.")], KnownTask::default(), r#""Hello." [] None 10"#),
        (
            &[
                Task("submitted", &[], ""),
                Status("working", "Let me look."),
                Chunk("a", "Order 7 ", false),
                Chunk("a", "is shipped.", true),
                Status("completed", ""),
            ],
            KnownTask::default(),
            r#""Order 7 is shipped." [] None 30"#,
        ),
        (
            &[Chunk("a", "One.", false), Chunk("b", "Two.", false), Status("completed", "Three.")],
            KnownTask::default(),
            r#""One.\nTwo.\nThree." ["One.", "Two.", "Three."] None 10"#,
        ),
        (
            &[Task("working", &[], ""), Status("input-required", "Which?")],
            KnownTask::default(),
            r#""Which?" [] Some("t") 20"#,
        ),
        // A second version of an artifact replaces the first.
        (
            &[Chunk("a", "Draft", false), Chunk("a", "Final", false), Status("completed", "")],
            KnownTask::default(),
            r#""Final" [] None 10"#,
        ),
        (
            &[Task("working", &["First"], ""), Chunk("b", "New.", false), Status("completed", "")],
            waiting(),
            r#""New." [] None 20"#,
        ),
        (
            &[Chunk("a", "Half", false), Status("canceled", "")],
            KnownTask::default(),
            r#"Failed("the task was canceled")"#,
        ),
    ];
    for (results, known, expected) in rows {
        for version in [Version::V03, Version::V10] {
            assert_eq!(heard(known.clone(), version, results, true), expected, "{results:?} {version:?}");
        }
    }
}

#[test]
fn parts_that_are_no_text() {
    let parts = json!([
        { "text": "See: " }, { "data": { "n": 7 } }, { "url": "http://h/a.pdf", "filename": "a.pdf" },
        { "kind": "file", "file": { "name": "b.pdf" } }, { "raw": "AAAA" },
    ]);
    let mut heard = HeardTask::new(Version::V10, KnownTask::default());
    heard.whole(&json!({ "message": { "parts": parts } })).unwrap();
    let reply = heard.finish(Instant::now(), Instant::now(), false);
    assert_eq!(reply.text, r#"See: {"n":7}"#);
    let notes: Vec<&str> = reply.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(
        notes,
        ["the agent sent a file: a.pdf", "the agent sent a file: b.pdf", "the agent sent a file: without a name"]
    );
}

/// Rows of docs/limits.md.
#[test]
fn what_is_heard_has_bounds() {
    let until_trouble = |mut event: Box<dyn FnMut(usize) -> Value>| {
        let mut heard = HeardTask::new(Version::V10, KnownTask::default());
        (0..10_000).find_map(|n| heard.event(&event(n), Instant::now()).err()).unwrap_or_default()
    };
    let chunk = |id: String, text: &str| json!({ "artifactUpdate": { "artifact": { "artifactId": id, "parts": [{ "text": text }] }, "append": true } });
    let long = "x".repeat(300_000);
    let longer = long.clone();
    assert_eq!(until_trouble(Box::new(move |_| chunk("a".into(), &long))), "a reply of more than 1048576 bytes");
    assert_eq!(until_trouble(Box::new(move |n| chunk(n.to_string(), "x"))), "more than 1000 messages");
    let task = json!({ "task": { "id": longer } });
    assert_eq!(until_trouble(Box::new(move |_| task.clone())), "an id of more than 4096 bytes");
    let strange = json!({ "task": { "id": "t", "status": { "state": "TASK_STATE_DREAMING" } } });
    assert_eq!(until_trouble(Box::new(move |_| strange.clone())), "its task has the unknown state \"dreaming\"");
}
