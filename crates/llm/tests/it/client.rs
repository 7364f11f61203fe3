//! The client's results for every kind of answer.

use std::time::Duration;

use llm::{
    Chat, Context, Error, FunctionCall, Message,
    chat::{Finish, Reply, Request},
    endpoint,
    retry::Policy,
};
use serde_json::json;

use super::bad_server::{Answer, Server, nobody, resetting};

fn settings(url: &str, more: serde_json::Value) -> endpoint::Settings {
    let mut settings = json!({ "url": url, "model": "asked", "timeout_ms": 20_000, "trace": true, "retries": { "tries": 1, "deadline_ms": 0 } });
    settings.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    serde_json::from_value(settings).expect("settings")
}

fn open(url: &str, more: serde_json::Value) -> std::sync::Arc<dyn Chat> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    endpoint::Endpoint::open("main", &settings(url, more)).expect("an endpoint").chat(Policy::model())
}

fn request() -> Request {
    let context = Context {
        role: "judge".into(),
        run: "r1".into(),
        scenario: "Rückgabe 100 %".into(),
        persona: "angry customer".into(),
        conversation: "t1".into(),
        trial: "t".into(),
        attempt: 0,
        case: String::new(),
        turn: 2,
        call: 1,
        idempotency_key: "r1/t1/2/1".into(),
        try_number: 0,
        tools_url: String::new(),
        mcp_url: String::new(),
        vars: None,
        trace: None,
        cue: None,
    };
    Request {
        messages: vec![Message::user("hello")],
        max_tokens: Some(50),
        seed: Some(7),
        context,
        ..Request::default()
    }
}

async fn ask(answer: Answer, more: serde_json::Value) -> Result<Reply, Error> {
    let server = Server::start(vec![answer]).await;
    open(&server.url, more).ask(&request()).await
}

/// The class of a result, with the fields that matter.
fn named(outcome: &Result<Reply, Error>) -> String {
    match outcome {
        Ok(reply) => format!("ok {}", reply.text),
        Err(Error::Refused { status, .. }) => format!("refused {status}"),
        Err(Error::Throttled { after, .. }) => format!("throttled {after:?}"),
        Err(Error::TimedOut { limit, .. }) => format!("timed out {limit:?}"),
        Err(Error::Malformed { partial, .. }) => format!("malformed [{partial}]"),
        Err(Error::Unreachable { status, sent, .. }) => format!("unreachable {status:?} {sent}"),
        Err(Error::OutOfResources { sent, .. }) => format!("out of resources {sent}"),
        Err(Error::Exhausted { .. }) => "exhausted".to_owned(),
        Err(Error::NoMoney { .. }) => "no money".to_owned(),
        Err(Error::Unwritable { .. }) => "unwritable".to_owned(),
        Err(Error::Unsupported { parameter, .. }) => format!("unsupported {parameter}"),
        Err(Error::NoKey { .. }) => "no key".to_owned(),
        Err(Error::NotRecorded { .. }) => "not recorded".to_owned(),
    }
}

