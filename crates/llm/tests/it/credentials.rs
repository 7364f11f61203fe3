//! Keys that change while gabfest runs: files that are replaced, and OAuth tokens.

use std::{path::PathBuf, sync::Arc};

use llm::{Chat, Error, Message, chat::Request, endpoint::Endpoint, retry::Policy};
use serde_json::{Value, json};

use super::bad_server::{Answer, Call, Server, nobody};

/// Cargo sets this variable for every test; its value plays the client's secret.
const SECRET: &str = "env:CARGO_PKG_NAME";

/// Adds keys to settings.
pub(crate) fn add(settings: &mut Value, more: &Value) {
    let (settings, more) = settings.as_object_mut().zip(more.as_object()).expect("objects");
    settings.extend(more.clone());
}

fn open(value: Value) -> Arc<dyn Chat> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut settings = json!({ "timeout_ms": 20_000, "retries": { "tries": 1, "deadline_ms": 0 } });
    add(&mut settings, &value);
    let settings = serde_json::from_value(settings).expect("settings");
    Endpoint::open("main", &settings).expect("opens").chat(Policy::model())
}

async fn ask(model: &dyn Chat) -> Result<String, Error> {
    let request = Request { messages: vec![Message::user("hello")], ..Request::default() };
    model.ask(&request).await.map(|reply| reply.text)
}

fn oauth(url: &str, tokens: &str, more: Value) -> Value {
    let mut oauth = json!({ "token_url": format!("{tokens}/token"), "client_id": "gab fest", "client_secret": SECRET });
    add(&mut oauth, &more);
    json!({ "url": url, "oauth": oauth })
}

fn token(name: &str, expires_in: u64) -> Answer {
    Answer::json(200, &json!({ "access_token": name, "token_type": "Bearer", "expires_in": expires_in }))
}

fn refused() -> Answer {
    Answer::json(401, &json!({ "error": { "message": "bad key" } }))
}

fn header<'a>(call: &'a Call, name: &str) -> &'a str {
    call.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn keys(server: &Server) -> Vec<String> {
    server
        .calls
        .lock()
        .expect("no test has panicked")
        .iter()
        .map(|call| header(call, "authorization").to_owned())
        .collect()
}

/// A file of this test.
fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("gabfest-credentials-{}-{name}", std::process::id()));
    std::fs::write(&path, text).expect("the file is written");
    path
}

