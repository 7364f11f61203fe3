//! A collector of OTLP over HTTP, as JSON or as Protobuf, or one that misbehaves.

use std::{
    io::{BufRead as _, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::collector::{
    logs::v1::ExportLogsServiceRequest, metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest,
};
use prost::Message;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde::Serialize;

use super::{Got, Temper};

const TAKEN: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}";
/// An answer without a field has no bytes.
const TAKEN_PROTOBUF: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-type: application/x-protobuf\r\n\r\n";
const REFUSED: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

/// Serves in its own threads until the test is over.
pub(super) fn serve(listener: TcpListener, temper: Temper, tls: Option<Arc<ServerConfig>>, kept: Got) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (kept, tls) = (Arc::clone(&kept), tls.clone());
            std::thread::spawn(move || match tls {
                None => converse(stream.unwrap(), temper, &kept),
                Some(tls) => {
                    let connection = ServerConnection::new(tls).unwrap();
                    converse(StreamOwned::new(connection, stream.unwrap()), temper, &kept);
                }
            });
        }
    });
}

fn converse(stream: impl Read + Write, temper: Temper, kept: &Mutex<Vec<(String, Vec<u8>)>>) {
    let mut stream = BufReader::new(stream);
    while let Some((path, body, is_json)) = message(&mut stream) {
        let count = {
            let mut kept = kept.lock().unwrap();
            let body = if is_json { body } else { as_json(&path, &body) };
            kept.push((path, body));
            kept.len()
        };
        let answer = match temper {
            Temper::Refuses => REFUSED,
            Temper::Dies(most) if count > most => return,
            Temper::Hangs => loop {
                std::thread::park();
            },
            Temper::Takes | Temper::Dies(_) if is_json => TAKEN,
            Temper::Takes | Temper::Dies(_) => TAKEN_PROTOBUF,
        };
        let writer = stream.get_mut();
        if writer.write_all(answer.as_bytes()).and_then(|()| writer.flush()).is_err() {
            return;
        }
    }
}

/// One request with a length: its path, its body, and whether that is JSON.
fn message(reader: &mut BufReader<impl Read>) -> Option<(String, Vec<u8>, bool)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut is_json) = (0, true);
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
        is_json &= header != "content-type: application/x-protobuf";
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, body, is_json))
}

fn as_json(path: &str, body: &[u8]) -> Vec<u8> {
    fn written<M: Message + Default + Serialize>(body: &[u8]) -> Vec<u8> {
        serde_json::to_vec(&M::decode(body).expect("OTLP as Protobuf")).unwrap()
    }
    match path {
        "/v1/traces" => written::<ExportTraceServiceRequest>(body),
        "/v1/metrics" => written::<ExportMetricsServiceRequest>(body),
        "/v1/logs" => written::<ExportLogsServiceRequest>(body),
        _ => panic!("{path} is no path of OTLP"),
    }
}
