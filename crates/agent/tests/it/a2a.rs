//! A2A agents over HTTP: the card, both wire forms, tasks that wait, and errors.

use std::time::Duration;

use record::FailureKind;
use serde_json::{Value, json};

use super::{
    bad_server::{Answer, Server},
    house::{connect, open, outcome, say, settings, surroundings},
};

const KEY: &str = env!("CARGO_MANIFEST_DIR");

fn card(version: &str, stream: bool) -> Answer {
    let interface = json!({ "url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": version });
    Answer::json(
        200,
        &json!({ "name": "shop", "supportedInterfaces": [interface], "capabilities": { "streaming": stream } }),
    )
}

fn result(result: &Value) -> Answer {
    Answer::json(200, &json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
}

fn events(results: &[Value]) -> Answer {
    let events: Vec<String> = results
        .iter()
        .map(|one| format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": 1, "result": one })))
        .collect();
    Answer::events(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn agent(server: &Server, more: Value) -> Value {
    let mut a2a = json!({ "url": server.url });
    if let (Value::Object(a2a), Value::Object(more)) = (&mut a2a, more) {
        a2a.extend(more);
    }
    json!({ "a2a": a2a })
}

#[tokio::test]
async fn a_task_that_waits_for_input_is_continued() {
    let status = |state: &str, words: &str| {
        json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "status": {
            "state": state, "message": { "parts": [{ "text": words }] },
        } } })
    };
    let chunk = |text: &str| json!({ "artifactUpdate": { "taskId": "t", "contextId": "c", "append": true, "artifact": { "artifactId": "a", "parts": [{ "text": text }] } } });
    let server = Server::start(vec![
        card("1.0", true),
        events(&[status("TASK_STATE_WORKING", "Hm."), status("TASK_STATE_INPUT_REQUIRED", "Which order?")]),
        events(&[chunk("Order 7 "), chunk("is back."), status("TASK_STATE_COMPLETED", "")])
            .after(Duration::ZERO, Duration::from_millis(20)),
        result(&json!({ "message": { "contextId": "c", "role": "ROLE_AGENT", "parts": [{ "text": "Bye." }] } })),
    ])
    .await;
    let agent = connect(agent(&server, json!({ "key": "env:CARGO_MANIFEST_DIR" })));
    let mut session = open(&*agent, "t1").await;
    assert_eq!(say(&mut *session, 1, "I want to return it").await.expect("a reply").text, "Which order?");
    let second = say(&mut *session, 2, "7").await.expect("a reply");
    assert_eq!(second.text, "Order 7 is back.");
    let first_words = second.timing.first_token.expect("it was streamed");
    assert!(first_words < second.timing.total, "{:?}", second.timing);
    assert_eq!(say(&mut *session, 3, "thanks").await.expect("a reply").text, "Bye.");

    let calls = server.calls.lock().unwrap();
    let shown: Vec<String> = calls.iter().map(|call| format!("{} {}", call.method, call.path)).collect();
    assert_eq!(shown, ["GET /v1/.well-known/agent-card.json", "POST /rpc", "POST /rpc", "POST /rpc"]);
    assert!(calls.iter().all(|call| call.headers["authorization"] == format!("Bearer {KEY}")));
    assert_eq!(calls[1].headers["a2a-version"], "1.0");
    assert_eq!(calls[1].body["method"], "SendStreamingMessage");
    let ids = |call: usize| {
        let message = &calls[call].body["params"]["message"];
        (message["messageId"].clone(), message["contextId"].clone(), message["taskId"].clone())
    };
    assert_eq!(ids(1), (json!("t1/1"), Value::Null, Value::Null));
    assert_eq!(ids(2), (json!("t1/2"), json!("c"), json!("t")));
    assert_eq!(ids(3), (json!("t1/3"), json!("c"), Value::Null), "the task is done");
}

#[tokio::test]
async fn an_agent_that_answers_early_is_looked_at() {
    let task = |state: &str| {
        json!({ "kind": "task", "id": "t", "contextId": "c", "status": { "state": state }, "artifacts": [
        { "artifactId": "a", "parts": [{ "kind": "text", "text": "Done." }] },
    ] })
    };
    let old =
        Answer::json(200, &json!({ "protocolVersion": "0.3.0", "url": "/a2a", "capabilities": { "streaming": true } }));
    let server = Server::start(vec![old, result(&task("working")), result(&task("completed"))]).await;
    let agent = connect(agent(&server, json!({ "stream": false })));
    let reply = say(&mut *open(&*agent, "t1").await, 1, "hi").await.expect("a reply");
    assert_eq!((reply.text.as_str(), reply.timing.first_token), ("Done.", None));
    let calls = server.calls.lock().unwrap();
    let methods: Vec<&str> = calls[1..].iter().filter_map(|call| call.body["method"].as_str()).collect();
    assert_eq!(methods, ["message/send", "tasks/get"]);
    assert_eq!(calls[1].body["params"]["configuration"]["blocking"], true);
    assert_eq!((&calls[1].path, &calls[2].body["params"]["id"]), (&"/a2a".to_owned(), &json!("t")));
}

#[tokio::test]
async fn failures_have_their_kinds() {
    use FailureKind::{AgentEmpty, AgentFailed, AgentMalformed, AgentRefused, Misconfigured};
    let error = |code: i64| Answer::json(200, &json!({ "id": 1, "error": { "code": code, "message": "no" } }));
    let failed = json!({ "task": { "id": "t", "status": { "state": "TASK_STATE_FAILED", "message": { "parts": [{ "text": "on fire" }] } } } });
    let silent = json!({ "task": { "id": "t", "status": { "state": "TASK_STATE_COMPLETED" } } });
    let working = json!({ "task": { "id": "t", "status": { "state": "TASK_STATE_WORKING" } } });
    let streamed_error = format!("data: {}\n\n", json!({ "id": 1, "error": { "code": -32603, "message": "no" } }));
    let other = json!({ "supportedInterfaces": [{ "url": "http://127.0.0.1:1/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }] });
    let rows = [
        (vec![Answer::new(404, "", "")], AgentRefused, "404"),
        (vec![Answer::json(200, &json!({ "name": "shop" }))], AgentMalformed, "no interface over JSON-RPC"),
        (vec![Answer::json(200, &other)], Misconfigured, "another host than its own"),
        (vec![card("1.0", false), error(-32601)], AgentRefused, "error -32601: no"),
        (vec![card("1.0", false), error(-32603)], AgentFailed, "error -32603: no"),
        (vec![card("1.0", false), result(&failed)], AgentFailed, "the task failed: on fire"),
        (vec![card("1.0", false), result(&silent)], AgentEmpty, "answered nothing"),
        (vec![card("1.0", false), result(&json!({ "x": 1 }))], AgentMalformed, "neither a task nor a message"),
        (vec![card("1.0", false), Answer::new(200, "application/json", "{")], AgentMalformed, "it is not JSON"),
        (vec![card("1.0", false), Answer::new(500, "", "oops")], AgentFailed, "500"),
        (vec![card("1.0", true), events(std::slice::from_ref(&failed))], AgentFailed, "on fire"),
        (vec![card("1.0", true), events(&[working])], AgentMalformed, "ends before the task does"),
        (vec![card("1.0", true), Answer::events(&[&streamed_error])], AgentFailed, "error -32603"),
        (vec![card("1.0", true), Answer::events(&["data: garbage\n\n"])], AgentMalformed, "it is not JSON"),
    ];
    for (script, kind, says) in rows {
        let calls = script.len();
        let server = Server::start(script).await;
        let agent = connect(agent(&server, json!({ "headers": { "x-api-key": "env:CARGO_MANIFEST_DIR" } })));
        let said = say(&mut *open(&*agent, "t1").await, 1, "hi").await;
        let (found, message) = outcome(&said);
        assert_eq!(found, Some(kind), "{says}: {message}");
        assert!(message.contains(says), "{says}: {message}");
        assert!(!message.contains(KEY), "{message}");
        assert_eq!(server.calls.lock().unwrap().len(), calls, "{says}: nothing is sent twice");
    }
}

#[test]
fn settings_that_cannot_be_meant() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (value, says) in [
        (json!({ "url": "shop" }), "a2a.url cannot be read"),
        (json!({ "url": "http://h", "rpc": "ftp://h" }), "a2a.rpc is neither"),
        (json!({ "url": "http://h", "headers": { "x-turn": "{{ turn }}" } }), "x-turn cannot hold placeholders"),
        (json!({ "url": "http://h", "key": "env:GABFEST_NO_SUCH" }), "its key cannot be found"),
    ] {
        let error = agent::connect("shop", &settings(json!({ "a2a": value })), &surroundings()).expect_err("refused");
        assert!(error.to_string().contains(says), "{value}: {error}");
    }
}
