//! HTTP agents against servers that behave and servers that do not.

use std::time::Duration;

use record::FailureKind;
use scenario::{Message, message::Speaker};
use serde_json::{Value, json};

use super::{
    bad_server::{Answer, Server, nobody, resetting},
    house::{connect, open, outcome, say, say_within, settings, start, surroundings, trace},
};

/// Cargo sets this variable for every test; its value plays the key.
const KEY: &str = env!("CARGO_MANIFEST_DIR");

fn agent(url: &str, more: Value) -> Value {
    let mut http = json!({ "url": url, "reply": { "text": "$.reply", "error": "$.error" } });
    if let (Value::Object(http), Value::Object(more)) = (&mut http, more) {
        http.extend(more);
    }
    json!({ "http": http })
}

fn reply(text: &str) -> Answer {
    Answer::json(200, &json!({ "reply": text }))
}

#[tokio::test]
async fn a_conversation_by_template() {
    let first = json!({
        "reply": "Which order?", "sid": "s-9", "calls": [{ "name": "look_up", "arguments": { "id": 4 } }],
        "acts": ["ASK"], "usage": { "in": 12, "out": 3 },
    });
    let server = Server::start(vec![Answer::json(200, &first), reply("Refunded.")]).await;
    let agent = connect(json!({
        "history": "full",
        "http": {
            "url": format!("{}/chat/{{{{ conversation }}}}", server.url),
            "method": "PUT",
            "key": "env:CARGO_MANIFEST_DIR",
            "headers": { "x-team": "qa", "x-session": "{{ session }}" },
            "session": "new",
            "body": { "text": "{{ message }}", "before": "{{ history }}", "meta": ["{{ turn }}", "{{ scenario }} {{ persona }}"] },
            "reply": {
                "text": "$.reply", "session": "$.sid", "tool_calls": "$.calls", "actions": "$.acts",
                "input_tokens": "$.usage.in", "output_tokens": "$.usage.out",
            },
        },
    }));
    assert_eq!(agent.name(), "shop");
    let mut session = open(&*agent, "t 1").await;
    let first = say(&mut *session, 1, "I want my \"money\"").await.expect("a reply");
    assert_eq!((first.text.as_str(), first.tries, first.cost_nanos), ("Which order?", 1, None));
    assert_eq!((first.tool_calls[0].name.as_str(), first.tool_calls[0].arguments.as_str()), ("look_up", "{\"id\":4}"));
    assert_eq!(first.actions, ["ASK"]);
    assert_eq!(first.usage.map(|usage| (usage.input, usage.output)), Some((12, 3)));
    assert!(first.timing.connect.is_some() && first.timing.total > Duration::ZERO);
    assert_eq!(first.timing.first_token, None);
    let second = say(&mut *session, 2, "4711").await.expect("a reply");
    assert_eq!((second.text.as_str(), second.usage), ("Refunded.", None));
    assert!(second.timing.connect.is_none(), "the connection is kept");

    let calls = server.calls.lock().unwrap();
    assert_eq!(calls[0].peer, calls[1].peer);
    assert_eq!((calls[0].method.as_str(), calls[0].path.as_str()), ("PUT", "/v1/chat/t%201"));
    assert_eq!(calls[0].body, json!({ "text": "I want my \"money\"", "before": [], "meta": [1, "refund ann"] }));
    assert_eq!(
        calls[1].body["before"],
        json!([{ "role": "user", "content": "I want my \"money\"" }, { "role": "assistant", "content": "Which order?" }])
    );
    let header = |call: usize, name: &str| calls[call].headers[name].to_str().unwrap().to_owned();
    assert_eq!(
        (header(0, "x-team"), header(0, "x-session"), header(1, "x-session")),
        ("qa".into(), "new".into(), "s-9".into())
    );
    assert_eq!(header(0, "authorization"), format!("Bearer {KEY}"));
    assert_eq!(header(0, "content-type"), "application/json");
    assert_eq!(header(0, "idempotency-key"), "t 1/1");
    assert_eq!((header(1, "x-gabfest-conversation"), header(1, "x-gabfest-turn")), ("t 1".into(), "2".into()));
    for call in 0..2 {
        let told = llm::http::headers::traceparent(trace(u32::try_from(call + 1).unwrap()));
        assert_eq!(header(call, "traceparent"), told);
    }
}

