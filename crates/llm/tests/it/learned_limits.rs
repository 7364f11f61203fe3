//! The limits that a provider names in its answers hold for the calls that follow.

use std::{num::NonZeroU64, time::Duration};

use llm::{Allowed, Call as _, Message, chat::Request, endpoint::Endpoint, retry::Policy};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    bad_server::{Answer, Server},
    credentials::add,
};

async fn endpoint(answers: Vec<Answer>, more: Value) -> (Server, Endpoint) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::start(answers).await;
    let mut settings = json!({ "url": server.url, "timeout_ms": 20_000 });
    add(&mut settings, &more);
    let settings = serde_json::from_value(settings).expect("settings");
    let endpoint = Endpoint::open("main", &settings).expect("opens");
    (server, endpoint)
}

fn request() -> Request {
    Request { messages: vec![Message::user("hello")], max_tokens: Some(1), ..Request::default() }
}

/// Answers of a window of 4 requests, with what remains of it and when it is empty.
fn window(answers: &[(&str, &str)]) -> Vec<Answer> {
    let answer = |(remaining, reset): &(&str, &str)| {
        Answer::says("hi")
            .header("x-ratelimit-limit-requests", "4")
            .header("x-ratelimit-remaining-requests", remaining)
            .header("x-ratelimit-reset-requests", reset)
    };
    answers.iter().map(answer).collect()
}

const STEADY: [(&str, &str); 4] = [("3", "15s"), ("2", "30s"), ("1", "45s"), ("2", "30s")];

#[tokio::test]
async fn calls_wait_for_a_limit_that_answers_prove() {
    let (server, endpoint) = endpoint(window(&STEADY), json!({})).await;
    let model = endpoint.chat(Policy::model());
    for learned in [None, None, None, NonZeroU64::new(4), NonZeroU64::new(4)] {
        let receipt = model.ask(&request()).await.expect("answers").receipt;
        assert_eq!((receipt.learned.requests, endpoint.limit().learned().requests), (learned, learned));
    }
    // The limit comes with the fourth answer, so the fifth call is the first that counts.
    assert!(timeout(Duration::from_millis(300), model.ask(&request())).await.is_err(), "it waits 15 seconds");
    assert_eq!(server.calls.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn an_endpoint_that_does_not_learn_is_not_slowed() {
    let (_server, endpoint) = endpoint(window(&STEADY), json!({ "limits": { "learn": false } })).await;
    let model = endpoint.chat(Policy::model());
    for _ in 0..12 {
        let receipt = model.ask(&request()).await.expect("answers").receipt;
        assert!(receipt.timing.wait < Duration::from_secs(1) && receipt.learned == Allowed::default(), "{receipt:?}");
    }
}

/// Of 10 seconds: for a while it looks as if it were a minute.
#[tokio::test]
async fn a_fixed_window_of_a_few_seconds_is_not_taken_for_a_minute() {
    let (_server, endpoint) = endpoint(window(&[("3", "10s"), ("3", "9.9s"), ("2", "9.8s")]), json!({})).await;
    let model = endpoint.chat(Policy::model());
    for _ in 0..12 {
        let wait = model.ask(&request()).await.expect("answers").receipt.timing.wait;
        assert!(wait < Duration::from_secs(1), "{wait:?}");
    }
    assert_eq!(endpoint.limit().learned(), Allowed::default());
}

#[tokio::test]
async fn a_window_that_is_no_minute_teaches_nothing() {
    let answer = Answer::says("hi")
        .header("x-ratelimit-limit-requests", "2")
        .header("x-ratelimit-remaining-requests", "1")
        .header("x-ratelimit-reset-requests", "12h");
    let (_server, endpoint) = endpoint(vec![answer], json!({})).await;
    let model = endpoint.chat(Policy::model());
    for _ in 0..4 {
        let wait = model.ask(&request()).await.expect("answers").receipt.timing.wait;
        assert!(wait < Duration::from_secs(1), "{wait:?}");
    }
    assert_eq!(endpoint.limit().learned(), Allowed::default());
}
