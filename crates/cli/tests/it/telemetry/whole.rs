//! A collector receives a complete run: as many spans, log records and figures as the report counts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    playing::{ALL, SOME, command, ended, exporting},
    receiver::{Receiver, attribute},
};
use crate::process::Place;

#[test]
fn a_run_is_exported_completely_by_every_protocol() {
    let place = Place::new();
    for (out, protocol, compression, which) in [
        ("json", "http/json", "none", SOME),
        ("protobuf", "http/protobuf", "none", ALL),
        ("grpc", "grpc", "none", SOME),
        ("zipped", "grpc", "gzip", SOME),
    ] {
        let receiver = Receiver::speaking(protocol, None);
        let mut command = command(&place, which, out);
        exporting(&mut command, &receiver.address, protocol)
            .env("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
            .env("OTEL_TRACES_SAMPLER", "always_on")
            .env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "100")
            // Figures are sent more than once; the last ones count.
            .env("OTEL_METRIC_EXPORT_INTERVAL", "1000");
        let ended = ended(&mut command);
        assert_eq!(ended.code, 1, "{out}: {}", ended.stderr);
        assert!(!ended.stderr.contains("telemetry"), "{out}: {}", ended.stderr);
        let report = place.json(&format!("{out}/report.json"));
        let spans = receiver.spans();
        assert_eq!(spans.len() as u64, spans_of(&report, &place, out), "{out}");
        spans_make_trees(&spans);
        spans_say_what_happened(&spans, &report);
        records_belong_to_their_spans(&receiver, &spans, judgments(&place, out));
        figures_are_those_of_the_report(&receiver, &report);
        let of_process = receiver.entries("/v1/traces", ["resourceSpans", "scopeSpans", "spans"]);
        assert_eq!(attribute(&of_process[0].0, "service.name").as_deref(), Some("gabfest"));
    }
}

#[test]
fn the_sampler_leaves_out_only_passed_trials() {
    let place = Place::new();
    let receiver = Receiver::speaking("http/json", None);
    let mut command = command(&place, SOME, "out");
    let ended = ended(exporting(&mut command, &receiver.address, "http/json").env("OTEL_TRACES_SAMPLER", "always_off"));
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let trials = place.json("out/report.json")["summary"]["trials"].clone();
    let failed = trials["planned"].as_u64().unwrap() - trials["pass"].as_u64().unwrap();
    let exported = verdicts(&receiver.spans());
    assert_eq!(exported.len() as u64, failed);
    assert!(!exported.contains(&"PASS".to_owned()), "{exported:?}");
}

/// Two for each attempt, one for each turn, call and tool call of either side, and one for the run's end.
pub(super) fn spans_of(report: &Value, place: &Place, out: &str) -> u64 {
    let summary = &report["summary"];
    let calls: u64 = summary["llm_calls"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    let transcripts = std::fs::read_to_string(place.path().join(out).join("transcripts.jsonl")).unwrap();
    let trials = transcripts.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let calls_of = |list: &Value| list.as_array().map_or(0, Vec::len) as u64;
    let tools = |turn: &Value| calls_of(&turn["tool_calls"]) + calls_of(&turn["simulated"]["calls"]);
    let tools: u64 = trials.map(|trial| trial["turns"].as_array().unwrap().iter().map(tools).sum::<u64>()).sum();
    2 * summary["attempts"]["total"].as_u64().unwrap() + summary["turns"].as_u64().unwrap() + calls + tools + 1
}

/// How many judgments the run's records have.
fn judgments(place: &Place, out: &str) -> usize {
    let trials = std::fs::read_to_string(place.path().join(out).join("trials.jsonl")).unwrap();
    let trials = trials.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    trials.map(|trial| trial["judgments"].as_array().unwrap().len()).sum()
}

/// Every parent exists, so that each trace is one tree.
fn spans_make_trees(spans: &[Value]) {
    let ids = ids(spans);
    // Some backends accept a span id only once over all traces.
    let unique: BTreeSet<&str> = ids.iter().map(|(_, span)| *span).collect();
    assert_eq!((ids.len(), unique.len()), (spans.len(), spans.len()));
    for span in spans {
        let parent = span["parentSpanId"].as_str().unwrap_or_default();
        let trace = span["traceId"].as_str().unwrap();
        let is_root = span["name"].as_str().unwrap().starts_with("run ");
        assert_eq!(parent.is_empty(), is_root, "{span}");
        assert!(is_root || ids.contains(&(trace, parent)), "{span}");
    }
}

fn spans_say_what_happened(spans: &[Value], report: &Value) {
    let summary = &report["summary"];
    let named = |prefix: &str| spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with(prefix)).count();
    assert_eq!(Some(named("trial ") as u64), summary["trials"]["planned"].as_u64());
    let of_turns = spans.iter().filter(|span| attribute(span, "gabfest.turn").is_some()).count();
    assert_eq!(Some(of_turns as u64), summary["turns"].as_u64());
    let ends: Vec<_> = spans.iter().filter(|span| attribute(span, "test.suite.run.status").is_some()).collect();
    assert_eq!(ends.len(), 1, "the run itself, at its end: {ends:?}");
    let planned = summary["trials"]["planned"].to_string();
    assert_eq!(attribute(ends[0], "gabfest.trials.planned"), Some(planned));
    let of_runs = spans.iter().filter_map(|span| attribute(span, "gabfest.run"));
    assert!(of_runs.into_iter().all(|run| Some(run.as_str()) == report["run"]["id"].as_str()));
    let mut verdicts = BTreeMap::<String, u64>::new();
    for verdict in self::verdicts(spans) {
        *verdicts.entry(verdict).or_default() += 1;
    }
    for (verdict, key) in [("PASS", "pass"), ("FAIL", "fail")] {
        assert_eq!(verdicts.get(verdict).copied(), summary["trials"][key].as_u64(), "{verdicts:?}");
    }
    assert!(!spans.iter().any(|span| attribute(span, "gen_ai.input.messages").is_some()), "content is opt-in");
}

