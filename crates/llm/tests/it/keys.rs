//! No error, and no printed value, contains a key.

use llm::{Chat, Error, Message, chat::Request, endpoint, retry::Policy};
use serde_json::json;

use super::bad_server::{Answer, Server, nobody, resetting};

/// Cargo sets this variable for every test; its value plays the key.
const REFERENCE: &str = "env:CARGO_MANIFEST_DIR";
const KEY: &str = env!("CARGO_MANIFEST_DIR");

#[tokio::test]
async fn no_error_has_the_key_in_it() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let echo = format!("you sent Bearer {KEY}, which is {KEY}");
    let long = format!("{}{KEY}", "x".repeat(4_096 - KEY.len() / 2));
    let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{KEY}\"}}}}]}}\n\ndata: broken {KEY}\n\n");
    let mut answers = vec![
        Answer::new(200, "text/html", echo.clone()),
        Answer::new(200, "text/html", long),
        Answer::new(200, &format!("text/{}", KEY.replace('/', "-")), "x"),
        Answer::new(200, "application/json", echo.clone()),
        Answer::new(200, "application/json", echo.clone()).breaking(),
        Answer::json(200, &json!({ "error": { "message": echo } })),
        Answer::json(200, &json!({ "error": { "message": echo, "code": "insufficient_quota" } })),
        Answer::json(200, &json!({ "choices": echo })),
        Answer::json(200, &json!({ "choices": [], "model": echo })),
        Answer::events(&[&event]),
    ];
    for status in [302, 400, 401, 402, 429, 500] {
        answers.push(Answer::json(status, &json!({ "error": { "message": echo } })));
        answers.push(Answer::new(status, "text/html", echo.clone()));
    }
    for answer in answers {
        let server = Server::start(vec![answer.clone()]).await;
        let error = ask(&server.url, false).await;
        assert_eq!(server.calls.lock().unwrap()[0].headers["authorization"], format!("Bearer {KEY}"));
        clean(&error, &format!("{answer:?}"));
    }
    clean(&ask(&nobody().await, false).await, "nobody");
    clean(&ask(&resetting().await, false).await, "reset");
    // Some servers want the key in the address, which must not be shown either.
    clean(&ask(&format!("{}?key={REFERENCE}", nobody().await), true).await, "address");
}

async fn ask(url: &str, streamed: bool) -> Error {
    let settings: endpoint::Settings = serde_json::from_value(json!({
        "url": url, "key": REFERENCE, "headers": { "api-key": REFERENCE }, "stream": streamed, "timeout_ms": 20_000,
        "retries": { "tries": 1, "deadline_ms": 0 },
    }))
    .expect("settings");
    let opened = endpoint::Endpoint::open("main", &settings).expect("opens");
    let model: std::sync::Arc<dyn Chat> = opened.chat(Policy::model());
    if !url.contains(KEY) {
        for shown in [format!("{opened:?}"), format!("{model:#?}"), serde_json::to_string(&settings).expect("writes")] {
            assert!(!shown.contains(KEY), "{shown}");
        }
    }
    let request = Request { messages: vec![Message::user("hello")], ..Request::default() };
    model.ask(&request).await.expect_err("an error")
}

fn clean(error: &Error, what: &str) {
    for shown in [error.to_string(), format!("{error:?}"), format!("{error:#?}")] {
        assert!(!shown.contains(KEY), "{what}: {shown}");
        // Nor the half of it that a cut leaves over.
        assert!(!shown.contains(&KEY[..KEY.len() / 2]), "{what}: {shown}");
    }
}
