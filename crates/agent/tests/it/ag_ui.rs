//! AG-UI agents over HTTP: a run's request, its effect on the next run, and its failures.

use std::time::Duration;

use record::FailureKind;
use serde_json::{Value, json};

use super::{
    bad_server::{Answer, Server},
    house::{connect, open, outcome, say, settings, surroundings},
};

fn run(events: &[Value]) -> Answer {
    let events: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Answer::events(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn words(id: &str, delta: &str) -> Value {
    json!({ "type": "TEXT_MESSAGE_CHUNK", "messageId": id, "delta": delta })
}

#[tokio::test]
async fn a_conversation_keeps_its_messages_and_its_state() {
    let finished = json!({ "type": "RUN_FINISHED", "outcome": { "type": "success" } });
    let first = [
        json!({ "type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "find", "delta": "{}" }),
        json!({ "type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "7" }),
        json!({ "type": "STATE_DELTA", "delta": [{ "op": "add", "path": "/order", "value": 7 }] }),
        words("a", "Order "),
        words("a", "7."),
        finished.clone(),
    ];
    let asks = json!({ "type": "RUN_FINISHED", "outcome": { "type": "interrupt", "interrupts": [{ "id": "i", "reason": "approval", "message": "Sure?" }] } });
    let server = Server::start(vec![
        run(&first).after(Duration::ZERO, Duration::from_millis(20)),
        run(&[asks]),
        run(&[words("b", "Refunded."), finished]),
    ])
    .await;
    let agent = connect(json!({ "ag_ui": {
        "url": server.url, "key": "env:CARGO_MANIFEST_DIR", "state": { "who": "{{ persona }}" },
        "forwarded_props": { "turn": "{{ turn }}" },
    } }));
    let mut session = open(&*agent, "t1").await;
    let reply = say(&mut *session, 1, "where is it?").await.expect("a reply");
    assert_eq!((reply.text.as_str(), reply.tool_calls[0].result.as_deref()), ("Order 7.", Some("7")));
    let first_words = reply.timing.first_token.expect("it was streamed");
    assert!(first_words >= Duration::from_millis(60), "tool calls are no words: {first_words:?}");
    assert_eq!(say(&mut *session, 2, "refund it").await.expect("a reply").text, "Sure?");
    assert_eq!(say(&mut *session, 3, "yes").await.expect("a reply").text, "Refunded.");

    let calls = server.calls.lock().unwrap();
    assert_eq!(calls[0].headers["accept"], "text/event-stream");
    assert_eq!(
        calls[0].body,
        json!({
            "threadId": "t1", "runId": "t1/1", "state": { "who": "ann" }, "tools": [], "context": [],
            "forwardedProps": { "turn": 1 },
            "messages": [{ "id": "t1/1/0", "role": "user", "content": "where is it?" }],
        })
    );
    assert_eq!(calls[1].body["state"], json!({ "who": "ann", "order": 7 }));
    let call = json!({ "id": "c", "type": "function", "function": { "name": "find", "arguments": "{}" } });
    assert_eq!(
        calls[1].body["messages"],
        json!([
            { "id": "t1/1/0", "role": "user", "content": "where is it?" },
            { "id": "calls/c", "role": "assistant", "content": "", "toolCalls": [call] },
            { "id": "r", "role": "tool", "toolCallId": "c", "content": "7" },
            { "id": "a", "role": "assistant", "content": "Order 7." },
            { "id": "t1/2/0", "role": "user", "content": "refund it" },
        ])
    );
    assert_eq!(calls[1].body["resume"], Value::Null);
    assert_eq!(calls[2].body["resume"], json!([{ "interruptId": "i", "status": "resolved", "payload": "yes" }]));
    assert_eq!(calls[2].body["messages"].as_array().map(Vec::len), Some(7));
}

#[tokio::test]
async fn failures_have_their_kinds() {
    use FailureKind::{AgentEmpty, AgentFailed, AgentMalformed, AgentRefused};
    let failed = run(&[words("a", "half"), json!({ "type": "RUN_ERROR", "message": "on fire" })]);
    let rows = [
        (failed, AgentFailed, "the run failed: on fire"),
        (run(&[words("a", "half")]), AgentMalformed, "the stream ends before the run does"),
        (run(&[json!({ "type": "RUN_FINISHED" })]), AgentEmpty, "answered nothing"),
        (Answer::json(200, &json!({})), AgentMalformed, "application/json and not text/event-stream"),
        (Answer::events(&["data: garbage\n\n"]), AgentMalformed, "it is not JSON"),
        (Answer::json(422, &json!({ "detail": "no" })), AgentRefused, "422"),
        (Answer::new(503, "", "busy"), AgentFailed, "503"),
    ];
    for (answer, kind, says) in rows {
        let server = Server::start(vec![answer]).await;
        let agent = connect(json!({ "ag_ui": { "url": server.url } }));
        let said = say(&mut *open(&*agent, "t1").await, 1, "hi").await;
        let (found, message) = outcome(&said);
        assert_eq!(found, Some(kind), "{says}: {message}");
        assert!(message.contains(says), "{says}: {message}");
        assert_eq!(server.calls.lock().unwrap().len(), 1, "{says}: nothing is sent twice");
    }
}

#[test]
fn settings_that_cannot_be_meant() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (value, says) in [
        (json!({ "url": "h" }), "ag_ui.url cannot be read"),
        (json!({ "url": "http://h", "headers": { "x-turn": "{{ turn }}" } }), "x-turn cannot hold placeholders"),
    ] {
        let error = agent::connect("shop", &settings(json!({ "ag_ui": value })), &surroundings()).expect_err("refused");
        assert!(error.to_string().contains(says), "{value}: {error}");
    }
    let unknown = json!({ "ag_ui": { "url": "http://h", "state": "{{ nobody }}" } });
    let error = serde_json::from_value::<agent::Settings>(unknown).expect_err("refused").to_string();
    assert!(error.contains("no placeholder {{ nobody }}"), "{error}");
}
