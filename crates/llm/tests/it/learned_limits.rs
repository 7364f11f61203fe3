//! The limits that a provider names in its answers hold for the calls that follow.

use std::{num::NonZeroU64, time::Duration};

use llm::{Allowed, Call as _, Message, chat::Request, endpoint::Endpoint, retry::Policy};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    bad_server::{Answer, Server},
    credentials::add,
};

async fn endpoint(answer: Answer, more: Value) -> (Server, Endpoint) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::start(vec![answer]).await;
    let mut settings = json!({ "url": server.url, "timeout_ms": 20_000 });
    add(&mut settings, &more);
    let settings = serde_json::from_value(settings).expect("settings");
    let endpoint = Endpoint::open("main", &settings).expect("opens");
    (server, endpoint)
}

fn request() -> Request {
    Request { messages: vec![Message::user("hello")], max_tokens: Some(1), ..Request::default() }
}

#[tokio::test]
async fn calls_wait_for_a_limit_that_an_answer_named() {
    let answer = Answer::says("hi")
        .header("x-ratelimit-limit-requests", "4")
        .header("x-ratelimit-remaining-requests", "3")
        .header("x-ratelimit-reset-requests", "15s");
    let (server, endpoint) = endpoint(answer, json!({})).await;
    let model = endpoint.chat(Policy::model());
    assert_eq!(endpoint.limit().allowed(), Allowed::default());
    // The limit comes with the first answer, so the second call is the first that counts.
    for _ in 0..2 {
        model.ask(&request()).await.expect("answers");
    }
    assert_eq!(endpoint.limit().allowed().requests, NonZeroU64::new(4));
    assert!(timeout(Duration::from_millis(300), model.ask(&request())).await.is_err(), "it waits 15 seconds");
    assert_eq!(server.calls.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_window_that_is_no_minute_teaches_nothing() {
    let answer = Answer::says("hi")
        .header("x-ratelimit-limit-requests", "2")
        .header("x-ratelimit-remaining-requests", "1")
        .header("x-ratelimit-reset-requests", "12h");
    let (_server, endpoint) = endpoint(answer, json!({})).await;
    let model = endpoint.chat(Policy::model());
    for _ in 0..4 {
        let wait = model.ask(&request()).await.expect("answers").receipt.timing.wait;
        assert!(wait < Duration::from_secs(1), "{wait:?}");
    }
    assert_eq!(endpoint.limit().allowed(), Allowed::default());
}
