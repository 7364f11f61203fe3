//! A server that is agent, simulated user, judge and collector in one: it answers in every way, and echoes the keys
//! that it received in every field that it can.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};

/// Longer than any endpoint of the test waits.
const TOO_LONG: Duration = Duration::from_millis(1_500);

pub(super) struct Provider {
    pub(super) address: String,
    seen: Arc<Mutex<Seen>>,
}

/// The received requests.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    /// The role, its action, and the keys that came with it.
    pub(super) asked: BTreeSet<(String, String, Vec<String>)>,
    /// The path and the body of each message for a collector.
    pub(super) received: Vec<(String, Vec<u8>)>,
}

struct Request {
    path: String,
    /// Of the headers that carry one.
    keys: Vec<String>,
    body: Vec<u8>,
}

impl Provider {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::default();
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(&stream.unwrap(), &kept));
            }
        });
        Self { address, seen }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

/// One request per connection. A client that disconnects early does not matter.
fn serve(stream: &TcpStream, seen: &Mutex<Seen>) {
    let Some(Request { path, keys, body }) = read(stream) else { return };
    if path.starts_with("/v1/") {
        seen.lock().unwrap().received.push((path, body));
        drop(write!(&*stream, "{}", whole(200, "application/json", "{}")));
        return;
    }
    // `/agent/v1/chat/completions`: the scenario's text selects the action.
    let role = path.split('/').nth(1).unwrap_or_default().to_owned();
    let deed = deed(&role, &String::from_utf8_lossy(&body));
    let key = keys.join(" ");
    seen.lock().unwrap().asked.insert((role.clone(), deed.clone(), keys));
    drop(answer(stream, &role, &deed, &key));
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut keys) = (0, Vec::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => keys.push(value.strip_prefix("Bearer ")?.to_owned()),
            tenant if tenant.starts_with("x-tenant-") => keys.push(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, keys, body })
}

/// The word after `agent-`, `user-` or `judge-` in the request.
fn deed(role: &str, asked: &str) -> String {
    let begin = asked.find(&format!("{role}-")).map_or(asked.len(), |at| at + role.len() + 1);
    asked[begin..].chars().take_while(|letter| letter.is_ascii_alphabetic() || *letter == '_').collect()
}

fn answer(mut stream: &TcpStream, role: &str, deed: &str, key: &str) -> std::io::Result<()> {
    let echo = |field: &str| format!("{field} {key}");
    let fault =
        |code: &str| json!({ "error": { "message": echo("in-fault"), "code": code, "param": key } }).to_string();
    let json = "application/json";
    let said = match deed {
        "refuses" => whole(422, json, &fault("unprocessable")),
        "refuses_in_words" => whole(401, "text/plain", &format!("{} and {}", echo("in-words"), key.repeat(40))),
        "redirects" => whole(302, "text/plain", &echo("in-redirection")),
        "throttles" => whole(429, json, &fault("slow_down")),
        "wants_money" => whole(429, json, &fault("insufficient_quota")),
        "breaks" => whole(500, json, &fault("oops")),
        "hangs_up" => return Ok(()),
        "waits" => {
            std::thread::sleep(TOO_LONG);
            return Ok(());
        }
        "shows_a_page" => whole(200, "text/html", &format!("<p>{}</p>", echo("in-page"))),
        "stops_half_way" => whole(200, json, &format!("{{\"choices\": [{{\"message\": {{\"content\": \"{key}")),
        "says_something_else" => whole(200, json, &json!({ "choices": echo("in-choices") }).to_string()),
        "says_nothing" => whole(200, json, &completion("", key, false).to_string()),
        "fails_inside" => whole(200, json, &fault("oops")),
        "rambles" => whole(200, json, &completion(&echo("in-rambling"), key, false).to_string()),
        "streams" => whole(200, "text/event-stream", &(events(key) + "data: [DONE]\n\n")),
        "streams_half" => {
            let half = events(key);
            whole(200, "text/event-stream", &half[..half.rfind("data:").unwrap()])
        }
        "streams_a_fault" => whole(200, "text/event-stream", &format!("data: {}\n\n", fault("oops"))),
        "streams_and_waits" => {
            let begun = whole(200, "text/event-stream", &events(key));
            stream.write_all(&begun.as_bytes()[..begun.rfind("data:").unwrap()])?;
            std::thread::sleep(TOO_LONG);
            return Ok(());
        }
        _ if role == "user" => whole(200, json, &completion(&echo("agent-says in-user-words"), key, false).to_string()),
        _ if role == "judge" => {
            // A reason shows so much of a judge's reasoning that the cut goes through the last key.
            let reasoning = format!("{} {}{key}", echo("in-reasoning"), "x".repeat(930 - key.len()));
            let sheet =
                json!({ "reasoning": reasoning, "quotes": [], "judgment": "no", "confidence": 0.5 }).to_string();
            whole(200, json, &completion(&sheet, key, false).to_string())
        }
        _ => whole(200, json, &completion(&echo("in-content"), key, true).to_string()),
    };
    stream.write_all(said.as_bytes())
}

/// With a length, so that a reader sees what is missing; the headers have keys too.
fn whole(status: u16, kind: &str, body: &str) -> String {
    let length = body.len();
    let shown: String = body.chars().filter(char::is_ascii_graphic).take(200).collect();
    format!(
        "HTTP/1.1 {status} So\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nretry-after: 0\r\nlocation: /{shown}\r\nx-request-id: {shown}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn completion(content: &str, key: &str, calls: bool) -> Value {
    let echo = |field: &str| format!("{field} {key}");
    let call = json!({
        "id": echo("in-call-id"),
        "type": "function",
        "function": { "name": echo("in-call-name"), "arguments": json!({ "note": echo("in-arguments") }).to_string() },
    });
    let (tool_calls, actions) = if calls { (vec![call], vec![echo("in-action")]) } else { (vec![], vec![]) };
    json!({
        "id": echo("in-id"),
        "object": "chat.completion",
        "model": echo("in-model"),
        "system_fingerprint": echo("in-fingerprint"),
        "choices": [{
            "index": 0,
            "finish_reason": "stop",
            "message": { "role": "assistant", "content": content, "tool_calls": tool_calls, "actions": actions },
        }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 20 },
    })
}

/// A reply in three pieces; a key does not keep to their borders.
fn events(key: &str) -> String {
    let content = format!("in-stream {key}");
    let (first, second) = content.split_at(content.len() - 5);
    let piece = |delta: Value, end: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        format!("data: {}\n\n", json!({ "model": format!("in-streamed-model {key}"), "choices": [choice] }))
    };
    [
        piece(json!({ "role": "assistant", "content": first }), None),
        piece(json!({ "content": second }), None),
        piece(json!({}), Some("stop")),
    ]
    .concat()
}
