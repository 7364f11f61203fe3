//! Agents of an ElizaOS server, by all three ways in which its sessions answer.

use record::FailureKind;
use serde_json::{Value, json};

use super::{
    bad_server::{Answer, Server},
    house::{connect, open, outcome, say},
};

const AGENT: &str = "b850bc30-45f8-0041-a00a-83df46d8555d";

fn session() -> Answer {
    Answer::json(201, &json!({ "sessionId": "s1", "channelId": "c1" }))
}

fn agent(url: &str, more: Value) -> Value {
    let mut eliza = json!({ "url": url.trim_end_matches("/v1"), "agent": AGENT, "poll_ms": 5 });
    if let (Value::Object(eliza), Value::Object(more)) = (&mut eliza, more) {
        eliza.extend(more);
    }
    json!({ "eliza": eliza })
}

async fn ask(script: Vec<Answer>, more: Value) -> (Result<agent::Reply, agent::Error>, Server) {
    let server = Server::start(script).await;
    let agent = connect(agent(&server.url, more));
    let said = say(&mut *open(&*agent, "t1").await, 1, "Hello").await;
    (said, server)
}

#[tokio::test]
async fn a_session_is_opened_and_its_replies_are_streamed() {
    let events = Answer::events(&[
        "event: user_message\ndata: {\"id\":\"m1\",\"content\":\"Hello\",\"text\":\"never\"}\n\n",
        "event: chunk\ndata: {\"chunk\":\"Hi\",\"index\":0}\n\nevent: chunk\ndata: {\"chunk\":\" there\",\"index\":1}\n\n",
        "event: done\ndata: {\"text\":\"Hi there!\",\"thought\":\"a greeting\",\"actions\":[\"REPLY\",\"GREET\"]}\n\n",
    ]);
    let server = Server::start(vec![session(), events]).await;
    let agent = connect(agent(&server.url, json!({ "key": "env:CARGO_MANIFEST_DIR" })));
    let mut talk = open(&*agent, "t1").await;
    let reply = say(&mut *talk, 1, "Hello").await.expect("a reply");
    assert_eq!((reply.text.as_str(), &reply.actions[..]), ("Hi there!", &["REPLY".to_owned(), "GREET".to_owned()][..]));
    assert!(reply.timing.first_token.is_some());
    say(&mut *talk, 2, "And now?").await.expect("a reply");
    let calls = server.calls.lock().unwrap();
    let paths: Vec<&str> = calls.iter().map(|call| call.path.as_str()).collect();
    let messages = "/api/messaging/sessions/s1/messages";
    assert_eq!(paths, ["/api/messaging/sessions", messages, messages]);
    assert_eq!(calls[0].body["agentId"], AGENT);
    assert_eq!(calls[0].body["userId"].as_str().map(str::len), Some(36));
    assert_eq!((&calls[1].body["content"], &calls[1].body["transport"]), (&json!("Hello"), &json!("sse")));
    assert_eq!(calls[2].body["metadata"]["turn"], 2);
    assert_eq!(calls[1].headers["x-api-key"], env!("CARGO_MANIFEST_DIR"));
    assert_eq!(calls[1].headers["idempotency-key"], "t1/1");
    assert!(calls[1].headers.contains_key("traceparent"));
}

#[tokio::test]
async fn an_agent_is_found_by_its_name() {
    let agents = Answer::json(
        200,
        &json!({ "success": true, "data": { "agents": [
        { "id": "11111111-1111-1111-1111-111111111111", "name": "Other" },
        { "id": AGENT, "name": "Eliza" },
    ] } }),
    );
    let whole = Answer::json(
        201,
        &json!({
            "success": true, "userMessage": { "id": "m1" }, "agentResponse": { "text": "Hi.", "actions": ["REPLY"] },
        }),
    );
    let (said, server) =
        ask(vec![agents.clone(), session(), whole], json!({ "agent": "eliza", "transport": "http" })).await;
    assert_eq!(outcome(&said), (None, "Hi.".to_owned()));
    let (said, _) = ask(vec![agents], json!({ "agent": "nobody" })).await;
    let (kind, message) = outcome(&said);
    assert_eq!(kind, Some(FailureKind::Misconfigured));
    assert!(message.contains("lists no agent \"nobody\""), "{message}");

    let calls = server.calls.lock().unwrap();
    assert_eq!((calls[0].method.as_str(), calls[0].path.as_str()), ("GET", "/api/agents"));
    assert_eq!((&calls[1].body["agentId"], &calls[2].body["transport"]), (&json!(AGENT), &json!("http")));
}

#[tokio::test]
async fn servers_that_answer_elsewhere_are_looked_at() {
    let took = Answer::json(201, &json!({ "success": true, "userMessage": { "id": "m2", "content": "Hello" } }));
    let old = json!({ "id": "m1", "content": "from before", "isAgent": true });
    let ours = json!({ "id": "m2", "content": "Hello", "isAgent": false });
    let first =
        json!({ "id": "m3", "content": "One moment.", "isAgent": true, "metadata": { "actions": ["LOOK_UP"] } });
    let second = json!({ "id": "m4", "content": "It is here.", "isAgent": true, "metadata": {} });
    let listed = |messages: &[&Value]| Answer::json(200, &json!({ "messages": messages, "hasMore": false }));
    let script = vec![
        session(),
        took,
        listed(&[&ours, &old]),
        listed(&[&first, &ours, &old]),
        listed(&[&second, &first, &ours, &old]),
    ];
    let (said, server) = ask(script, json!({ "transport": "poll" })).await;
    let reply = said.expect("a reply");
    assert_eq!((reply.text.as_str(), &reply.actions[..]), ("One moment.\nIt is here.", &["LOOK_UP".to_owned()][..]));
    assert!(server.calls.lock().unwrap().last().unwrap().path.ends_with("/sessions/s1/messages?limit=50"));
}

#[tokio::test]
async fn failures_are_classified() {
    use FailureKind::{AgentEmpty, AgentFailed, AgentMalformed, AgentRefused};
    let error = Answer::events(&[
        "event: chunk\ndata: {\"chunk\":\"Hi\"}\n\n",
        "event: error\ndata: {\"error\":\"no model\"}\n\n",
    ]);
    let half = Answer::events(&["event: chunk\ndata: {\"chunk\":\"Hi\"}\n\n"]);
    let silent = Answer::json(201, &json!({ "success": true, "userMessage": {}, "agentResponse": null }));
    let rows: Vec<(&str, Vec<Answer>, FailureKind, &str)> = vec![
        (
            "no such agent",
            vec![Answer::json(404, &json!({ "error": "Agent not found" }))],
            AgentRefused,
            "Agent not found",
        ),
        ("no session", vec![Answer::json(201, &json!({}))], AgentMalformed, "without a sessionId"),
        ("its error", vec![session(), error], AgentMalformed, "an error: no model"),
        ("half a stream", vec![session(), half], AgentMalformed, "ends before the reply does"),
        ("silence", vec![session(), silent], AgentEmpty, "answered nothing"),
        ("500", vec![session(), Answer::new(500, "", "oops")], AgentFailed, "status 500"),
        (
            "gone",
            vec![session(), Answer::json(410, &json!({ "error": "Session has expired" }))],
            AgentRefused,
            "expired",
        ),
    ];
    for (what, script, kind, says) in rows {
        let (said, _) = ask(script, json!({})).await;
        let (found, message) = outcome(&said);
        assert_eq!(found, Some(kind), "{what}: {message}");
        assert!(message.contains(says), "{what}: {message}");
    }
}