#[tokio::test]
async fn the_agent_keeps_the_history_unless_the_settings_say_otherwise() {
    let rows = [
        (json!("agent"), json!([[["u", "1"]], [["u", "2"]], [["u", "3"]]])),
        (
            json!({ "last": 2 }),
            json!([[["u", "1"]], [["u", "1"], ["a", "ok"], ["u", "2"]], [["u", "2"], ["a", "ok"], ["u", "3"]]]),
        ),
        (
            json!("full"),
            json!([
                [["u", "1"]],
                [["u", "1"], ["a", "ok"], ["u", "2"]],
                [["u", "1"], ["a", "ok"], ["u", "2"], ["a", "ok"], ["u", "3"]]
            ]),
        ),
    ];
    for (history, expected) in rows {
        let server = Server::start(vec![reply("ok")]).await;
        let mut value = agent(
            &server.url,
            json!({ "body": "{% for m in history %}{{ m.role[0] }}{{ m.content }} {% endfor %}{% for m in messages %}{{ m.role[0] }}{{ m.content }} {% endfor %}" }),
        );
        value["history"] = history.clone();
        let agent = connect(value);
        let mut session = open(&*agent, "t1").await;
        for turn in 1..=3 {
            say(&mut *session, turn, &turn.to_string()).await.expect("a reply");
        }
        let calls = server.calls.lock().unwrap();
        let sent: Vec<&str> = calls.iter().map(|call| call.body.as_str().unwrap_or("1").trim()).collect();
        let expected: Vec<String> = expected
            .as_array()
            .unwrap()
            .iter()
            .map(|turn| {
                let said = turn
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|pair| format!("{}{}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()));
                said.collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(sent, expected, "{history}");
        assert_eq!(calls[0].headers["content-type"], "text/plain; charset=utf-8");
    }
}

#[tokio::test]
async fn several_messages_and_an_expected_answer() {
    let server = Server::start(vec![reply("as it was")]).await;
    let mut value = agent(&server.url, json!({ "body": ["{{ message }}", "{{ messages }}", "{{ history }}"] }));
    value["history"] = json!("full");
    let agent = connect(value);
    let mut session = agent
        .open(agent::Start { opening: vec![Message::text_of(Speaker::System, "Be kind.")], ..start("t1") })
        .await
        .expect("opens");
    let messages = [Message::user("one"), Message::text_of(Speaker::System, "it rains")];
    let exchange =
        agent::Exchange { messages: &messages, turn: 1, timeout: Duration::from_secs(20), trace: None, cue: None };
    session.say(exchange).await.expect("a reply");
    session.replace_last_answer(&Message::text_of(Speaker::Agent, "as it should be"));
    session.say(agent::Exchange { messages: &[], turn: 2, ..exchange }).await.expect("a reply");
    let calls = server.calls.lock().unwrap();
    let said = |role: &str, content: &str| json!({ "role": role, "content": content });
    assert_eq!(
        calls[0].body,
        json!(["one", [said("system", "Be kind."), said("user", "one"), said("system", "it rains")], []])
    );
    assert_eq!(calls[1].body[0], "");
    assert_eq!(calls[1].body[2][3], said("assistant", "as it should be"));
}

#[tokio::test]
async fn a_session_may_need_a_start() {
    let started = Answer::json(201, &json!({ "session": { "id": 77 } }));
    let throttled = Answer::new(429, "", "").header("retry-after-ms", "10");
    let server = Server::start(vec![started, throttled, reply("hi")]).await;
    let agent = connect(agent(
        &format!("{}/{{{{ session }}}}", server.url),
        json!({ "start": { "url": format!("{}/sessions", server.url), "body": { "user": "{{ conversation }}" }, "session": "$.session.id" } }),
    ));
    let mut session = open(&*agent, "t1").await;
    let reply = say(&mut *session, 1, "hello").await.expect("a reply");
    assert_eq!((reply.text.as_str(), reply.tries), ("hi", 2));
    say(&mut *session, 2, "again").await.expect("a reply");
    let calls = server.calls.lock().unwrap();
    let paths: Vec<&str> = calls.iter().map(|call| call.path.as_str()).collect();
    // A try that was throttled does not start another session.
    assert_eq!(paths, ["/v1/sessions", "/v1/77", "/v1/77", "/v1/77"]);
    assert_eq!(calls[0].body, json!({ "user": "t1" }));
}

#[tokio::test]
async fn a_body_has_the_content_type_of_the_settings() {
    let rows = [
        (json!({ "body": { "a": 1 } }), "application/json", "{\"a\":1}"),
        (json!({ "body": "hello" }), "text/plain; charset=utf-8", "hello"),
        (
            json!({ "body": "<say>{{ message }}</say>", "headers": { "Content-Type": "application/xml" } }),
            "application/xml",
            "<say>say \"hi\"</say>",
        ),
        (
            json!({ "body": "{\"text\": {{ message | tojson }}}", "headers": { "content-type": "application/json" } }),
            "application/json",
            "{\"text\": \"say \\\"hi\\\"\"}",
        ),
        (
            json!({ "body": { "a": 1 }, "headers": { "content-type": "application/vnd.api+json" } }),
            "application/vnd.api+json",
            "{\"a\":1}",
        ),
    ];
    for (http, kind, body) in rows {
        let server = Server::start(vec![reply("ok")]).await;
        let agent = connect(agent(&server.url, http));
        say(&mut *open(&*agent, "t1").await, 1, "say \"hi\"").await.expect("a reply");
        let calls = server.calls.lock().unwrap();
        assert_eq!(calls[0].headers["content-type"], kind);
        let sent = calls[0].body.as_str().map_or_else(|| calls[0].body.to_string(), str::to_owned);
        assert_eq!(serde_json::from_str::<Value>(&sent).ok(), serde_json::from_str(body).ok(), "{sent}");
        assert!(sent == body || serde_json::from_str::<Value>(body).is_ok(), "{sent}");
    }
    let server = Server::start(vec![reply("ok")]).await;
    let http = json!({ "method": "GET", "headers": { "content-type": "application/json" } });
    say(&mut *open(&*connect(agent(&server.url, http)), "t1").await, 1, "hi").await.expect("a reply");
    assert!(!server.calls.lock().unwrap()[0].headers.contains_key("content-type"), "it has no body");
}

#[tokio::test]
async fn streams_show_the_first_words() {
    let events = Answer::events(&[
        "event: meta\ndata: {\"sid\":\"s1\"}\n\n",
        ": ping\n\ndata: {\"delta\":\"Hel\"}\n\n",
        "data: {\"delta\":\"lo\"}\n\ndata: {\"over\":true,\"calls\":[{\"name\":\"f\"}]}\n\n",
        "data: {\"delta\":\"never heard\"}\n\n",
    ])
    .after(Duration::ZERO, Duration::from_millis(20));
    let server = Server::start(vec![events]).await;
    let agent = connect(json!({ "http": {
        "url": server.url,
        "reply": { "delta": "$.delta", "done": "$.over", "session": "$.sid", "tool_calls": "$.calls" },
    } }));
    let reply = say(&mut *open(&*agent, "t1").await, 1, "hi").await.expect("a reply");
    assert_eq!((reply.text.as_str(), reply.tool_calls.len()), ("Hello", 1));
    let first = reply.timing.first_token.expect("it was streamed");
    assert!(first >= Duration::from_millis(20) && first < reply.timing.total, "{:?}", reply.timing);
    assert!(reply.timing.inter_token.is_some());

    let plain = Server::start(vec![Answer::events(&["data: Hel\n\n", "data: lo\n\ndata: [DONE]\n\n"])]).await;
    let agent = connect(json!({ "http": { "url": plain.url, "method": "GET" } }));
    let reply = say(&mut *open(&*agent, "t1").await, 1, "hi").await.expect("a reply");
    assert_eq!(reply.text, "Hello");
    assert_eq!(plain.calls.lock().unwrap()[0].method, "GET");
}

#[tokio::test]
async fn hostile_answers_are_classified() {
    use FailureKind::{
        AgentEmpty, AgentFailed, AgentMalformed, AgentRefused, AgentThrottled, AgentTimeout, ProviderExhausted,
    };
    let html = "<html><body>Bad gateway</body></html>";
    let half = "data: {\"delta\":\"half\"}\n\n";
    let long = format!("{{\"reply\":\"{}\"}}", "x".repeat(5 << 20));
    let long_event = format!("data: {{\"delta\":\"{}\"}}\n\n", "x".repeat(100_000));
    let deep = format!("{{\"reply\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    // The body is never decompressed, so its content does not matter.
    let bomb =
        Answer::new(200, "application/json", &b"\x1f\x8b\x08\x00not really"[..]).header("content-encoding", "gzip");
    let late = Answer::json(200, &json!({ "reply": "late" }));
    let rows: Vec<(&str, Answer, FailureKind, &str)> = vec![
        ("HTML", Answer::new(200, "text/html", html), AgentMalformed, "its content type is text/html"),
        ("HTML that says it is JSON", Answer::new(200, "application/json", html), AgentMalformed, "it is not JSON"),
        ("nothing", Answer::new(200, "application/json", ""), AgentMalformed, "the body is empty"),
        ("204", Answer::new(204, "", ""), AgentMalformed, "the body is empty"),
        ("another shape", Answer::json(200, &json!({ "answer": 1 })), AgentMalformed, "nothing at $.reply"),
        ("null", Answer::json(200, &json!({ "reply": null })), AgentEmpty, "answered nothing"),
        ("no messages", Answer::json(200, &json!([])), AgentEmpty, "answered nothing"),
        ("an object for a text", Answer::json(200, &json!({ "reply": {} })), AgentMalformed, "is an object"),
        ("an empty text", reply(" "), AgentEmpty, "answered nothing"),
        (
            "its own error",
            Answer::json(200, &json!({ "error": { "code": 7 } })),
            AgentMalformed,
            "an error: {\"code\":7}",
        ),
        ("bad JSON", Answer::new(200, "application/json", "{\"reply\":"), AgentMalformed, "it is not JSON"),
        ("deep JSON", Answer::new(200, "application/json", deep), AgentMalformed, "JSON of more than 50000 values"),
        ("5 MB", Answer::new(200, "application/json", long), AgentMalformed, "more than 1048576 bytes"),
        ("half a body", Answer::new(200, "application/json", "{\"rep").breaking(), AgentMalformed, "breaks off"),
        ("half a stream that breaks", Answer::events(&[half, "data: {\"d"]).breaking(), AgentMalformed, "breaks off"),
        ("half a stream that ends", Answer::events(&[half]), AgentMalformed, "ends before the reply does"),
        ("garbage in a stream", Answer::events(&[half, "data: garbage\n\n"]), AgentMalformed, "it is not JSON"),
        ("an endless stream", Answer::events(&[&*long_event; 12]), AgentMalformed, "a reply of more than"),
        (
            "a line without end",
            Answer::events(&["data: ", &"x".repeat(300 << 10)]),
            AgentMalformed,
            "a line of more than",
        ),
        (
            "an error in a stream",
            Answer::events(&[half, "data: {\"error\":\"sold out\"}\n\n"]),
            AgentMalformed,
            "sold out",
        ),
        ("a gzip bomb", bomb, AgentMalformed, "its encoding is gzip"),
        ("a redirect", Answer::new(302, "", "").header("location", "http://127.0.0.1:1/"), AgentRefused, "302"),
        ("400", Answer::json(400, &json!({ "error": { "message": "no" } })), AgentRefused, "status 400: POST http://"),
        ("403 as HTML", Answer::new(403, "text/html", html), record::FailureKind::Misconfigured, "status 403"),
        ("402", Answer::new(402, "", ""), ProviderExhausted, "402"),
        ("429", Answer::new(429, "", "slow down").header("retry-after", "3600"), AgentThrottled, "slow down"),
        ("500", Answer::new(500, "", "oops"), AgentFailed, ": oops; hint: look into the log"),
        ("a status of the settings", Answer::new(418, "", "tea"), AgentThrottled, "tea"),
        ("too late a head", late.clone().after(Duration::from_secs(9), Duration::ZERO), AgentTimeout, "300 ms"),
        ("too late a body", late.after(Duration::ZERO, Duration::from_secs(9)), AgentTimeout, "300 ms"),
        (
            "a slow drip",
            Answer::events(&[": ping\n\n"; 99]).after(Duration::ZERO, Duration::from_millis(100)),
            AgentTimeout,
            "300 ms",
        ),
    ];
    for (what, answer, kind, says) in rows {
        let server = Server::start(vec![answer]).await;
        let mut value = agent(
            &server.url,
            json!({ "reply": { "text": "$.reply", "delta": "$.delta", "done": "$.over", "error": "$.error" }, "statuses": { "418": "throttled" } }),
        );
        value["retries"] = json!({ "tries": 5, "deadline_ms": 200 });
        let agent = connect(value);
        let timeout = Duration::from_millis(if kind == AgentTimeout { 300 } else { 20_000 });
        let said = say_within(&mut *open(&*agent, "t1").await, 1, "hi", timeout).await;
        let (found, message) = outcome(&said);
        assert_eq!(found, Some(kind), "{what}: {message}");
        assert!(message.contains(says), "{what}: {message}");
        if !matches!(kind, AgentThrottled) {
            assert_eq!(server.calls.lock().unwrap().len(), 1, "{what}: nothing is sent twice");
        }
    }
}

#[tokio::test]
async fn servers_that_are_not_there() {
    for (url, kind) in [
        (nobody().await, FailureKind::AgentUnreachable),
        (resetting().await, FailureKind::AgentUnreachable),
        ("http://no-such-host.invalid/v1".to_owned(), FailureKind::AgentUnreachable),
    ] {
        let mut value = agent(&url, json!({}));
        value["retries"] = json!({ "tries": 2, "deadline_ms": 1000 });
        let said = say(&mut *open(&*connect(value), "t1").await, 1, "hi").await;
        assert_eq!(outcome(&said).0, Some(kind), "{url}: {said:?}");
    }
}

#[tokio::test]
async fn a_status_may_mean_a_reply() {
    let server = Server::start(vec![Answer::json(404, &json!({ "reply": "No such order." }))]).await;
    let agent = connect(agent(&server.url, json!({ "statuses": { "404": "reply" } })));
    let said = say(&mut *open(&*agent, "t1").await, 1, "hi").await;
    assert_eq!(outcome(&said), (None, "No such order.".to_owned()));
}

#[tokio::test]
async fn another_shape_than_ours_is_only_a_path_away() {
    let server = Server::start(vec![Answer::says("hello")]).await;
    let agent = connect(agent(&server.url, json!({ "reply": { "text": "$.choices[0].message.content" } })));
    let said = say(&mut *open(&*agent, "t1").await, 1, "hi").await;
    assert_eq!(outcome(&said), (None, "hello".to_owned()));
    assert_eq!(server.calls.lock().unwrap()[0].body, json!({ "message": "hi", "conversation": "t1", "turn": 1 }));
}

#[tokio::test]
async fn a_limit_holds_for_all_conversations() {
    let server = Server::start(vec![reply("ok")]).await;
    let mut value = agent(&server.url, json!({}));
    value["limits"] = json!({ "requests_per_minute": 600 });
    let agent = connect(value);
    let (mut one, mut two) = (open(&*agent, "t1").await, open(&*agent, "t2").await);
    say(&mut *one, 1, "hi").await.expect("a reply");
    let second = say(&mut *two, 1, "hi").await.expect("a reply");
    assert!(second.timing.wait >= Duration::from_millis(50), "{:?}", second.timing);
    assert!(second.timing.total < second.timing.wait + Duration::from_millis(500));
}

#[tokio::test]
async fn no_error_shows_a_key() {
    let echo = format!("you sent {KEY}");
    for answer in [
        Answer::new(200, "text/html", echo.clone()),
        Answer::new(403, "text/plain", echo.clone()),
        Answer::json(200, &json!({ "error": echo })),
        Answer::new(200, "application/json", echo.clone()),
    ] {
        let server = Server::start(vec![answer]).await;
        let value = agent(&server.url, json!({ "headers": { "x-api-key": "env:CARGO_MANIFEST_DIR" } }));
        assert_eq!(settings(value.clone()).keys().len(), 1);
        let agent = connect(value);
        let error = say(&mut *open(&*agent, "t1").await, 1, "hi").await.expect_err("an error");
        assert_eq!(server.calls.lock().unwrap()[0].headers["x-api-key"], KEY);
        assert!(!format!("{error:?} {agent:?}").contains(KEY), "{error:?}");
    }
}

#[test]
fn settings_that_cannot_be_meant() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (value, says) in [
        (json!({ "http": { "url": "h/v1" } }), "http.url cannot be read"),
        (json!({ "http": { "url": "ftp://h" } }), "http.url is neither"),
        (json!({ "http": { "url": "http://u:p@h" } }), "a key is never written"),
        (json!({ "http": { "url": "http://h", "headers": { "authorization": "Bearer x" } } }), "use env:NAME"),
        (
            json!({ "http": { "url": "http://h", "headers": { "traceparent": "{{ run }}" } } }),
            "gabfest writes it itself",
        ),
        (
            json!({ "http": { "url": "http://h", "headers": { "x-a": "{{ nobody }}" } } }),
            "the header x-a: there is no placeholder {{ nobody }}",
        ),
        (json!({ "http": { "url": "http://h", "key": "env:GABFEST_NO_SUCH" } }), "its key cannot be found"),
        (json!({ "http": { "url": "http://h", "statuses": { "7": "reply" } } }), "no such status: 7"),
        (json!({ "http": { "url": "http://h", "headers": { "content-type": "{{ run }}" } } }), "is not a media type"),
        (json!({ "http": { "url": "http://h" }, "endpoint": "main" }), "endpoint is for chat models"),
        (json!({ "http": { "url": "http://h" }, "timeout_ms": 0 }), "timeout_ms is 0"),
        (json!({ "limits": { "concurrency": 1 } }), "limits belongs to the endpoint"),
    ] {
        let error = agent::connect("shop", &settings(value.clone()), &surroundings()).expect_err("refused");
        assert!(error.to_string().contains(says), "{value}: {error}");
    }
    for (value, says) in [
        (json!({ "http": { "url": "http://h/{{ nobody }}" } }), "no placeholder {{ nobody }}"),
        (json!({ "http": { "url": "http://h", "reply": { "text": "reply" } } }), "is not a JSONPath"),
        (json!({ "http": { "url": "http://h", "method": "DELETE" } }), "unknown variant"),
        (json!({ "http": {} }), "missing field `url`"),
    ] {
        let error = serde_json::from_value::<agent::Settings>(value.clone()).expect_err("refused");
        assert!(error.to_string().contains(says), "{value}: {error}");
    }
}

#[tokio::test]
async fn values_of_an_answer_are_used_in_later_calls() {
    let first = json!({ "reply": "Which one?", "task": { "id": "t 1" }, "cart": { "items": 2 } });
    let server = Server::start(vec![Answer::json(200, &first), reply("Done."), reply("Bye.")]).await;
    let agent = connect(json!({ "http": {
        "url": format!("{}/chat/{{{{ remembered.task or 'new' }}}}", server.url),
        "headers": { "x-task": "<{{ remembered.task }}>" },
        "body": { "text": "{{ message }}", "cart": "{{ remembered.cart or none }}" },
        "reply": { "text": "$.reply", "remember": { "task": "$.task.id", "cart": "$.cart" } },
    } }));
    let mut session = open(&*agent, "c1").await;
    for (turn, text) in [(1, "Which one?"), (2, "Done."), (3, "Bye.")] {
        assert_eq!(say(&mut *session, turn, "hello").await.expect("a reply").text, text);
    }
    // Another conversation does not see it.
    let mut other = open(&*agent, "c2").await;
    say(&mut *other, 1, "hello").await.expect("a reply");
    let calls = server.calls.lock().unwrap();
    let sent: Vec<_> = calls
        .iter()
        .map(|call| (call.path.as_str(), call.headers["x-task"].to_str().unwrap(), call.body["cart"].clone()))
        .collect();
    let known = ("/v1/chat/t%201", "<t 1>", json!({ "items": 2 }));
    assert_eq!(sent, [("/v1/chat/new", "<>", Value::Null), known.clone(), known, ("/v1/chat/new", "<>", Value::Null)]);
}

fn polling(url: &str, poll: Value) -> Value {
    json!({ "http": {
        "url": format!("{url}/runs"), "key": "env:CARGO_MANIFEST_DIR", "poll": poll,
        "reply": {
            "text": "$.reply", "session": "$.session", "remember": { "run": "$.id" },
            "error": { "path": "$.message", "when": { "$.status": "failed" } },
        },
    } })
}

#[tokio::test]
async fn an_agent_that_answers_later_is_asked_until_it_is_done() {
    let done = json!({ "path": "$.status", "when": { "$.status": "done" } });
    let taken = Answer::json(202, &json!({ "id": "r 1", "status": "queued", "session": "s-4" }));
    let running = Answer::json(200, &json!({ "status": "running" }));
    let is_done = Answer::json(200, &json!({ "status": "done", "reply": "Refunded." }));
    let by_url = json!({ "done": done, "url": "URL/runs/{{ remembered.run }}", "every_ms": 50 });
    let by_header = json!({ "done": done, "every_ms": 50 });
    let by_path = json!({ "done": done, "location": "$.links.state", "every_ms": 50 });
    let told = Answer::json(202, &json!({ "links": { "state": "runs/9" } }));
    let rows = [
        (by_url, vec![taken, running.clone(), running.clone(), is_done.clone()], "/v1/runs/r%201", 4),
        (
            by_header,
            vec![Answer::new(202, "", "").header("location", "/v1/states/7?x=1"), running, is_done.clone()],
            "/v1/states/7?x=1",
            3,
        ),
        (by_path, vec![told, is_done.clone()], "/v1/runs/9", 2),
        (json!({ "done": done }), vec![is_done], "", 1),
    ];
    for (mut poll, script, path, asked) in rows {
        let server = Server::start(script).await;
        if let Some(url) = poll["url"].as_str() {
            poll["url"] = url.replace("URL", &server.url).into();
        }
        let agent = connect(polling(&server.url, poll.clone()));
        let reply = say(&mut *open(&*agent, "c1").await, 1, "hello").await.expect("a reply");
        assert_eq!((reply.text.as_str(), reply.tries), ("Refunded.", 1), "{poll}");
        assert!(reply.timing.total >= Duration::from_millis(50) * (asked - 1), "{poll} {:?}", reply.timing);
        let calls = server.calls.lock().unwrap();
        assert_eq!(calls.len(), asked as usize, "{poll}");
        for (index, call) in calls.iter().enumerate() {
            let expected = if index == 0 { ("POST", "/v1/runs") } else { ("GET", path) };
            assert_eq!((call.method.as_str(), call.path.as_str()), expected, "{poll}");
            assert_eq!(call.headers["authorization"], format!("Bearer {KEY}"));
            assert_eq!(call.headers["x-gabfest-conversation"], "c1");
        }
    }
}

#[tokio::test]
async fn an_agent_that_is_never_done_or_fails_later_is_at_fault() {
    let taken = Answer::json(202, &json!({ "id": "r1", "status": "queued" }));
    let elsewhere = Answer::new(202, "", "").header("location", "http://127.0.0.2:9/state");
    let failed = Answer::json(200, &json!({ "status": "failed", "message": "no stock" }));
    let rows = [
        (json!({ "url": "URL/r" }), vec![taken.clone()], FailureKind::AgentTimeout, "did not answer"),
        (json!({ "url": "URL/r" }), vec![taken.clone(), failed], FailureKind::AgentMalformed, "no stock"),
        (
            json!({ "url": "URL/r" }),
            vec![taken.clone(), Answer::new(200, "text/plain", "soon")],
            FailureKind::AgentMalformed,
            "not JSON",
        ),
        (
            json!({ "url": "URL/r" }),
            vec![taken.clone(), Answer::json(500, &json!({}))],
            FailureKind::AgentFailed,
            "500",
        ),
        (json!({}), vec![elsewhere], FailureKind::AgentMalformed, "another host, http://127.0.0.2:9/state"),
        (json!({}), vec![taken], FailureKind::AgentMalformed, "does not say where to ask"),
    ];
    for (mut poll, script, kind, says) in rows {
        let server = Server::start(script).await;
        if let Some(url) = poll["url"].as_str() {
            poll["url"] = url.replace("URL", &server.url).into();
        }
        poll["done"] = json!({ "path": "$.status", "when": { "$.status": "done" } });
        poll["every_ms"] = 50.into();
        let agent = connect(polling(&server.url, poll.clone()));
        let said = say_within(&mut *open(&*agent, "c1").await, 1, "hello", Duration::from_millis(400)).await;
        let (found, message) = outcome(&said);
        assert_eq!(found, Some(kind), "{poll}: {message}");
        assert!(message.contains(says), "{poll}: {message}");
    }
}

#[test]
fn keys_of_a_reply_that_do_not_go_together_are_refused() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let done = json!("$.done");
    for (more, says) in [
        (json!({ "reply": { "delta": "$.d", "join": " ", "cumulative": true } }), "`reply.join` goes between pieces"),
        (json!({ "reply": { "text": "$.t", "cumulative": true } }), "are for the pieces of `reply.delta`"),
        (
            json!({ "poll": { "done": done, "url": "http://h", "location": "$.l" } }),
            "`poll.location` cannot be used with `url`",
        ),
        (json!({ "poll": { "done": done, "every_ms": 10 } }), "`poll.every_ms` is below 50"),
        (json!({ "poll": { "done": done, "url": "http://h/{{ remembered.run }}" } }), "url"),
        (
            json!({ "oauth": { "token_url": "http://h", "client_id": "c", "client_secret": "env:CARGO_PKG_NAME" }, "key": "env:CARGO_PKG_NAME" }),
            "http.oauth cannot be used with `key`",
        ),
        (
            json!({ "oauth": { "token_url": "h", "client_id": "c", "client_secret": "env:CARGO_PKG_NAME" } }),
            "token_url cannot be read",
        ),
    ] {
        let written = settings(agent("http://127.0.0.1:9/chat", more.clone()));
        let error = agent::connect("shop", &written, &surroundings()).expect_err("refused");
        let mut shown = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            shown = format!("{shown}: {cause}");
            source = cause.source();
        }
        assert!(shown.contains(says), "{more}: {shown}");
    }
}
