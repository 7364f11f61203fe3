//! Spans, events and log records of whole processes, at collectors that take them and at those that do not.

mod receiver;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::time::Instant;

use self::receiver::{Receiver, Temper, attribute};
use crate::process::{Ended, Place, scenarios};

/// Flaky, so that some trials fail.
const SETTINGS: &str = "endpoints: { mock: { kind: mock, mock: { pass: [{ probability: 0.9 }] } } }";
const KEY: &str = "sk-planted-0123456789abcdef";

/// Plays the shipped scenarios and tells of it to an address, if there is one.
fn play(place: &Place, collector: Option<&str>, out: &str, variables: &[(&str, &str)]) -> Ended {
    place.write("gabfest.yaml", SETTINGS);
    let mut command = place.gabfest(&["run", &scenarios(), "--seed", "7", "--out", out, "--quiet"]);
    if let Some(address) = collector {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", address).env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
        command.env("OTEL_BSP_MAX_QUEUE_SIZE", "20000");
    }
    Ended::from(command.envs(variables.iter().copied()).output().unwrap())
}

#[test]
fn a_run_is_told_whole() {
    let place = Place::new();
    let receiver = Receiver::start(Temper::Takes);
    let ended = play(&place, Some(&receiver.address), "out", &[("OTEL_TRACES_SAMPLER", "always_on")]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let report = place.json("out/report.json");
    let run = report["run"]["id"].as_str().unwrap();
    let planned = usize::try_from(report["summary"]["trials"]["planned"].as_u64().unwrap()).unwrap();
    let turns = usize::try_from(report["summary"]["turns"].as_u64().unwrap()).unwrap();

    let spans: Vec<_> = receiver.spans();
    let named = |prefix: &str| spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with(prefix)).count();
    assert_eq!(named("trial "), planned);
    let of_turns = spans.iter().filter(|span| attribute(span, "gabfest.turn").is_some()).count();
    assert_eq!(of_turns, turns);
    // Every parent is there, so that each trace is one tree.
    let ids: BTreeSet<(&str, &str)> =
        spans.iter().map(|span| (span["traceId"].as_str().unwrap(), span["spanId"].as_str().unwrap())).collect();
    // Some backends take an id but once, whatever trace it is in.
    let unique: BTreeSet<&str> = ids.iter().map(|(_, span)| *span).collect();
    assert_eq!((ids.len(), unique.len()), (spans.len(), spans.len()));
    for span in &spans {
        let parent = span["parentSpanId"].as_str().unwrap_or_default();
        let trace = span["traceId"].as_str().unwrap();
        let is_root = span["name"].as_str().unwrap().starts_with("run ");
        assert_eq!(parent.is_empty(), is_root, "{span}");
        assert!(is_root || ids.contains(&(trace, parent)), "{span}");
    }
    let ends: Vec<_> = spans.iter().filter(|span| attribute(span, "test.suite.run.status").is_some()).collect();
    assert_eq!(ends.len(), 1, "the run itself, at its end: {ends:?}");
    assert_eq!(attribute(ends[0], "gabfest.trials.planned"), Some(planned.to_string()));
    let mut verdicts = BTreeMap::<String, u64>::new();
    for span in &spans {
        if let Some(verdict) = attribute(span, "gabfest.verdict") {
            assert_eq!(attribute(span, "gabfest.run").as_deref(), Some(run));
            *verdicts.entry(verdict).or_default() += 1;
        }
    }
    for (verdict, key) in [("PASS", "pass"), ("FAIL", "fail")] {
        assert_eq!(verdicts.get(verdict).copied(), report["summary"]["trials"][key].as_u64(), "{verdicts:?}");
    }

    let records = receiver.records();
    let events: Vec<_> = records.iter().filter(|record| record["eventName"] == "gen_ai.evaluation.result").collect();
    assert!(events.len() >= planned / 2, "{} events", events.len());
    for event in &events {
        let place = (event["traceId"].as_str().unwrap(), event["spanId"].as_str().unwrap());
        assert!(ids.contains(&place), "{event}");
        assert!(attribute(event, "gen_ai.evaluation.score.label").is_some(), "{event}");
    }
    let started = |record: &&serde_json::Value| record["body"]["stringValue"] == "run started";
    assert_eq!(records.iter().filter(started).count(), 1, "log lines go out too");
    let of_process = receiver.entries("/v1/traces", ["resourceSpans", "scopeSpans", "spans"]);
    assert_eq!(attribute(&of_process[0].0, "service.name").as_deref(), Some("gabfest"));
    assert!(!spans.iter().any(|span| attribute(span, "gen_ai.input.messages").is_some()), "content is opt-in");
}

