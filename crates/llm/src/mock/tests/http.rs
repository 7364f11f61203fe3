//! The mock behind a socket, asked by our own client.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

use super::{ask, request};
use crate::{
    Call as _, Chat, Error, Message,
    chat::Request,
    endpoint::{self, Kind},
    measure::{self, Embed, Moderate},
    mock::{Behaviour, Delay, Mock, RateLimit, UNHELPFUL, server},
    retry::Policy,
};

pub(super) struct Server {
    pub(super) address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Server {
    pub(super) async fn start(behaviour: Behaviour) -> Self {
        Self::start_with(behaviour, Default::default()).await
    }

    async fn start_with(behaviour: Behaviour, extras: server::Extras) -> Self {
        // A second installation is refused, and the first one is good enough.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (stop, stopped) = oneshot::channel();
        let running =
            tokio::spawn(server::serve(listener, behaviour, extras, async { stopped.await.unwrap_or_default() }));
        Self { address, stop, running }
    }

    fn client(&self, stream: bool) -> std::sync::Arc<dyn Chat> {
        self.endpoint(stream).chat(Policy::model())
    }

    fn endpoint(&self, stream: bool) -> endpoint::Endpoint {
        let settings = endpoint::Settings {
            kind: Kind::Openai,
            url: Some(format!("http://{}/v1", self.address)),
            model: Some("mock".to_owned()),
            stream,
            trace: true,
            retries: endpoint::Retries { tries: 1, deadline_ms: 0 },
            ..endpoint::Settings::default()
        };
        endpoint::Endpoint::open("served", &settings).expect("an endpoint")
    }

    /// (head, body) of a request written by hand.
    pub(super) async fn raw(&self, request: String) -> (String, String) {
        let mut socket = TcpStream::connect(self.address).await.expect("connects");
        socket.write_all(request.as_bytes()).await.expect("sends");
        let mut reply = Vec::new();
        socket.read_to_end(&mut reply).await.expect("reads");
        let reply = String::from_utf8(reply).expect("text");
        let (head, body) = reply.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    }

    async fn get(&self, path: &str) -> (String, String) {
        self.raw(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await
    }

    async fn post(&self, body: &str) -> (String, String) {
        let length = body.len();
        let path = "/v1/chat/completions";
        self.raw(format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ))
        .await
    }

    async fn stats(&self) -> Value {
        serde_json::from_str(&self.get("/stats").await.1).expect("JSON")
    }
}

fn questions() -> Vec<Request> {
    let mut with_plugins = request("agent", u64::MAX - 3, vec![Message::user("List open issues for elizaOS/eliza")]);
    with_plugins.extra.insert("plugins".to_owned(), json!(["@elizaos/plugin-github"]));
    let mut with_tool = request("agent", 4, vec![Message::user("What is the weather in Malmö?")]);
    with_tool.tools = vec![json!({ "type": "function", "function": { "name": "get_weather", "parameters": {
        "type": "object", "properties": { "city": { "type": "string" } } } } })];
    with_tool.context.scenario = "Wetter für Zoë, 100 %".to_owned();
    let profile = "Persona: polite\nObjective: get a refund";
    let user = request(
        "user_sim",
        7,
        vec![Message::system(profile), Message::assistant("Hi"), Message::user("Hello! Which order is it?")],
    );
    let judge = Request {
        schema: Some(json!({ "type": "object", "properties": { "judgment": { "enum": ["yes", "no"] } } })),
        ..request("judge", 9, vec![Message::user(format!("Good? {{\"agent\":\"{UNHELPFUL}\"}}"))])
    };
    vec![with_plugins, with_tool, user, judge]
}

#[tokio::test]
async fn the_same_answer_in_process_and_over_http() {
    let behaviour: Behaviour =
        serde_json::from_value(json!({ "pass": [{ "scenario": "Zoë", "probability": 0.5 }] })).unwrap();
    let server = Server::start(behaviour.clone()).await;
    for question in questions() {
        let expected = ask(&behaviour, &question).await;
        for stream in [false, true] {
            let reply = server.client(stream).ask(&question).await.expect("answers");
            assert_eq!(reply.text, expected.text, "streamed: {stream}");
            assert_eq!(reply.tool_calls, expected.tool_calls);
            assert_eq!(reply.actions, expected.actions);
            assert_eq!(reply.receipt.usage, expected.receipt.usage);
            assert_eq!(reply.finish, expected.finish);
        }
    }
}

#[tokio::test]
async fn stats_count_served_calls() {
    let server = Server::start(Behaviour { latency: Delay::constant(20.0), ..Behaviour::default() }).await;
    for (count, question) in questions().into_iter().enumerate() {
        server.client(count % 2 == 0).ask(&question).await.expect("answers");
    }
    server.post("{").await;
    let stats = server.stats().await;
    assert_eq!(stats["requests"], json!({ "agent": { "200": 2 }, "user_sim": { "200": 1 }, "judge": { "200": 1 } }));
    assert_eq!((&stats["bad_requests"], &stats["streams"], &stats["aborted"]), (&json!(1), &json!(2), &json!(0)));
    assert_eq!(stats["in_flight"], json!({ "now": 0, "max": 1 }));
    let latency = &stats["latency_ms"]["agent"];
    assert_eq!(latency["count"], 2);
    for figure in ["p50", "p99", "max", "mean"] {
        let ms = latency[figure].as_f64().expect("a number");
        assert!((20.0..2_000.0).contains(&ms), "{figure}: {ms}");
    }
    assert!(stats["tokens"]["judge"]["input"].as_u64() > Some(5));
}

#[tokio::test]
async fn the_file_of_calls_has_each_call_with_its_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("calls.jsonl");
    let extras = server::Extras {
        calls: Some((std::fs::File::create(&path).expect("a file"), 7_000_000)),
        ..Default::default()
    };
    let server = Server::start_with(Behaviour { error_rate: 0.5, ..Behaviour::default() }, extras).await;
    let mut expected = Vec::new();
    for turn in 1..=20_u32 {
        let mut question = request("agent", turn.into(), vec![Message::user("Hello")]);
        question.context.turn = turn;
        (question.context.trial, question.context.conversation) = ("t1".to_owned(), "night-t1-2-1".to_owned());
        let reply = server.client(turn % 2 == 0).ask(&question).await.ok();
        let (status, said) = (if reply.is_some() { 200 } else { 500 }, reply.as_ref().map(|reply| reply.text.clone()));
        let usage = reply.map(|reply| reply.receipt.usage).unwrap_or_default();
        expected.push(json!({
            "role": "agent", "run": question.context.run, "trial": "t1", "conversation": "night-t1-2-1", "turn": turn, "try": 0,
            "status": status, "said": said, "input_tokens": usage.input, "output_tokens": usage.output,
        }));
    }
    assert!(expected.iter().any(|call| call["said"].is_null()) && expected.iter().any(|call| !call["said"].is_null()));
    let text = std::fs::read_to_string(&path).expect("it is there");
    let mut found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let times: Vec<u64> = found
        .iter_mut()
        .map(|call| call.as_object_mut().and_then(|call| call.remove("at_micros")?.as_u64()).expect("a time"))
        .collect();
    assert!(times.is_sorted() && times.iter().all(|at| (7_000_000..67_000_000).contains(at)), "{times:?}");
    assert_eq!(found, expected);
}

