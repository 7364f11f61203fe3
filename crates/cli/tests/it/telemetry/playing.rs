//! Plays scenarios with a collector that looks on.

use std::process::Command;

use crate::process::{Ended, Place, scenarios};

/// Flaky, so that some trials fail, and slow enough that the exporter keeps up.
const SETTINGS: &str = "
endpoints:
  mock: { kind: mock, mock: { latency: { kind: uniform, min_ms: 5, max_ms: 15 }, pass: [{ probability: 0.9 }] } }
";

/// Of the shipped scenarios, one with personas, judges, and trials that fail.
pub(super) const SOME: &str = "eliza/password-reset.scenario.yaml";
pub(super) const ALL: &str = ".";

/// A run of shipped scenarios, not started yet.
pub(super) fn command(place: &Place, which: &str, out: &str) -> Command {
    place.write("gabfest.yaml", SETTINGS);
    let path = format!("{}/{which}", scenarios());
    let mut command = place.gabfest(&["run", &path, "--seed", "7", "--out", out, "--quiet"]);
    // `--quiet` prints only errors, but the log level here is explicit.
    command.env("GABFEST_LOG", "warn");
    command
}

/// A run of a few short conversations, not started yet.
pub(super) fn short_command(place: &Place, out: &str) -> Command {
    place.write("ask.scenario.yaml", crate::agents::ASK);
    place.gabfest(&["run", "ask.scenario.yaml", "--seed", "7", "--repeats", "20", "--out", out])
}

/// Sets the collector's address and protocol. The queues have room for the whole run.
pub(super) fn exporting<'a>(command: &'a mut Command, address: &str, protocol: &str) -> &'a mut Command {
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        .env("OTEL_BSP_MAX_QUEUE_SIZE", "20000")
        .env("OTEL_BLRP_MAX_QUEUE_SIZE", "20000")
}

pub(super) fn ended(command: &mut Command) -> Ended {
    Ended::from(command.output().unwrap())
}
