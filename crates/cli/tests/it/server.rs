//! A server of a test: one answer a request, as the test says.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
};

use serde_json::{Value, json};

pub(crate) struct Asked {
    /// By their names in small letters.
    pub(crate) headers: BTreeMap<String, String>,
    /// The body as JSON, or as a string if it is not JSON.
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> String {
        self.headers.get(name).cloned().unwrap_or_default()
    }
}

type Answer = dyn Fn(&Asked) -> (u16, Value) + Send + Sync;

/// Serves until the test ends. Returns the address of an OpenAI-compatible server.
pub(crate) fn serve(answer: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let answer: Arc<Answer> = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                // A client that disconnects early does not matter.
                let _ = one(&stream.unwrap(), &*answer);
            });
        }
    });
    address
}

/// The reply of a chat model.
pub(crate) fn says(text: &str) -> (u16, Value) {
    let message = json!({ "role": "assistant", "content": text });
    let body = json!({
        "model": "m",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": message }],
        "usage": { "prompt_tokens": 5, "completion_tokens": 3 },
    });
    (200, body)
}

/// The same, streamed in two pieces.
pub(crate) fn streams(text: &str) -> (u16, Value) {
    let (first, rest) = text.split_at(text.len() / 2);
    let event = |piece: &str| {
        let chunk = json!({ "model": "m", "choices": [{ "index": 0, "delta": { "content": piece } }] });
        format!("data: {chunk}\n\n")
    };
    let end = json!({ "model": "m", "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    (200, Value::String(format!("{}{}data: {end}\n\ndata: [DONE]\n\n", event(first), event(rest))))
}

/// One request a connection.
fn one(mut stream: &TcpStream, answer: &Answer) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.trim_end().split_once(": ") {
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let (status, body) = answer(&Asked { headers, body: read(&body) });
    let (kind, body) = match body {
        Value::String(events) if events.starts_with("data: ") => ("text/event-stream", events),
        whole => ("application/json", whole.to_string()),
    };
    let head = format!("content-type: {kind}\r\ncontent-length: {}\r\nconnection: close", body.len());
    write!(stream, "HTTP/1.1 {status} So\r\n{head}\r\n\r\n{body}").ok()
}

fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}
