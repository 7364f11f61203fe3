//! A collector that takes OTLP as JSON over HTTP and keeps what it got, or one that is out of order.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::Value;

/// The path and the body of each message.
type Got = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Temper {
    /// Takes everything.
    Takes,
    /// Takes so many messages and no more: connections break.
    Dies(usize),
    /// Takes connections and never answers.
    Hangs,
    /// Says that the address is wrong.
    Refuses,
}

pub(crate) struct Receiver {
    pub(crate) address: String,
    got: Got,
}

impl Receiver {
    pub(crate) fn start(temper: Temper) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let got = Got::default();
        let kept = Arc::clone(&got);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream.unwrap(), temper, &kept));
            }
        });
        Self { address, got }
    }

    /// The bytes of every message, whatever they are about.
    pub(crate) fn bytes(&self) -> Vec<Vec<u8>> {
        self.got.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    /// Everything of a signal, with the resource that it came with.
    pub(crate) fn entries(&self, path: &str, [outer, inner, entries]: [&str; 3]) -> Vec<(Value, Value)> {
        let got = self.got.lock().unwrap();
        let bodies = got.iter().filter(|(to, _)| to == path).map(|(_, body)| body);
        let mut found = Vec::new();
        for body in bodies {
            let message: Value = serde_json::from_slice(body).expect("OTLP as JSON");
            for of_resource in message[outer].as_array().unwrap() {
                for of_scope in of_resource[inner].as_array().unwrap() {
                    for entry in of_scope[entries].as_array().unwrap() {
                        found.push((of_resource["resource"].clone(), entry.clone()));
                    }
                }
            }
        }
        found
    }

    pub(crate) fn spans(&self) -> Vec<Value> {
        let entries = self.entries("/v1/traces", ["resourceSpans", "scopeSpans", "spans"]);
        entries.into_iter().map(|(_, span)| span).collect()
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        let entries = self.entries("/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]);
        entries.into_iter().map(|(_, record)| record).collect()
    }
}

/// The value of an attribute as text.
pub(crate) fn attribute(of: &Value, key: &str) -> Option<String> {
    let attributes = of["attributes"].as_array()?;
    let value = &attributes.iter().find(|one| one["key"] == key)?["value"];
    let value = value.as_object()?.values().next()?;
    Some(value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned))
}

fn serve(stream: TcpStream, temper: Temper, kept: &Mutex<Vec<(String, Vec<u8>)>>) {
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some((path, body)) = message(&mut reader) {
        let count = {
            let mut kept = kept.lock().unwrap();
            kept.push((path, body));
            kept.len()
        };
        let answer = match temper {
            Temper::Takes => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}",
            Temper::Refuses => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            Temper::Dies(most) if count <= most => {
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}"
            }
            Temper::Dies(_) => return,
            Temper::Hangs => loop {
                std::thread::park();
            },
        };
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// One request with a length.
fn message(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(text) = header.strip_prefix("content-length:") {
            length = text.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, body))
}