#[test]
fn the_sampler_leaves_out_what_passed_and_nothing_else() {
    let place = Place::new();
    let receiver = Receiver::start(Temper::Takes);
    let ended = play(&place, Some(&receiver.address), "out", &[("OTEL_TRACES_SAMPLER", "always_off")]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let trials = place.json("out/report.json")["summary"]["trials"].clone();
    let failed = trials["planned"].as_u64().unwrap() - trials["pass"].as_u64().unwrap();
    let told: Vec<_> = receiver.spans().into_iter().filter_map(|span| attribute(&span, "gabfest.verdict")).collect();
    assert_eq!(told.len() as u64, failed);
    assert!(!told.contains(&"PASS".to_owned()), "{told:?}");
}

#[test]
fn a_bad_collector_changes_no_verdict_and_holds_nobody_up() {
    let place = Place::new();
    let began = Instant::now();
    let plain = play(&place, None, "plain", &[]);
    let usual = began.elapsed();
    assert!(!plain.stderr.contains("telemetry"), "{}", plain.stderr);
    let expected = place.view("plain");
    for (name, temper) in [
        ("dead", None),
        ("dying", Some(Temper::Dies(2))),
        ("hanging", Some(Temper::Hangs)),
        ("refusing", Some(Temper::Refuses)),
    ] {
        let receiver = temper.map(Receiver::start);
        let address = receiver.as_ref().map_or("http://127.0.0.1:9", |receiver| &receiver.address);
        let variables = [("OTEL_BSP_SCHEDULE_DELAY", "100"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "500")];
        let began = Instant::now();
        let ended = play(&place, Some(address), name, &variables);
        let took = began.elapsed();
        assert_eq!(ended.code, plain.code, "{name}: {}", ended.stderr);
        assert_eq!(place.view(name), expected, "{name}");
        assert_eq!(ended.stderr.matches("telemetry cannot be exported").count(), 1, "{name}: {}", ended.stderr);
        let lines = plain.stderr.lines().count() + 1;
        assert_eq!(ended.stderr.lines().count(), lines, "{name}: nothing but that: {}", ended.stderr);
        // Two seconds for the end, and as much again as usual for a machine that is busy.
        assert!(took < usual * 2 + Duration::from_millis(2_500), "{name}: {took:?} against {usual:?}");
    }
}

#[test]
fn a_value_that_makes_no_sense_is_told_at_once() {
    let place = Place::new();
    let ended = play(&place, None, "out", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318")]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    let told = "OTEL_EXPORTER_OTLP_ENDPOINT=\"localhost:4318\": expected an address";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    let stray = play(&place, None, "stray", &[("OTEL_METRICS_EXPORTER", "prometheus")]);
    assert!(stray.code < 2 && !stray.stderr.contains("OTEL_"), "{}", stray.stderr);
    let odd =
        [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none"), ("OTEL_LOGS_EXPORTER", "olpt,otlp")];
    let warned = play(&place, Some("http://127.0.0.1:9"), "odd", &odd);
    let told = "OTEL_LOGS_EXPORTER=\"olpt,otlp\": expected otlp or none; the variable is left aside";
    assert!(warned.code < 2 && warned.stderr.contains(told), "{}", warned.stderr);
}

#[test]
fn no_key_is_told_to_a_collector() {
    let place = Place::new();
    place.write("ask.scenario.yaml", crate::agents::ASK);
    let receiver = Receiver::start(Temper::Takes);
    let echo = format!("HTTP/1.1 401 Unauthorized\r\ncontent-length: 40\r\n\r\nno: {KEY}{}", " ".repeat(40));
    let said = format!(r#"{{"choices":[{{"message":{{"content":"my key is {KEY}"}}}}]}}"#);
    let said =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{said}", said.len());
    for (name, answer) in [("refused", echo), ("said", said), ("unreachable", String::new())] {
        let url = if answer.is_empty() { "http://127.0.0.1:9/v1".to_owned() } else { crate::agents::agent(answer) };
        let settings = format!(
            "endpoints:\n  bad: {{ url: '{url}', key: 'env:PLANTED', retries: {{ deadline_ms: 300 }} }}\nagents:\n  bad: {{ endpoint: bad }}\n"
        );
        place.write("gabfest.yaml", &settings);
        let output = place
            .gabfest(&["run", "ask.scenario.yaml", "--agent", "bad", "--out", name, "--quiet"])
            .env("PLANTED", KEY)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.address)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
            .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20planted-header-9876543210")
            .env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
            .output()
            .unwrap();
        assert!(output.status.code().is_some_and(|code| code < 4), "{name}: {output:?}");
    }
    let spans = receiver.spans();
    assert!(spans.iter().any(|span| attribute(span, "gen_ai.input.messages").is_some()), "{spans:?}");
    assert_eq!(spans.iter().filter(|span| attribute(span, "gabfest.verdict").is_some()).count(), 3);
    for bytes in receiver.bytes() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("planted"), "{text}");
    }
}