/// The verdict of each attempt, which its root repeats.
pub(super) fn verdicts(spans: &[Value]) -> Vec<String> {
    let trials = spans.iter().filter(|span| attribute(span, "gabfest.trial.id").is_some());
    trials.filter_map(|span| attribute(span, "gabfest.verdict")).collect()
}

fn records_belong_to_their_spans(receiver: &Receiver, spans: &[Value], judgments: usize) {
    let (records, ids) = (receiver.records(), ids(spans));
    let events: Vec<_> = records.iter().filter(|record| record["eventName"] == "gen_ai.evaluation.result").collect();
    assert_eq!(events.len(), judgments);
    for event in &events {
        let place = (event["traceId"].as_str().unwrap(), event["spanId"].as_str().unwrap());
        assert!(ids.contains(&place), "{event}");
        assert!(attribute(event, "gen_ai.evaluation.score.label").is_some(), "{event}");
    }
    let started = |record: &&Value| record["body"]["stringValue"] == "run started";
    assert_eq!(records.iter().filter(started).count(), 1, "log lines go out too");
}

fn figures_are_those_of_the_report(receiver: &Receiver, report: &Value) {
    let summary = &report["summary"];
    let count = |value: &Value| value.as_f64().unwrap();
    let total = |name: &str, label: &str| -> BTreeMap<String, f64> {
        let mut totals = BTreeMap::new();
        for point in receiver.points(name) {
            *totals.entry(attribute(&point, label).unwrap_or_default()).or_default() += figure(&point);
        }
        totals.retain(|_, total| *total != 0.0);
        totals
    };
    let by_name = |entries: &Value, name: fn(&str) -> String| -> BTreeMap<String, f64> {
        let entries = entries
            .as_object()
            .unwrap()
            .iter()
            .filter(|(key, _)| !["planned", "not_started", "agent_errors"].contains(&key.as_str()));
        entries.map(|(key, value)| (name(key), count(value))).filter(|(_, value)| *value != 0.0).collect()
    };
    let verdicts = by_name(&summary["trials"], str::to_uppercase);
    assert_eq!(total("gabfest.trials.played", "verdict"), verdicts);
    assert_eq!(total("gabfest.conversations", "verdict").values().sum::<f64>(), count(&summary["conversations"]));
    assert_eq!(total("gabfest.verdicts", "verdict"), verdicts);
    let turns = BTreeMap::from([(String::new(), count(&summary["turns"]))]);
    assert_eq!(total("gabfest.turns", "-"), turns);
    assert_eq!(total("gabfest.turn.duration", "-"), turns, "a histogram counts each turn");
    assert_eq!(total("gabfest.calls", "role"), by_name(&summary["llm_calls"], str::to_owned));
    let rates = receiver.points("gabfest.success_rate");
    let whole = rates.iter().find(|point| attribute(point, "scenario").is_none_or(|name| name.is_empty())).unwrap();
    assert_eq!(figure(whole), count(&summary["success_rate"]["estimate"]));
}

/// The value of a data point; for a histogram, its number of observations.
fn figure(point: &Value) -> f64 {
    let found = ["asInt", "asDouble", "count"].into_iter().find_map(|key| point.get(key)).expect("a figure");
    // In JSON, integers of 64 bits are texts.
    found.as_f64().unwrap_or_else(|| found.as_str().unwrap().parse().unwrap())
}

fn ids(spans: &[Value]) -> BTreeSet<(&str, &str)> {
    spans.iter().map(|span| (span["traceId"].as_str().unwrap(), span["spanId"].as_str().unwrap())).collect()
}