#[tokio::test]
async fn a_whole_reply() {
    let server = Server::start(vec![Answer::says("good day")]).await;
    let model = open(&server.url, json!({ "headers": { "x-team": "qa" } }));
    let reply = model.ask(&request()).await.expect("a reply");
    assert_eq!((&*reply.text, &*reply.receipt.model, reply.finish), ("good day", "served", Finish::Stop));
    assert_eq!((reply.receipt.usage.input, reply.receipt.usage.output, reply.receipt.usage.estimated), (11, 7, false));
    assert_eq!((reply.receipt.tries, reply.receipt.cost_nanos, reply.receipt.timing.first_token), (1, None, None));
    assert!(reply.receipt.timing.total > Duration::ZERO && reply.receipt.timing.wait < Duration::from_millis(50));

    let calls = server.calls.lock().unwrap();
    assert_eq!(calls[0].path, "/v1/chat/completions");
    assert_eq!(
        calls[0].body,
        json!({ "model": "asked", "messages": [{ "role": "user", "content": "hello" }], "max_tokens": 50, "seed": 7 })
    );
    assert_eq!(llm::http::headers::read(&calls[0].headers), request().context);
    assert_eq!(calls[0].method, "POST");
    assert_eq!(calls[0].headers["x-team"], "qa");
    assert_eq!(calls[0].headers["content-type"], "application/json");
    assert!(calls[0].headers["user-agent"].to_str().expect("text").starts_with("gabfest/"));
    assert!(!calls[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_streamed_reply() {
    let answer = Answer::events(&[
        "data: {\"model\":\"served\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"go\"}}]}\n\ndata: {\"choices\":[{\"del",
        "ta\":{\"content\":\"od\"}}]}\n\n: ping\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n",
        "data: [DONE]\n\n",
    ])
    .after(Duration::ZERO, Duration::from_millis(30));
    let server = Server::start(vec![answer]).await;
    let model = open(&server.url, json!({ "stream": true }));
    for _ in 0..2 {
        let reply = model.ask(&request()).await.expect("a reply");
        assert_eq!((&*reply.text, &*reply.receipt.model, reply.finish), ("good", "served", Finish::Stop));
        assert_eq!(
            (reply.receipt.usage.input, reply.receipt.usage.output, reply.receipt.usage.estimated),
            (5, 2, false)
        );
        let (first, between) = (
            reply.receipt.timing.first_token.expect("streamed"),
            reply.receipt.timing.inter_token.expect("two pieces"),
        );
        assert!(first >= Duration::from_millis(55) && between >= Duration::from_millis(20), "{reply:?}");
        assert!(reply.receipt.timing.total >= first + between + Duration::from_millis(80), "{reply:?}");
    }
    let calls = server.calls.lock().unwrap();
    assert_eq!(
        (&calls[0].body["stream"], &calls[0].body["stream_options"]["include_usage"]),
        (&json!(true), &json!(true))
    );
}

#[tokio::test]
async fn tool_calls_in_pieces_and_actions() {
    let answer = Answer::events(&[
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"find\",\"arguments\":\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"q\\\":\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"actions\":[\"LOOK\"],\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
    ]);
    let reply = ask(answer, json!({ "stream": true })).await.expect("a reply");
    assert_eq!(
        reply.tool_calls,
        [FunctionCall { id: "c1".into(), name: "find".into(), arguments: "{\"q\":1}".into() }]
    );
    assert_eq!(reply.actions, ["LOOK"]);
    assert!(reply.receipt.usage.estimated && reply.receipt.usage.output > 0);
}

#[tokio::test]
async fn answers_that_go_wrong() {
    let piece = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";
    let html = "<html><body>Bad gateway</body></html>";
    let large = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(100_000));
    let long_partial = format!("malformed [{}]", "x".repeat(4_096));
    let blank_partial = long_partial.replace('x', " ");
    let huge = || Answer::new(200, "application/json", vec![b' '; 3 << 20]);
    let ok = json!({ "choices": [{ "message": { "content": "x" } }] });
    let rows: Vec<(&str, Answer, bool, &str)> = vec![
        ("HTML", Answer::new(200, "text/html", html), false, "malformed [<html><body>Bad gateway</body></html>]"),
        (
            "HTML to a stream",
            Answer::new(200, "text/html", html),
            true,
            "malformed [<html><body>Bad gateway</body></html>]",
        ),
        (
            "HTML that claims to be JSON",
            Answer::new(200, "application/json", html),
            false,
            "malformed [<html><body>Bad gateway</body></html>]",
        ),
        (
            "plain text",
            Answer::new(200, "text/plain", ok.to_string()),
            false,
            "malformed [{\"choices\":[{\"message\":{\"content\":\"x\"}}]}]",
        ),
        ("an empty body", Answer::new(200, "application/json", ""), false, "malformed []"),
        ("an empty stream", Answer::events(&[""]), true, "malformed []"),
        ("nothing but the end", Answer::events(&["data: [DONE]\n\n"]), true, "malformed []"),
        ("204", Answer::new(204, "", ""), false, "malformed []"),
        ("no choices", Answer::json(200, &json!({ "choices": [] })), false, "malformed [{\"choices\":[]}]"),
        (
            "half a body",
            Answer::new(200, "application/json", "{\"choices\":[").breaking(),
            false,
            "malformed [{\"choices\":[]",
        ),
        ("half a stream that ends", Answer::events(&[piece]), true, "malformed [half]"),
        ("half a stream that breaks", Answer::events(&[piece, "data: {\"ch"]).breaking(), true, "malformed [half]"),
        ("half an event", Answer::events(&[piece, "data: {\"ch"]), true, "malformed [half]"),
        ("garbage in a stream", Answer::events(&[piece, "data: garbage\n\n"]), true, "malformed [half]"),
        ("binary in a stream", Answer::events(&[piece, "data: \u{0}\u{1}\u{fffd}\n\n"]), true, "malformed [half]"),
        (
            "an error in a stream",
            Answer::events(&[piece, "data: {\"error\":{\"message\":\"overloaded\"}}\n\n"]),
            true,
            "malformed [half]",
        ),
        (
            "no quota in a stream",
            Answer::events(&[piece, "data: {\"error\":{\"code\":\"insufficient_quota\"}}\n\n"]),
            true,
            "exhausted",
        ),
        ("a line without end", Answer::events(&[piece, "data: ", &"x".repeat(300 << 10)]), true, "malformed [half]"),
        ("an endless reply", Answer::events(&[&*large; 12]), true, &long_partial),
        ("a body of 3 MiB", huge(), false, &blank_partial),
        (
            "an error of 3 MiB",
            Answer::new(500, "application/json", vec![b'x'; 3 << 20]),
            false,
            "unreachable Some(500) true",
        ),
        ("a redirect", Answer::new(302, "", "").header("location", "http://127.0.0.1:1/"), false, "refused 302"),
        ("400", Answer::json(400, &json!({ "error": { "message": "no" } })), false, "refused 400"),
        ("401", Answer::new(401, "", ""), false, "refused 401"),
        ("403", Answer::new(403, "text/html", html), false, "refused 403"),
        ("404", Answer::new(404, "text/html", html), false, "refused 404"),
        ("402", Answer::new(402, "", ""), false, "exhausted"),
        ("429", Answer::new(429, "", ""), false, "throttled None"),
        ("429 in seconds", Answer::new(429, "", "").header("retry-after", "7"), false, "throttled Some(7s)"),
        (
            "429 in milliseconds",
            Answer::new(429, "", "").header("retry-after-ms", "250"),
            true,
            "throttled Some(250ms)",
        ),
        (
            "429 in Go's words",
            Answer::new(429, "", "")
                .header("x-ratelimit-remaining-tokens", "0")
                .header("x-ratelimit-reset-tokens", "6m0s"),
            false,
            "throttled Some(60s)",
        ),
        (
            "429 until a date",
            Answer::new(429, "", "")
                .header("date", "Wed, 21 Oct 2026 07:28:00 GMT")
                .header("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"),
            false,
            "throttled Some(30s)",
        ),
        (
            "429 without money",
            Answer::json(429, &json!({ "error": { "code": "insufficient_quota" } })),
            false,
            "exhausted",
        ),
        ("500", Answer::new(500, "", ""), false, "unreachable Some(500) true"),
        ("529", Answer::new(529, "", ""), true, "unreachable Some(529) true"),
        (
            "too late a head",
            Answer::says("late").after(Duration::from_secs(9), Duration::ZERO),
            false,
            "timed out 300ms",
        ),
        (
            "too late a body",
            Answer::says("late").after(Duration::ZERO, Duration::from_secs(9)),
            false,
            "timed out 300ms",
        ),
        (
            "a slow drip",
            Answer::events(&[": ping\n\n"; 99]).after(Duration::ZERO, Duration::from_millis(100)),
            true,
            "timed out 300ms",
        ),
        // Against the letter of the protocol, and understood.
        (
            "late but in time",
            Answer::says("late").after(Duration::from_millis(200), Duration::from_millis(200)),
            false,
            "ok late",
        ),
        ("JSON though a stream was asked for", Answer::says("whole"), true, "ok whole"),
        ("a stream though none was asked for", Answer::events(&[piece, "data: [DONE]\n\n"]), false, "ok half"),
        ("no content type", Answer::new(200, "", ok.to_string()), false, "ok x"),
        ("another JSON", Answer::new(200, "application/problem+json; charset=utf-8", ok.to_string()), false, "ok x"),
        (
            "a stream without the end mark",
            Answer::events(&[piece, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}"]),
            true,
            "ok half",
        ),
        ("an end mark without a reason", Answer::events(&[piece, "data: [DONE]"]), true, "ok half"),
    ];
    for (what, answer, stream, expected) in rows {
        // Only calls that should time out get little time: a busy machine is slow.
        let timeout_ms = if expected.starts_with("timed out") { 300 } else { 20_000 };
        let outcome = ask(answer, json!({ "stream": stream, "timeout_ms": timeout_ms })).await;
        assert_eq!(named(&outcome), expected, "{what}: {outcome:?}");
    }
}

#[tokio::test]
async fn servers_that_are_not_there() {
    let model = open(&nobody().await, json!({}));
    assert_eq!(named(&model.ask(&request()).await), "unreachable None false");
    let model = open("http://no-such-host.invalid/v1", json!({}));
    assert_eq!(named(&model.ask(&request()).await), "unreachable None false");
    let model = open(&resetting().await, json!({}));
    assert_eq!(named(&model.ask(&request()).await), "unreachable None true");
}

#[tokio::test]
async fn a_fault_that_passes_is_tried_again() {
    let script = vec![
        Answer::new(500, "", ""),
        Answer::new(429, "", "").header("retry-after-ms", "20"),
        Answer::new(200, "text/html", "<html>"),
        Answer::says("at last"),
    ];
    let server = Server::start(script).await;
    let model = open(
        &server.url,
        json!({
            "retries": { "tries": 5 }, "price": { "input_per_million": 1, "output_per_million": 2 },
        }),
    );
    let reply = model.ask(&request()).await.expect("a reply");
    assert_eq!((&*reply.text, reply.receipt.tries, reply.receipt.cost_nanos), ("at last", 4, Some(11_000 + 14_000)));
    // The 500 and the web page, whose prices are unknown.
    assert_eq!(reply.receipt.lost_tries, 2);
    let calls = server.calls.lock().unwrap();
    let tries: Vec<u32> = calls.iter().map(|call| llm::http::headers::read(&call.headers).try_number).collect();
    assert_eq!(tries, [0, 1, 2, 3]);
    assert!(calls.iter().all(|call| call.headers["idempotency-key"] == "r1/t1/2/1"));
    // The latency is that of the last try.
    assert!(reply.receipt.timing.total < Duration::from_millis(500), "{reply:?}");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    for stream in [false, true] {
        let answer = if stream {
            Answer::events(&["data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n", "data: [DONE]\n\n"])
        } else {
            Answer::says("x")
        };
        let server = Server::start(vec![answer]).await;
        let model = open(&server.url, json!({ "stream": stream }));
        let mut slowest = Duration::ZERO;
        for nth in 0..50 {
            let timing = model.ask(&request()).await.expect("a reply").receipt.timing;
            assert_eq!(timing.connect.is_some(), nth == 0, "only the first call connects: {timing:?}");
            slowest = slowest.max(timing.total);
        }
        let mut peers: Vec<String> = server.calls.lock().unwrap().iter().map(|call| call.peer.to_string()).collect();
        peers.dedup();
        assert_eq!(peers.len(), 1, "stream {stream}, slowest {slowest:?}");
    }
}

/// Some servers close a connection after an answer without announcing it, just as the next call is sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_kept_connection_that_was_closed_is_no_fault() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut bytes = vec![0; 65_536];
                let _ = stream.read(&mut bytes).await;
                let body = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
                // The next call is read and never answered.
                let _ = stream.read(&mut bytes).await;
            });
        }
    });
    // With one try a fault could not hide behind another.
    let model = open(&url, json!({}));
    for _ in 0..6 {
        let reply = model.ask(&request()).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.receipt.tries), ("hi", 1));
    }
}