#[tokio::test]
async fn a_key_that_is_rotated_is_read_again_when_the_server_refuses_the_old_one() {
    let path = file("rotated", "old-key");
    let server = Server::start(vec![Answer::says("one"), refused(), Answer::says("two"), refused()]).await;
    let model = open(json!({ "url": server.url, "key": format!("file:{}", path.display()) }));
    assert_eq!(ask(&*model).await.unwrap(), "one");
    std::fs::write(&path, "new-key").unwrap();
    assert_eq!(ask(&*model).await.unwrap(), "two", "a 401 with the old key is no failure");
    // The same key would be refused again, so the error is about the settings.
    let error = ask(&*model).await.expect_err("refused");
    assert!(error.is_of_settings(), "{error}");
    assert_eq!(keys(&server), ["Bearer old-key", "Bearer old-key", "Bearer new-key", "Bearer new-key"]);
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn the_header_of_the_kind_carries_a_key_of_a_file() {
    let path = file("kind", "the-key");
    let server = Server::start(vec![refused()]).await;
    let model = open(
        json!({ "kind": "anthropic", "model": "m", "url": server.url, "key": format!("file:{}", path.display()) }),
    );
    ask(&*model).await.expect_err("refused");
    let calls = server.calls.lock().unwrap();
    assert_eq!((header(&calls[0], "x-api-key"), header(&calls[0], "authorization")), ("the-key", ""));
    assert_eq!(calls.len(), 1, "the file has no other key");
    drop(calls);
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_token_is_asked_for_once_and_kept() {
    let server = Server::start(vec![Answer::says("hi")]).await;
    let tokens = Server::start(vec![token("t-1", 3_600)]).await;
    let more = json!({ "scope": "chat read", "params": { "audience": "https://api" } });
    let model = open(oauth(&server.url, &tokens.url, more));
    let asked = (0..12).map(|_| {
        let model = Arc::clone(&model);
        tokio::spawn(async move { ask(&*model).await.unwrap() })
    });
    for answer in asked.collect::<Vec<_>>() {
        assert_eq!(answer.await.unwrap(), "hi");
    }
    assert_eq!(keys(&server), vec!["Bearer t-1"; 12]);
    let calls = tokens.calls.lock().unwrap();
    assert_eq!(calls.len(), 1, "one call at a time asks");
    // Name and secret are encoded as in a form, and then in base64: "gab+fest:gabfest-llm".
    assert_eq!(header(&calls[0], "authorization"), "Basic Z2FiK2Zlc3Q6Z2FiZmVzdC1sbG0=");
    assert_eq!(header(&calls[0], "content-type"), "application/x-www-form-urlencoded");
    assert_eq!(calls[0].path, "/v1/token");
    assert_eq!(calls[0].body, json!("grant_type=client_credentials&scope=chat+read&audience=https%3A%2F%2Fapi"));
}

#[tokio::test]
async fn a_token_that_expires_is_renewed_and_one_that_is_refused_is_renewed_once() {
    let server = Server::start(vec![Answer::says("one"), refused(), Answer::says("two"), refused(), refused()]).await;
    // The first token is as good as expired when it comes.
    let tokens =
        Server::start(vec![token("t-1", 0), token("t-2", 3_600), token("t-3", 3_600), token("t-4", 3_600)]).await;
    let model = open(oauth(&server.url, &tokens.url, json!({})));
    assert_eq!(ask(&*model).await.unwrap(), "one");
    assert_eq!(ask(&*model).await.unwrap(), "two", "t-2 is refused, t-3 is not");
    let error = ask(&*model).await.expect_err("refused twice");
    assert!(error.is_of_settings() && error.to_string().contains("401"), "{error}");
    assert_eq!(keys(&server), ["Bearer t-1", "Bearer t-2", "Bearer t-3", "Bearer t-3", "Bearer t-4"]);
    assert_eq!(tokens.calls.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_server_that_wants_the_secret_in_the_body_gets_it_there_from_then_on() {
    let server = Server::start(vec![Answer::says("hi")]).await;
    let refuses = Answer::json(400, &json!({ "error": "invalid_request" }));
    let tokens = Server::start(vec![refuses, token("t-1", 0), token("t-2", 0)]).await;
    let model = open(oauth(&server.url, &tokens.url, json!({})));
    assert_eq!((ask(&*model).await.unwrap(), ask(&*model).await.unwrap()), ("hi".to_owned(), "hi".to_owned()));
    assert_eq!(keys(&server), ["Bearer t-1", "Bearer t-2"]);
    let calls = tokens.calls.lock().unwrap();
    let in_body = "grant_type=client_credentials&client_id=gab+fest&client_secret=gabfest-llm";
    let sent: Vec<_> = calls.iter().map(|call| (header(call, "authorization").is_empty(), &call.body)).collect();
    assert_eq!(
        sent,
        [(false, &json!("grant_type=client_credentials")), (true, &json!(in_body)), (true, &json!(in_body))]
    );
}

#[tokio::test]
async fn a_token_that_cannot_be_had_is_a_fault_of_the_settings_and_shows_no_secret() {
    let server = Server::start(vec![Answer::says("never")]).await;
    let echo = |status| {
        Answer::json(status, &json!({ "error": "invalid_client", "sent": "gabfest-llm Z2FiK2Zlc3Q6Z2FiZmVzdC1sbG0=" }))
    };
    let rows = [
        (vec![echo(401)], 2, "invalid_client"),
        (vec![echo(403)], 1, "invalid_client"),
        (vec![echo(500)], 3, "status 500"),
        (vec![echo(503), token("mac-token", 9)], 2, ""),
        (vec![Answer::json(200, &json!({ "access_token": 7 }))], 1, "no `access_token`"),
        (vec![Answer::json(200, &json!({ "access_token": "a", "token_type": "mac" }))], 1, "bearer"),
        (vec![Answer::new(302, "", "").header("location", "http://127.0.0.1:9/login")], 1, "redirects"),
    ];
    for (script, asked, says) in rows {
        let shown = format!("{script:?}");
        let tokens = Server::start(script).await;
        let answer = ask(&*open(oauth(&server.url, &tokens.url, json!({})))).await;
        assert_eq!(tokens.calls.lock().unwrap().len(), asked, "{shown}");
        if says.is_empty() {
            answer.expect("the second try has a token");
            continue;
        }
        let error = answer.expect_err("no token");
        assert!(error.is_of_settings() && !error.may_have_been_charged(), "{error}");
        let error = error.to_string();
        assert!(error.contains(says) && error.contains("check `oauth`"), "{shown}: {error}");
        assert!(!error.contains("gabfest-llm") && !error.contains("Z2FiK2Zlc3"), "{error}");
    }
    let error = ask(&*open(oauth(&server.url, &nobody().await, json!({})))).await.expect_err("no token");
    assert!(error.is_of_settings() && error.to_string().contains("check `oauth`"), "{error}");
    assert_eq!(keys(&server), ["Bearer mac-token"], "nothing is sent without a token");
}

#[tokio::test]
async fn calls_to_bedrock_are_signed_with_an_access_key() {
    let answer = json!({
        "output": { "message": { "role": "assistant", "content": [{ "text": "hi" }] } }, "stopReason": "end_turn",
        "usage": { "inputTokens": 1, "outputTokens": 1, "totalTokens": 2 },
    });
    let server =
        Server::start(vec![Answer::json(200, &answer), Answer::json(403, &json!({ "message": "gabfest-llm 0.1" }))])
            .await;
    let aws = json!({
        "access_key_id": "env:CARGO_PKG_NAME", "secret_access_key": SECRET, "session_token": "env:CARGO_PKG_NAME",
        "region": "eu-central-1",
    });
    let url = server.url.trim_end_matches("/v1");
    let model = open(json!({ "kind": "bedrock", "url": url, "model": "eu.m-v1:0", "aws": aws }));
    assert_eq!(ask(&*model).await.unwrap(), "hi");
    let error = ask(&*model).await.expect_err("refused");
    assert!(error.is_of_settings() && !error.to_string().contains("gabfest-llm"), "{error}");
    let calls = server.calls.lock().unwrap();
    assert_eq!(calls[0].path, "/model/eu.m-v1%3A0/converse");
    let line = header(&calls[0], "authorization");
    assert!(line.starts_with("AWS4-HMAC-SHA256 Credential=gabfest-llm/"), "{line}");
    let names = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(line.contains("/eu-central-1/bedrock/aws4_request, ") && line.contains(names), "{line}");
    assert_eq!(header(&calls[0], "x-amz-security-token"), "gabfest-llm");
}

#[test]
fn an_access_key_that_cannot_be_meant_is_refused_with_the_settings() {
    let fault = |value: Value| {
        let settings: llm::endpoint::Settings = serde_json::from_value(value).expect("settings");
        settings.fault().map(|(key, reason)| format!("{key} {reason}")).unwrap_or_default()
    };
    let aws = json!({ "access_key_id": "env:A", "secret_access_key": "env:B" });
    let at = "https://bedrock-runtime.eu-central-1.amazonaws.com";
    assert_eq!(fault(json!({ "kind": "bedrock", "model": "m", "url": at, "aws": aws })), "");
    for (value, says) in [
        (json!({ "kind": "anthropic", "model": "m", "aws": aws }), "aws is for kind `bedrock`"),
        (json!({ "kind": "bedrock", "model": "m", "url": at, "aws": aws, "key": "env:K" }), "aws cannot be used with"),
        (json!({ "kind": "bedrock", "model": "m", "url": "https://h", "aws": aws }), "names no `region`"),
        (
            json!({ "url": "https://h", "key": "env:K", "oauth": { "token_url": "https://h", "client_id": "c", "client_secret": "env:S" } }),
            "oauth cannot be used with `key`",
        ),
    ] {
        assert!(fault(value.clone()).contains(says), "{value}: {}", fault(value.clone()));
    }
}
