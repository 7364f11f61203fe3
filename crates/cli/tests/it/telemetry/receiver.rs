//! A collector that keeps everything it receives by any protocol, or one that misbehaves.

mod grpc;
mod http;

use std::{
    collections::BTreeMap,
    net::TcpListener,
    sync::{Arc, Mutex},
};

use serde_json::Value;

use super::authority::Doorkeeper;

/// As `OTEL_EXPORTER_OTLP_PROTOCOL` names them.
pub(super) const PROTOCOLS: [&str; 3] = ["grpc", "http/protobuf", "http/json"];

/// The path and the body of each message, as JSON.
type Got = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temper {
    /// Takes everything.
    Takes,
    /// Accepts this many messages, then breaks connections.
    Dies(usize),
    /// Takes connections and never answers.
    Hangs,
    /// Says that the address is wrong.
    Refuses,
}

pub(super) struct Receiver {
    pub(super) address: String,
    got: Got,
}

impl Receiver {
    /// An HTTP collector. A hanging one hangs for every client.
    pub(super) fn start(temper: Temper) -> Self {
        Self::open("http", |listener, got| http::serve(listener, temper, None, got))
    }

    /// Accepts everything by a protocol, over TLS if there is a doorkeeper.
    pub(super) fn speaking(protocol: &str, doorkeeper: Option<&Doorkeeper>) -> Self {
        let scheme = if doorkeeper.is_some() { "https" } else { "http" };
        Self::open(scheme, |listener, got| match protocol {
            "grpc" => grpc::serve(listener, doorkeeper.map(Doorkeeper::of_grpc), got),
            _ => http::serve(listener, Temper::Takes, doorkeeper.map(Doorkeeper::of_http), got),
        })
    }

    fn open(scheme: &str, serve: impl FnOnce(TcpListener, Got)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("{scheme}://{}", listener.local_addr().unwrap());
        let got = Got::default();
        serve(listener, Arc::clone(&got));
        Self { address, got }
    }

    /// The bytes of every message of any kind.
    pub(super) fn bytes(&self) -> Vec<Vec<u8>> {
        self.got.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    /// Everything of a signal, with the resource that it came with.
    pub(super) fn entries(&self, path: &str, [outer, inner, entries]: [&str; 3]) -> Vec<(Value, Value)> {
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

    pub(super) fn spans(&self) -> Vec<Value> {
        let entries = self.entries("/v1/traces", ["resourceSpans", "scopeSpans", "spans"]);
        entries.into_iter().map(|(_, span)| span).collect()
    }

    pub(super) fn records(&self) -> Vec<Value> {
        let entries = self.entries("/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]);
        entries.into_iter().map(|(_, record)| record).collect()
    }

    /// The last figures of a metric, one for each set of attributes.
    pub(super) fn points(&self, name: &str) -> Vec<Value> {
        let metrics = self.entries("/v1/metrics", ["resourceMetrics", "scopeMetrics", "metrics"]);
        let mut last = BTreeMap::new();
        for (_, metric) in metrics.iter().filter(|(_, metric)| metric["name"] == name) {
            let data = ["sum", "gauge", "histogram"].into_iter().find_map(|kind| metric.get(kind));
            for point in data.expect("a kind of metric")["dataPoints"].as_array().unwrap() {
                let mut attributes: Vec<String> =
                    point["attributes"].as_array().into_iter().flatten().map(ToString::to_string).collect();
                attributes.sort();
                last.insert(attributes, point.clone());
            }
        }
        last.into_values().collect()
    }
}

/// The value of an attribute as text.
pub(super) fn attribute(of: &Value, key: &str) -> Option<String> {
    let attributes = of["attributes"].as_array()?;
    let value = &attributes.iter().find(|one| one["key"] == key)?["value"];
    let value = value.as_object()?.values().next()?;
    Some(value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned))
}
