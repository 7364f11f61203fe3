//! Collectors over TLS: gabfest trusts the configured authority, and presents its certificate if the collector requires
//! one.

use std::path::Path;

use super::{
    authority::Authority,
    playing::{ended, exporting, short_command},
    receiver::{PROTOCOLS, Receiver},
};
use crate::process::{Ended, Place};

#[test]
fn a_collector_behind_tls_is_known_by_its_authority() {
    let place = Place::new();
    let authority = Authority::new("trusted");
    let trusted = authority.file(&place, "trusted.pem");
    let client = authority.client(&place);
    for (number, protocol) in PROTOCOLS.iter().enumerate() {
        for asks in [false, true] {
            let receiver = Receiver::speaking(protocol, Some(&authority.doorkeeper(asks)));
            let out = format!("{number}-{asks}");
            let mut command = short_command(&place, &out);
            let ended = play(exporting(&mut command, &receiver.address, protocol), &trusted, asks.then_some(&client));
            assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{protocol} {asks}");
            let (spans, records) = (receiver.spans().len(), receiver.records().len());
            let figures = !receiver.points("gabfest.conversations").is_empty();
            assert!(spans == 20 * 4 + 1 && records >= 20 && figures, "{protocol} {asks}: {spans} {records} {figures}");
        }
    }
}

#[test]
fn an_untrusted_collector_receives_nothing() {
    let place = Place::new();
    let plain = ended(short_command(&place, "plain").arg("--quiet"));
    let expected = place.view("plain");
    let (authority, other) = (Authority::new("trusted"), Authority::new("other"));
    let (trusted, wrong) = (authority.file(&place, "trusted.pem"), other.file(&place, "other.pem"));
    for protocol in ["grpc", "http/protobuf"] {
        for (name, asks, certificate) in [("unknown", false, &wrong), ("unasked", true, &trusted)] {
            let receiver = Receiver::speaking(protocol, Some(&authority.doorkeeper(asks)));
            let out = format!("{name}-{}", protocol.replace('/', "-"));
            let mut command = short_command(&place, &out);
            let ended = play(exporting(&mut command, &receiver.address, protocol), certificate, None);
            assert_eq!(ended.code, plain.code, "{out}: {}", ended.stderr);
            assert_eq!(place.view(&out), expected, "{out}");
            assert_eq!(ended.stderr.matches("telemetry cannot be exported").count(), 1, "{out}: {}", ended.stderr);
            assert_eq!(ended.stderr.lines().count(), plain.stderr.lines().count() + 1, "{out}: {}", ended.stderr);
            assert!(name != "unknown" || ended.stderr.contains("UnknownIssuer"), "{out}: {}", ended.stderr);
            assert!(receiver.bytes().is_empty(), "{out}");
        }
    }
}

#[test]
fn a_file_without_a_certificate_is_reported_before_anything_is_played() {
    let place = Place::new();
    let empty = place.write("empty.pem", "there was one once");
    for protocol in ["grpc", "http/protobuf"] {
        for (client, expected) in [
            (None, "empty.pem: expected certificates in PEM"),
            (Some(&[empty.clone(), empty.clone()]), "empty.pem: expected a certificate and its private key in PEM"),
        ] {
            let authority = Authority::new("trusted").file(&place, "trusted.pem");
            let trusted = if client.is_some() { &authority } else { &empty };
            let mut command = short_command(&place, "out");
            let ended = play(exporting(&mut command, "https://127.0.0.1:9", protocol), trusted, client);
            assert_eq!(ended.code, 2, "{protocol}: {}", ended.stderr);
            assert!(ended.stderr.contains(expected), "{protocol}: {}", ended.stderr);
        }
    }
}

fn play(command: &mut std::process::Command, authority: &Path, client: Option<&[std::path::PathBuf; 2]>) -> Ended {
    command.arg("--quiet").env("GABFEST_LOG", "warn");
    command.env("OTEL_EXPORTER_OTLP_CERTIFICATE", authority).env("OTEL_BSP_SCHEDULE_DELAY", "100");
    if let Some([certificate, key]) = client {
        command.env("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", certificate).env("OTEL_EXPORTER_OTLP_CLIENT_KEY", key);
    }
    ended(command)
}
