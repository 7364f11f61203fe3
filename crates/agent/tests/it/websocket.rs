//! Agents behind WebSockets: one that echoes, one that streams, and ones that break the connection.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use record::FailureKind;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{ErrorResponse, Request, Response},
        http::StatusCode,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

use super::{
    bad_server::{Answer, Server, nobody},
    house::{connect, open, outcome, say, say_within, settings, surroundings},
};

type Socket = WebSocketStream<TcpStream>;

/// Serves every connection with `talk`, which gets the connection's path and its headers as text.
async fn serve<F>(talk: impl Fn(Socket, String) -> F + Copy + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port");
    let url = format!("ws://{}/talk", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = String::new();
                #[expect(clippy::result_large_err, reason = "the library's own signature")]
                let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
                    head = format!("{} {:?}", request.uri(), request.headers());
                    Ok(response)
                };
                let socket = accept_hdr_async(stream, look).await.expect("a handshake");
                talk(socket, head).await;
            });
        }
    });
    url
}

fn agent(url: &str, more: Value) -> Value {
    let mut websocket = json!({ "url": url });
    if let (Value::Object(websocket), Value::Object(more)) = (&mut websocket, more) {
        websocket.extend(more);
    }
    json!({ "websocket": websocket })
}

#[tokio::test]
async fn words_out_words_back() {
    let url = serve(|mut socket, _| async move {
        let mut turn = 0;
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            turn += 1;
            let _ = socket.send(Message::Ping("?".into())).await;
            let _ = socket.send(Message::text(format!("{turn}: {text}"))).await;
        }
    })
    .await;
    let agent = connect(agent(&url, json!({})));
    let mut session = open(&*agent, "t1").await;
    let first = say(&mut *session, 1, "hello").await.expect("a reply");
    assert_eq!(first.text, "1: hello");
    assert!(first.timing.connect.is_some() && first.timing.first_token.is_none());
    let second = say(&mut *session, 2, "again").await.expect("a reply");
    assert_eq!((second.text.as_str(), second.timing.connect), ("2: again", None), "one connection a conversation");
    assert_eq!(outcome(&say(&mut *open(&*agent, "t2").await, 1, "hi").await).1, "1: hi");
}

