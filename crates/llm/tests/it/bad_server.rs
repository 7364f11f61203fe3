//! A server that answers by a script, so that every way of going wrong can be had on demand.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, Request},
    http::{HeaderMap, Response},
};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, net::TcpListener};

/// One answer. Answers after the last of a script are like the last.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    chunks: Vec<Bytes>,
    /// Before the head, and before each chunk.
    delays: (Duration, Duration),
    /// The connection breaks after the last chunk.
    breaks: bool,
}

impl Answer {
    pub(crate) fn new(status: u16, kind: &str, body: impl Into<Bytes>) -> Self {
        let headers = if kind.is_empty() { Vec::new() } else { vec![("content-type", kind.to_owned())] };
        Self { status, headers, chunks: vec![body.into()], delays: Default::default(), breaks: false }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// A completion that says `text`.
    pub(crate) fn says(text: &str) -> Self {
        Self::json(
            200,
            &json!({
                "id": "c1", "object": "chat.completion", "model": "served",
                "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 },
            }),
        )
    }

    pub(crate) fn events(chunks: &[&str]) -> Self {
        let chunks = chunks.iter().map(|chunk| Bytes::from((*chunk).to_owned())).collect();
        Self { chunks, ..Self::new(200, "text/event-stream; charset=utf-8", "") }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn after(mut self, head: Duration, each_chunk: Duration) -> Self {
        self.delays = (head, each_chunk);
        self
    }

    pub(crate) fn breaking(mut self) -> Self {
        self.breaks = true;
        // Without time in between, the server would break before it has sent anything.
        self.delays.1 = Duration::from_millis(30);
        self
    }

    async fn send(self) -> Response<Body> {
        tokio::time::sleep(self.delays.0).await;
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(*name, value);
        }
        let end = self.breaks.then(|| Err(io::Error::other("broken on purpose")));
        let chunks = self.chunks.into_iter().map(Ok).chain(end);
        let body = if self.delays.1.is_zero() {
            Body::from_stream(stream::iter(chunks))
        } else {
            Body::from_stream(stream::unfold(chunks, move |mut chunks| async move {
                tokio::time::sleep(self.delays.1).await;
                chunks.next().map(|chunk| (chunk, chunks))
            }))
        };
        response.body(body).expect("an answer")
    }
}

/// A call as it came in.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) peer: SocketAddr,
    pub(crate) headers: HeaderMap,
    /// The body as JSON, or as a string if it is not JSON.
    pub(crate) body: Value,
}

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) calls: Arc<Mutex<Vec<Call>>>,
}

impl Server {
    pub(crate) async fn start(script: Vec<Answer>) -> Self {
        let (listener, url) = listen().await;
        let calls = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Mutex::new(VecDeque::from(script)));
        let seen = Arc::clone(&calls);
        let app = Router::new().fallback(move |request: Request| {
            let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
            async move {
                let (head, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 1 << 20).await.expect("a body");
                let body = serde_json::from_slice(&body)
                    .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
                let ConnectInfo(peer) = head.extensions.get().copied().expect("the service knows the peer");
                seen.lock().expect("no panic").push(Call {
                    method: head.method.to_string(),
                    path: head.uri.to_string(),
                    peer,
                    headers: head.headers,
                    body,
                });
                let answer = {
                    let mut script = script.lock().expect("no panic");
                    if script.len() > 1 { script.pop_front() } else { script.front().cloned() }
                };
                Ok::<_, Infallible>(answer.expect("a script").send().await)
            }
        });
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { url, calls }
    }
}

/// Reads the call and resets the connection.
pub(crate) async fn resetting() -> String {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.read(&mut [0; 4_096]).await;
            let _ = socket.set_zero_linger();
        }
    });
    url
}

/// An address where nothing listens.
pub(crate) async fn nobody() -> String {
    listen().await.1
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    (listener, url)
}
