//! The end of a process: waiting telemetry is sent, and a hanging collector delays the exit by two seconds at most.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    playing::{exporting, short_command},
    receiver::{PROTOCOLS, Receiver, Temper, attribute},
    whole::spans_of,
};
use crate::process::{Place, Process};

const LONGEST: Duration = Duration::from_secs(2);
/// Extra time for everything else that a process does on a busy machine.
const SLACK: Duration = Duration::from_secs(1);

#[test]
fn a_collector_that_hangs_holds_up_the_end_of_a_run_for_two_seconds_at_most() {
    let place = Place::new();
    for protocol in PROTOCOLS {
        let receiver = Receiver::start(Temper::Hangs);
        let mut command = short_command(&place, &protocol.replace('/', "-"));
        let mut run =
            Process(exporting(&mut command, &receiver.address, protocol).stdout(Stdio::piped()).spawn().unwrap());
        // The verdict is the last thing that a run prints.
        let lines = BufReader::new(run.0.stdout.take().unwrap()).lines();
        let said = lines.map(|line| (line.unwrap(), Instant::now())).last();
        let (line, at) = said.expect("a run prints something");
        assert_eq!(run.wait(LONGEST + SLACK), 0, "{line}");
        within_limits(at, protocol);
    }
}

#[test]
fn a_worker_and_a_coordinator_end_soon_too() {
    let place = Place::new();
    let receiver = Receiver::start(Temper::Hangs);
    let mut fleet = Fleet::start(&place, &receiver, &[]);
    fleet.play(&place, "out");
    for (name, process) in [("worker", &mut fleet.worker), ("coordinator", &mut fleet.coordinator)] {
        let at = Instant::now();
        process.signal("TERM");
        assert_eq!(process.wait(LONGEST + SLACK), 0, "{name}");
        within_limits(at, name);
    }
}

#[test]
fn queued_telemetry_is_sent_when_a_process_is_stopped() {
    let place = Place::new();
    for protocol in ["grpc", "http/protobuf"] {
        let receiver = Receiver::speaking(protocol, None);
        // Nothing is due before the end.
        let later = [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_TRACES_SAMPLER", "always_on"),
            ("OTEL_BSP_SCHEDULE_DELAY", "3600000"),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "20000"),
            ("OTEL_BLRP_SCHEDULE_DELAY", "3600000"),
            ("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "20000"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "3600000"),
        ];
        let mut fleet = Fleet::start(&place, &receiver, &later);
        let out = protocol.replace('/', "-");
        fleet.play(&place, &out);
        assert!(receiver.bytes().is_empty(), "{protocol}: something came before it was due");
        fleet.worker.signal("TERM");
        assert_eq!(fleet.worker.wait(Duration::from_secs(20)), 0);
        let report = place.json(&format!("{out}/report.json"));
        // The coordinator sends the span of the run's end.
        assert_eq!(receiver.spans().len() as u64, spans_of(&report, &place, &out) - 1, "{protocol}");
        assert!(!receiver.points("gabfest.conversations").is_empty(), "{protocol}");
        let judged = |record: &serde_json::Value| record["eventName"] == "gen_ai.evaluation.result";
        assert!(receiver.records().iter().any(judged), "{protocol}");
        fleet.coordinator.signal("TERM");
        assert_eq!(fleet.coordinator.wait(Duration::from_secs(20)), 0);
        let ended = |span: &&serde_json::Value| attribute(span, "test.suite.run.status").is_some();
        assert_eq!(receiver.spans().iter().filter(ended).count(), 1, "{protocol}");
        assert!(!receiver.points("gabfest.verdicts").is_empty(), "{protocol}");
    }
}

/// The collector was waited for, but not for long.
fn within_limits(since: Instant, what: &str) {
    let took = since.elapsed();
    assert!(took > Duration::from_secs(1), "{what}: {took:?}: nothing waited for the collector");
    assert!(took < LONGEST + SLACK, "{what}: {took:?}");
}

struct Fleet {
    coordinator: Process,
    worker: Process,
    address: String,
}

impl Fleet {
    /// A coordinator and a worker with the same collector.
    fn start(place: &Place, receiver: &Receiver, variables: &[(&str, &str)]) -> Self {
        let telling = |command: &mut Command| {
            exporting(command, &receiver.address, "http/json").envs(variables.iter().copied());
        };
        let mut command = place.gabfest(&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
        telling(&mut command);
        let (coordinator, address) = Process::serve(&mut command);
        let mut command = place.gabfest(&["worker", "--coordinator", &address]);
        telling(&mut command);
        let worker = Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        Self { coordinator, worker, address }
    }

    /// Plays a run to its end.
    fn play(&self, place: &Place, out: &str) {
        place.write("ask.scenario.yaml", crate::agents::ASK);
        let words = ["submit", "ask.scenario.yaml", "--repeats", "50", "--watch", "--out", out];
        let ended = place.run(&[&words[..], &["--coordinator", &self.address]].concat());
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    }
}
