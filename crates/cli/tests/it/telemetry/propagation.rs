//! Trace context in the requests to agents and models, and the spans of trials that were not played.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use super::{
    receiver::{Receiver, Temper, attribute},
    whole::verdicts,
};
use crate::process::Place;

const TALK: &str = "
name: talk
description: a conversation
run:
  - name: talk
    input: hello
    conversation:
      max_turns: 2
      user_simulator: { persona: a traveller, objective: learn the weather, gabfest: { self_check: 'off' } }
      turn_evaluations: [{ type: llm_judge, prompt: Is it polite?, expected: 'yes' }]
      final_evaluations: [{ type: llm_judge, prompt: Is it right?, expected: 'yes' }]
judgment: { strategy: all_pass }
";
/// A valid answer of an agent, of a user and of a judge.
const ANSWER: &str = r#"{"choices":[{"message":{"content":"{\"reasoning\":\"it is\",\"quotes\":[],\"judgment\":\"yes\",\"confidence\":1.0}"}}]}"#;

/// The role and the `traceparent` of each request.
type Received = Arc<Mutex<Vec<(String, String)>>>;

/// Answers every call except those for `silent_for`.
fn model(silent_for: &'static str) -> (String, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let received = Received::default();
    let kept = Arc::clone(&received);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), silent_for, &kept);
        }
    });
    (address, received)
}

/// One request, after which the connection is closed.
fn answer(mut stream: TcpStream, silent_for: &str, kept: &Received) {
    let (mut role, mut parent, mut length) = (String::new(), String::new(), 0);
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let Some((name, value)) = line.trim().split_once(": ") else {
            if line.trim().is_empty() { break } else { continue }
        };
        match name.to_lowercase().as_str() {
            "x-gabfest-role" => value.clone_into(&mut role),
            "traceparent" => value.clone_into(&mut parent),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    std::io::Read::read_exact(&mut reader, &mut vec![0; length]).unwrap();
    let (status, body) = if role == silent_for { ("403 Forbidden", "no") } else { ("200 OK", ANSWER) };
    kept.lock().unwrap().push((role, parent));
    let head = "content-type: application/json\r\nconnection: close";
    let _ = write!(stream, "HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
}

#[test]
fn requests_name_a_span_that_is_exported() {
    for (silent_for, asked) in [("nobody", 2 + 1 + 2 + 1), ("user_sim", 1 + 1 + 1)] {
        for (sampler, collector) in [("always_on", true), ("always_off", true), ("always_on", false)] {
            let place = Place::new();
            let (address, received) = model(silent_for);
            let receiver = Receiver::start(Temper::Takes);
            place.write("talk.scenario.yaml", TALK);
            let settings = format!(
                "endpoints: {{ all: {{ url: '{address}', model: large, trace: true }} }}\nagents: {{ all: {{ endpoint: all }} }}\nroles: {{ judge: all, user_sim: all }}\nreplays: 0\n"
            );
            place.write("gabfest.yaml", &settings);
            let mut command =
                place.gabfest(&["run", "talk.scenario.yaml", "--agent", "all", "--out", "out", "--quiet"]);
            command.env("OTEL_TRACES_SAMPLER", sampler);
            if collector {
                command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.address);
                command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
            }
            let output = command.output().unwrap();
            assert!(output.status.code().is_some_and(|code| code != 2), "{output:?}");
            let spans = receiver.spans();
            let ids: BTreeSet<(&str, &str, Option<String>)> = spans
                .iter()
                .map(|span| {
                    (
                        span["traceId"].as_str().unwrap(),
                        span["spanId"].as_str().unwrap(),
                        attribute(span, "gabfest.role"),
                    )
                })
                .collect();
            let received = received.lock().unwrap();
            assert_eq!(received.len(), asked, "{received:?}");
            // A failed trial is exported although its trace was not sampled.
            let exported = collector && (sampler == "always_on" || silent_for == "user_sim");
            for (role, parent) in received.iter() {
                let [_, trace, span, flags] = parent.split('-').collect::<Vec<_>>().try_into().unwrap();
                assert_eq!(flags, if collector && sampler == "always_on" { "01" } else { "00" }, "{role} {parent}");
                // A call of an agent has its own span as parent, other calls that of the trial or turn.
                let role = (role == "agent").then(|| role.clone());
                assert_eq!(ids.contains(&(trace, span, role)), exported, "{parent} {ids:?}");
            }
        }
    }
}

#[test]
fn trials_that_a_missing_judge_skips_are_traced_by_the_sampler() {
    for (sampler, expected) in [("always_on", 1), ("always_off", 0)] {
        let place = Place::new();
        let receiver = Receiver::start(Temper::Takes);
        place.write("talk.scenario.yaml", TALK);
        let settings = "endpoints: { paid: { url: 'http://127.0.0.1:9/v1', key: 'env:GABFEST_TEST_UNSET_KEY' } }\nroles: { judge: paid }\n";
        place.write("gabfest.yaml", settings);
        let output = place
            .gabfest(&["run", "talk.scenario.yaml", "--out", "out", "--quiet"])
            .env("OTEL_TRACES_SAMPLER", sampler)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.address)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let spans = receiver.spans();
        assert_eq!(verdicts(&spans), vec!["SKIPPED"; expected], "{sampler}");
        let metrics = receiver.entries("/v1/metrics", ["resourceMetrics", "scopeMetrics", "metrics"]);
        let counted = metrics.iter().any(|(_, metric)| metric["name"] == "gabfest.conversations");
        assert!(counted, "a trial that nobody played is counted with the others");
    }
}