#[tokio::test]
async fn json_streams_sessions_and_headers() {
    let url = serve(|mut socket, head| async move {
        let hello = socket.next().await.expect("hello").expect("a message").into_text().expect("text");
        while let Some(Ok(Message::Text(text))) = socket.next().await {
            let asked: Value = serde_json::from_str(&text).expect("JSON");
            for event in [
                json!({ "kind": "typing" }),
                json!({ "delta": "Hel", "session": "s7" }),
                json!({ "delta": "lo " }),
                json!({ "delta": asked["session"], "call": { "name": "look", "arguments": { "hello": hello.as_str(), "head": head } } }),
                json!({ "over": true }),
            ] {
                tokio::time::sleep(Duration::from_millis(10)).await;
                let _ = socket.send(Message::text(event.to_string())).await;
            }
        }
    })
    .await;
    let agent = connect(agent(
        &format!("{url}/{{{{ conversation }}}}"),
        json!({
            "key": "env:CARGO_PKG_NAME",
            "headers": { "x-team": "qa" },
            "hello": { "run": "{{ run }}" },
            "message": { "text": "{{ message }}", "session": "{{ session }}" },
            "session": "new",
            "reply": { "delta": "$.delta", "done": "$.over", "session": "$.session", "tool_calls": "$.call" },
        }),
    ));
    let mut session = open(&*agent, "t 1").await;
    let first = say(&mut *session, 1, "hi").await.expect("a reply");
    assert_eq!(first.text, "Hello new");
    assert!(first.timing.first_token.expect("streamed") < first.timing.total);
    let seen = &first.tool_calls[0].arguments;
    for part in [r#"{\"run\":\"r1\"}"#, "/talk/t%201", "qa", "Bearer gabfest-agent", "t 1/1", "traceparent"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert_eq!(outcome(&say(&mut *session, 2, "hi").await).1, "Hello s7");
}

#[tokio::test]
async fn connections_that_go_wrong() {
    use FailureKind::{AgentMalformed, AgentRefused, AgentTimeout, AgentUnreachable};
    let closing = serve(|mut socket, _| async move {
        let _ = socket.next().await;
        let frame = CloseFrame { code: CloseCode::Again, reason: "too busy".into() };
        let _ = socket.close(Some(frame)).await;
    })
    .await;
    let dropping = serve(|mut socket, _| async move {
        let _ = socket.next().await;
    })
    .await;
    let silent = serve(|mut socket, _| async move { while let Some(Ok(_)) = socket.next().await {} }).await;
    let long = serve(|mut socket, _| async move {
        let _ = socket.next().await;
        let _ = socket.send(Message::text("x".repeat(5 << 20))).await;
        let _ = socket.next().await;
    })
    .await;
    let garbage = serve(|mut socket, _| async move {
        let _ = socket.next().await;
        let _ = socket.send(Message::text("<html>")).await;
        let _ = socket.next().await;
    })
    .await;
    let page = Server::start(vec![Answer::new(200, "text/html", "<html>")]).await;
    let forbidden = Server::start(vec![Answer::new(403, "", "no")]).await;
    let web = |url: &str| url.replace("http://", "ws://");
    let rows = [
        ("closed", closing, json!({}), AgentUnreachable, "too busy"),
        ("dropped", dropping, json!({}), AgentUnreachable, ""),
        ("silent", silent, json!({}), AgentTimeout, "300 ms"),
        ("5 MB", long, json!({}), AgentMalformed, "too long"),
        ("no JSON", garbage, json!({ "reply": { "text": "$.text" } }), AgentMalformed, "it is not JSON"),
        ("a page", web(&page.url), json!({}), AgentRefused, "status 200"),
        ("forbidden", web(&forbidden.url), json!({}), record::FailureKind::Misconfigured, "status 403"),
        ("nobody", web(&nobody().await), json!({}), AgentUnreachable, "cannot be reached"),
    ];
    for (what, url, more, kind, says) in rows {
        let mut value = agent(&url, more);
        value["retries"] = json!({ "tries": 2, "deadline_ms": 1000 });
        let agent = connect(value);
        let timeout = Duration::from_millis(if kind == AgentTimeout { 300 } else { 20_000 });
        let mut session = open(&*agent, "t1").await;
        let (found, message) = outcome(&say_within(&mut *session, 1, "hi", timeout).await);
        assert_eq!(found, Some(kind), "{what}: {message}");
        assert!(message.to_lowercase().contains(&says.to_lowercase()), "{what}: {message}");
        if kind == AgentTimeout {
            let again = outcome(&say(&mut *session, 2, "hi").await);
            assert!(again.1.contains("lost in an earlier turn"), "{again:?}");
        }
    }
}

#[test]
fn settings_that_cannot_be_meant() {
    for (value, says) in [
        (agent("http://h", json!({})), "neither ws:// nor wss://"),
        (agent("ws://h", json!({ "reply": { "delta": "$.d" } })), "would never end"),
        (agent("ws://u:p@h", json!({})), "a key is never written"),
    ] {
        let error = agent::connect("shop", &settings(value.clone()), &surroundings()).expect_err("refused");
        assert!(error.to_string().contains(says), "{value}: {error}");
    }
}

#[tokio::test]
async fn values_are_remembered_and_a_key_of_a_file_is_sent() {
    let url = serve(|mut socket, head| async move {
        while let Some(Ok(Message::Text(text))) = socket.next().await {
            let reply =
                json!({ "text": format!("{text} {}", head.contains("Bearer key-of-a-file")), "order": { "id": 7 } });
            let _ = socket.send(Message::text(reply.to_string())).await;
        }
    })
    .await;
    let path = std::env::temp_dir().join(format!("gabfest-websocket-{}", std::process::id()));
    std::fs::write(&path, "key-of-a-file\n").unwrap();
    let agent = connect(agent(
        &url,
        json!({
            "key": format!("file:{}", path.display()),
            "message": "{{ message }} about <{{ remembered.order }}>",
            "reply": { "text": "$.text", "remember": { "order": "$.order.id" } },
        }),
    ));
    std::fs::remove_file(&path).unwrap();
    let mut session = open(&*agent, "t1").await;
    assert_eq!(say(&mut *session, 1, "hi").await.expect("a reply").text, "hi about <> true");
    assert_eq!(say(&mut *session, 2, "and").await.expect("a reply").text, "and about <7> true");
}

/// A token that the server refuses is replaced, and the connection is made once more. One that nobody gives is a fault of
/// the settings.
#[tokio::test]
async fn access_tokens_open_a_connection() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let url = guarded("Bearer new", Arc::clone(&seen)).await;
    let token = |token: &str| Answer::json(200, &json!({ "access_token": token, "token_type": "bearer" }));
    let oauth = |tokens: &Server| {
        let url = format!("{}/token", tokens.url);
        json!({ "oauth": { "token_url": url, "client_id": "c", "client_secret": "env:CARGO_PKG_NAME" } })
    };
    let tokens = Server::start(vec![token("old"), token("new")]).await;
    let known = connect(agent(&url, oauth(&tokens)));
    for conversation in ["t1", "t2"] {
        assert_eq!(outcome(&say(&mut *open(&*known, conversation).await, 1, "hi").await).1, "hi");
    }
    assert_eq!(*seen.lock().unwrap(), ["Bearer old", "Bearer new", "Bearer new"]);

    seen.lock().unwrap().clear();
    let tokens = Server::start(vec![token("old"), token("older")]).await;
    let unknown = connect(agent(&url, oauth(&tokens)));
    let error = say(&mut *open(&*unknown, "t1").await, 1, "hi").await.expect_err("both are refused");
    assert_eq!(error.kind, FailureKind::Misconfigured, "{error:?}");
    assert_eq!(*seen.lock().unwrap(), ["Bearer old", "Bearer older"]);
    assert!(!format!("{error:?}").contains("older"), "{error:?}");

    seen.lock().unwrap().clear();
    let tokens = Server::start(vec![Answer::json(400, &json!({ "error": "invalid_client" }))]).await;
    let nobody = connect(agent(&url, oauth(&tokens)));
    let error = say(&mut *open(&*nobody, "t1").await, 1, "hi").await.expect_err("there is no token");
    assert_eq!((error.kind, seen.lock().unwrap().len()), (FailureKind::Misconfigured, 0), "{error:?}");
}

/// An echo for those that come with this `Authorization`. The others get a 401.
async fn guarded(expected: &'static str, seen: Arc<Mutex<Vec<String>>>) -> String {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port");
    let url = format!("ws://{}/talk", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                #[expect(clippy::result_large_err, reason = "the library's own signature")]
                let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
                    let given = request.headers()["authorization"].to_str().expect("text").to_owned();
                    let is_known = given == expected;
                    seen.lock().expect("no panic").push(given.clone());
                    if is_known {
                        return Ok(response);
                    }
                    let mut refused = ErrorResponse::new(Some(format!("{given} is not known")));
                    *refused.status_mut() = StatusCode::UNAUTHORIZED;
                    Err(refused)
                };
                let Ok(mut socket) = accept_hdr_async(stream, look).await else { return };
                while let Some(Ok(Message::Text(text))) = socket.next().await {
                    let _ = socket.send(Message::Text(text)).await;
                }
            });
        }
    });
    url
}
