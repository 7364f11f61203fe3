//! A collector that is dead, dying, hanging or refusing changes no verdict and slows no run.

use std::time::Duration;

use super::{
    playing::{SOME, command, ended, exporting},
    receiver::{Receiver, Temper},
};
use crate::process::Place;

#[test]
fn a_bad_collector_changes_no_verdict_and_costs_one_warning() {
    let place = Place::new();
    let plain = ended(&mut command(&place, SOME, "plain"));
    assert!(!plain.stderr.contains("telemetry"), "{}", plain.stderr);
    let expected = place.view("plain");
    // Where the reason matters, a busy machine must not make it a timeout.
    for (name, temper, told_why, timeout_millis) in [
        ("dead", None, "Connection refused", "10000"),
        ("dying", Some(Temper::Dies(2)), "connection", "10000"),
        ("hanging", Some(Temper::Hangs), "", "500"),
        ("refusing", Some(Temper::Refuses), "404", "10000"),
    ] {
        let receiver = temper.map(Receiver::start);
        let address = receiver.as_ref().map_or("http://127.0.0.1:9", |receiver| &receiver.address);
        let mut command = command(&place, SOME, name);
        exporting(&mut command, address, "http/json");
        command.env("OTEL_BSP_SCHEDULE_DELAY", "100").env("OTEL_EXPORTER_OTLP_TIMEOUT", timeout_millis);
        let ended = ended(&mut command);
        assert_eq!(ended.code, plain.code, "{name}: {}", ended.stderr);
        assert_eq!(place.view(name), expected, "{name}");
        assert_eq!(ended.stderr.matches("telemetry cannot be exported").count(), 1, "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(told_why), "{name}: {}", ended.stderr);
        let lines = plain.stderr.lines().count() + 1;
        assert_eq!(ended.stderr.lines().count(), lines, "{name}: nothing but that: {}", ended.stderr);
        // As much again as usual for a machine that is busy; a try that somebody waited for would take longer.
        let (took, usual) = (lasted(&place, name), lasted(&place, "plain"));
        assert!(took < usual * 2 + Duration::from_secs(1), "{name}: {took:?} against {usual:?}");
    }
}

/// From the run's start to its end, without the start of the process.
fn lasted(place: &Place, out: &str) -> Duration {
    let run = &place.json(&format!("{out}/report.json"))["run"];
    let at = |key: &str| chrono::DateTime::parse_from_rfc3339(run[key].as_str().unwrap()).unwrap();
    (at("ended_at") - at("started_at")).to_std().unwrap()
}