#[tokio::test]
async fn streams_are_paced() {
    let behaviour =
        Behaviour { ttft: Delay::constant(30.0), inter_token: Delay::constant(2.0), ..Behaviour::default() };
    let server = Server::start(behaviour).await;
    let question = request("agent", 1, vec![Message::user("I forgot my password.")]);
    let reply = server.client(true).ask(&question).await.expect("answers");
    let pieces = reply.text.split_inclusive(' ').count();
    let first = reply.receipt.timing.first_token.expect("streamed");
    assert!(first >= Duration::from_millis(30) && first < reply.receipt.timing.total, "{:?}", reply.receipt.timing);
    assert!(reply.receipt.timing.total >= first + Duration::from_millis(pieces as u64), "{:?}", reply.receipt.timing);
    let stats = server.stats().await;
    let (ttft, latency) = (&stats["ttft_ms"]["agent"]["p50"], &stats["latency_ms"]["agent"]["p50"]);
    assert!(ttft.as_f64() >= Some(30.0) && ttft.as_f64() < latency.as_f64(), "{stats}");
}

#[tokio::test]
async fn configured_faults_occur() {
    let question = || request("agent", 1, vec![Message::user("Hello")]);
    let server =
        Server::start(Behaviour { rate_limit: RateLimit { rate: 1.0, retry_after_ms: 1_200 }, ..Behaviour::default() })
            .await;
    let (head, _) = server.post(r#"{"messages":[{"role":"user","content":"x"}]}"#).await;
    let head = head.to_lowercase();
    assert!(
        head.starts_with("http/1.1 429") && head.contains("retry-after: 2") && head.contains("retry-after-ms: 1200"),
        "{head}"
    );
    assert!(matches!(server.client(false).ask(&question()).await, Err(Error::Throttled { after: Some(_), .. })));
    let stats = server.stats().await;
    assert_eq!((&stats["throttled"], &stats["requests"]["agent"]["429"]), (&json!(2), &json!(2)));

    let server = Server::start(Behaviour { error_rate: 1.0, ..Behaviour::default() }).await;
    assert!(matches!(server.client(true).ask(&question()).await, Err(Error::Unreachable { status: Some(500), .. })));
    assert_eq!(server.stats().await["errors"], 1);

    let server = Server::start(Behaviour { malformed_rate: 1.0, ..Behaviour::default() }).await;
    for stream in [false, true] {
        assert!(matches!(server.client(stream).ask(&question()).await, Err(Error::Malformed { .. })), "{stream}");
    }
    assert_eq!(server.stats().await["malformed"], 2);
}

#[tokio::test]
async fn a_call_that_hangs_is_seen_and_does_not_hold_up_the_end() {
    let server = Server::start(Behaviour { hang_rate: 1.0, ..Behaviour::default() }).await;
    let client = server.client(false);
    let question = request("agent", 1, vec![Message::user("Hello")]);
    tokio::time::timeout(Duration::from_millis(300), client.ask(&question)).await.expect_err("hangs");
    let mut aborted = Value::Null;
    for _ in 0..200 {
        aborted = server.stats().await["aborted"].clone();
        if aborted == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(aborted, 1);
    let waiting = tokio::spawn(async move { client.ask(&question).await.is_err() });
    while server.stats().await["in_flight"]["now"] != 1 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.stop.send(()).expect("still running");
    tokio::time::timeout(Duration::from_secs(20), server.running).await.expect("ends").expect("no panic");
    waiting.abort();
}

#[tokio::test]
async fn the_small_pages() {
    let server = Server::start(Behaviour::default()).await;
    let (head, body) = server.get("/healthz").await;
    assert!(head.starts_with("HTTP/1.1 200") && body == "ok\n", "{head} {body}");
    let models: Value = serde_json::from_str(&server.get("/v1/models").await.1).expect("JSON");
    let names: Vec<&str> =
        models["data"].as_array().expect("list").iter().filter_map(|model| model["id"].as_str()).collect();
    assert_eq!(names, ["mock", "mock-agent", "mock-user", "mock-judge"]);
    let (head, body) =
        server.post(r#"{"model":"mock-judge","messages":[{"role":"user","content":"Good? yes or no"}]}"#).await;
    let reply: Value = serde_json::from_str(&body).expect("JSON");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(reply["choices"][0]["message"]["content"], "yes");
    assert_eq!(reply["model"], "mock-judge");
    assert_eq!(server.stats().await["requests"], json!({ "judge": { "200": 1 } }));
}

#[tokio::test]
async fn measures_over_the_wire_are_those_in_the_process() {
    let server = Server::start(Behaviour::default()).await;
    let (served, own) = (server.endpoint(true), Mock::new("mock", Behaviour::default()));
    let texts = ["cancel my order", "cancelled orders", "what a day, you idiot"].map(str::to_owned);

    let request = measure::Request::new(Moderate { text: texts[2].clone() });
    let far = served.moderations().ask(&request).await.expect("answers");
    let near = own.ask(&request).await.expect("answers");
    assert_eq!((&far.value, far.value.len()), (&near.value, 6));
    assert!(far.receipt.usage.estimated, "a moderation says nothing of tokens");

    let request = measure::Request::new(Embed { texts: texts.to_vec() });
    let far = served.embeddings().ask(&request).await.expect("answers");
    let near = own.ask(&request).await.expect("answers");
    assert_eq!((&far.value, far.value.len()), (&near.value, 3));
    assert_eq!(far.receipt.usage, near.receipt.usage);

    let stats = server.stats().await;
    assert_eq!(stats["requests"]["scorer"]["200"], 2, "{stats}");
}
