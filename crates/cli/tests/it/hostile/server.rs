//! A server whose behaviour depends on the path of the call, for as long as the client listens.

use std::{
    io::{Read as _, Write},
    net::{TcpListener, TcpStream},
    thread::{sleep, spawn},
    time::Duration,
};

use serde_json::json;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// Its address.
pub(super) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    spawn(move || {
        for stream in listener.incoming() {
            // A flooded client hangs up, and the write fails.
            spawn(move || stream.map(|stream| answer(stream).is_err()));
        }
    });
    address
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let (head, body) = read(&mut stream)?;
    let path = head.split(['/', ' ', '?']).nth(2).unwrap_or_default().to_owned();
    if path.starts_with("ws-") {
        return speak(stream, &path, &head);
    }
    let ok = "HTTP/1.1 200 OK\r\n";
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let long = "x".repeat(16 << 10);
    match path.as_str() {
        "endless" => {
            write!(stream, "{ok}content-type: application/json\r\n\r\n{{\"reply\":\"")?;
            forever(&mut stream, long.as_bytes())
        }
        "endless-head" => {
            write!(stream, "{ok}")?;
            forever(&mut stream, format!("x-more: {}\r\n", &long[..1_000]).as_bytes())
        }
        "huge-length" => {
            write!(stream, "{ok}content-length: 99999999999\r\n\r\n")?;
            forever(&mut stream, long.as_bytes())
        }
        "crowd" => whole(stream, &crowd()),
        "deep" => whole(stream, &"[".repeat(1_000_000)),
        "pieces" => {
            write!(stream, "{events}")?;
            forever(&mut stream, format!("data: {{\"delta\":\"{long}\"}}\n\n").as_bytes())
        }
        "comments" => {
            write!(stream, "{events}")?;
            forever(&mut stream, ": ping\n\n".repeat(2_000).as_bytes())
        }
        "long-line" => {
            write!(stream, "{events}data: ")?;
            forever(&mut stream, long.as_bytes())
        }
        "calls" => {
            let call = json!({ "name": "look", "arguments": { "x": "y".repeat(10_000) } });
            let name = "n".repeat(900_000);
            whole(stream, &json!({ "reply": "hi", "calls": [{ "name": name }, call, { "name": "b", "arguments": "z".repeat(130_000) }] }).to_string())
        }
        "session" => whole(stream, &json!({ "reply": "hi", "session": "s".repeat(900_000) }).to_string()),
        "large" => whole(stream, &json!({ "reply": "large ".repeat(150_000) }).to_string()),
        "drip" => {
            write!(stream, "{ok}content-type: application/json\r\n\r\n")?;
            drip(&mut stream, b" ")
        }
        "loops" => {
            let asked = body.matches("\"role\":\"assistant\"").count();
            let call = |n| json!({ "id": format!("{asked}-{n}"), "type": "function", "function": { "name": "look", "arguments": "{}" } });
            let calls: Vec<_> = (0..75).map(call).collect();
            chat(stream, &json!({ "role": "assistant", "content": null, "tool_calls": calls }), "m")
        }
        "chat-calls" => {
            let call = |n: u32| json!({ "id": n.to_string(), "type": "function", "function": { "name": "look", "arguments": "a".repeat(20_000) } });
            let calls: Vec<_> = (0..120).map(call).collect();
            chat(stream, &json!({ "role": "assistant", "content": null, "tool_calls": calls }), "m")
        }
        "chat-error" => whole(stream, &format!("{{\"error\":{}}}", crowd())),
        "chat-names" => {
            let name = format!("{}{}", body.len(), "name ".repeat(150_000));
            chat(stream, &json!({ "role": "assistant", "content": "hi" }), &name)
        }
        _ => {
            sleep(Duration::from_secs(100));
            Ok(())
        }
    }
}

/// A connection that begins as a WebSocket.
fn speak(mut stream: TcpStream, path: &str, head: &str) -> std::io::Result<()> {
    let key = head.lines().find_map(|line| line.to_lowercase().starts_with("sec-websocket-key: ").then(|| &line[19..]));
    let accept = derive_accept_key(key.unwrap_or_default().trim().as_bytes());
    let switch = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n";
    write!(stream, "{switch}sec-websocket-accept: {accept}\r\n\r\n")?;
    // The user's message; nothing after it is read.
    let mut said = [0_u8; 4096];
    let _ = stream.read(&mut said)?;
    let text = |text: &str| frame(0x81, text.as_bytes());
    match path {
        "ws-pings" => forever(&mut stream, &frame(0x89, &[b'p'; 125]).repeat(200)),
        "ws-pongs" => forever(&mut stream, &frame(0x8a, &[b'p'; 125]).repeat(200)),
        "ws-fragments" => {
            stream.write_all(&frame(0x01, b"{"))?;
            forever(&mut stream, &frame(0x00, b"").repeat(2_000))
        }
        "ws-huge-frame" => {
            stream.write_all(&[0x81, 127, 0, 0, 0, 0xff, 0, 0, 0, 0])?;
            forever(&mut stream, &[b'x'; 16 << 10])
        }
        "ws-pieces" => forever(&mut stream, &text(&json!({ "delta": "x".repeat(16 << 10) }).to_string())),
        "ws-idle" => forever(&mut stream, &text("{}").repeat(1_000)),
        "ws-calls" => forever(&mut stream, &text(&json!({ "calls": [{ "name": "n".repeat(100_000) }] }).to_string())),
        "ws-crowd" => forever(&mut stream, &text(&crowd())),
        "ws-garbage" => forever(&mut stream, &[0xff; 4096]),
        "ws-large" => loop {
            stream.write_all(&text(&json!({ "text": "large ".repeat(150_000), "over": true }).to_string()))?;
            let _ = stream.read(&mut said)?;
        },
        _ => drip(&mut stream, &text("{}")),
    }
}

/// A frame as servers send it.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        short @ 0..=125 => frame.push(u8::try_from(short).unwrap()),
        medium @ 126..=0xffff => {
            frame.push(126);
            frame.extend(u16::try_from(medium).unwrap().to_be_bytes());
        }
        long => {
            frame.push(127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    frame
}

/// A megabyte that takes a hundred when parsed.
fn crowd() -> String {
    format!("[{}1]", "{\"\":0},".repeat(140_000))
}

fn chat(stream: TcpStream, message: &serde_json::Value, model: &str) -> std::io::Result<()> {
    whole(stream, &json!({ "model": model, "choices": [{ "message": message }] }).to_string())
}

fn whole(mut stream: TcpStream, body: &str) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len())
}

fn forever(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    loop {
        stream.write_all(bytes)?;
    }
}

fn drip(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    loop {
        stream.write_all(bytes)?;
        stream.flush()?;
        sleep(Duration::from_millis(50));
    }
}

/// The head of a call and its body.
fn read(stream: &mut TcpStream) -> std::io::Result<(String, String)> {
    let mut bytes = Vec::new();
    let mut piece = vec![0_u8; 64 << 10];
    loop {
        let count = stream.read(&mut piece)?;
        bytes.extend_from_slice(&piece[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let length: usize = length.unwrap_or(0);
        while bytes.len() < end + 4 + length {
            let count = stream.read(&mut piece)?;
            if count == 0 {
                break;
            }
            bytes.extend_from_slice(&piece[..count]);
        }
        return Ok((head, String::from_utf8_lossy(&bytes[end + 4..]).into_owned()));
    }
}
