//! A hook's request, its valid answers, and its failures.

use record::{Turn, turn::Origin};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::{Answer, Error, Hook, MOST_BYTES, Settings};

/// Answers one request with `response` and returns the request.
async fn served(response: String, key: Option<&str>) -> (Result<Answer, Error>, String) {
    // Another test may have installed the provider.
    drop(rustls::crypto::ring::default_provider().install_default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = String::new();
        let mut buffer = [0; 4096];
        // The body is the last line of the request, and a JSON object.
        while !asked.ends_with('}') {
            let read = socket.read(&mut buffer).await.unwrap();
            asked.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        drop(socket.write_all(response.as_bytes()).await);
        if response.is_empty() {
            std::future::pending::<()>().await;
        }
        asked
    });
    let settings = Settings {
        url: format!("http://{address}/over?token=hidden-token"),
        timeout_ms: 2_000,
        key: key.map(|key| llm::key::KeyRef::parse(key).unwrap()),
    };
    let hook = Hook::new(&settings).unwrap();
    assert!(!format!("{hook:?}").contains("token"), "{hook:?}");
    let context = llm::Context {
        run: "run-1".to_owned(),
        scenario: "Refund".to_owned(),
        idempotency_key: "run-1/t1/judge/0".to_owned(),
        ..llm::Context::default()
    };
    let turn = Turn {
        number: 1,
        step: 1,
        speaker: Origin::Scripted,
        user: "Hi".to_owned(),
        agent: None,
        messages: Vec::new(),
        exit_code: None,
        tool_calls: Vec::new(),
        actions: Vec::new(),
        started_micros: 0,
        duration_micros: 0,
        response_micros: None,
        calls: Vec::new(),
        notes: Vec::new(),
        simulated: None,
    };
    let answer = hook.ask(&context, "t1", &[turn]).await;
    if answer.is_err() {
        server.abort();
        return (answer, String::new());
    }
    (answer, server.await.unwrap())
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn a_hook_is_shown_the_conversation_and_decides() {
    let (answer, asked) = served(ok(r#"{"stop": true, "reason": "enough"}"#), Some("env:CARGO_PKG_NAME")).await;
    assert_eq!(answer.unwrap(), Answer { stop: true, reason: Some("enough".to_owned()) });
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /over?token=hidden-token HTTP/1.1\r\n"), "{head}");
    let head = head.to_lowercase();
    assert!(head.contains("authorization: bearer gabfest-worker"), "{head}");
    assert!(head.contains("idempotency-key: run-1/t1/judge/0"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    let expected = serde_json::json!({
        "run": "run-1", "scenario": "Refund", "trial": "t1", "turns": [{ "user": "Hi", "agent": null }],
    });
    assert_eq!(body, expected);
    let (answer, _) = served(ok(r#"{"stop": false, "more": 1}"#), None).await;
    assert_eq!(answer.unwrap(), Answer { stop: false, reason: None });
}

#[tokio::test]
async fn anything_else_is_a_failure() {
    let large = ok(&format!("{{\"stop\": true, \"reason\": \"{}\"}}", "x".repeat(MOST_BYTES)));
    for (response, expected) in [
        (ok("yes"), "answer {\"stop\": true or false}: "),
        (ok("{}"), "answer {\"stop\": true or false}: `stop` is missing"),
        (ok(r#"{"stop": "true"}"#), "answer {\"stop\": true or false}: `stop` is \"true\""),
        (ok(r#"{"stop": true, "reason": 1}"#), "answer {\"stop\": true or false}: `reason` is 1"),
        (large, "answer in less than 65536 bytes"),
        ("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned(), "answer: status 500"),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n".to_owned(),
            "answer: status 302",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_owned(), "be reached: "),
        (String::new(), "answer within 2000 ms"),
    ] {
        let (answer, _) = served(response, None).await;
        let error = answer.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(!error.contains("hidden-token"), "{error}");
    }
}

#[tokio::test]
async fn invalid_addresses_and_keys_are_refused_before_the_run() {
    for (url, key, expected) in [
        ("nonsense", None, "use its address, which cannot be read: "),
        ("file:///etc/passwd", None, "use its address, which is file, and only http and https are spoken"),
        ("http://127.0.0.1/", Some("env:GABFEST_NO_SUCH_KEY"), "resolve its key: "),
    ] {
        let key = key.map(|key| llm::key::KeyRef::parse(key).unwrap());
        let error = Hook::new(&Settings { url: url.to_owned(), timeout_ms: 1, key }).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
