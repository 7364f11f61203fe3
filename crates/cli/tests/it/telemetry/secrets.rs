//! No collector receives a key, and invalid variables are reported instead of guessed.

use super::{
    playing::{ended, exporting, short_command},
    receiver::{Receiver, attribute},
};
use crate::process::Place;

const KEY: &str = "sk-planted-0123456789abcdef";

#[test]
fn an_invalid_value_is_reported_at_once() {
    let place = Place::new();
    let play =
        |out: &str, variables: &[(&str, &str)]| ended(short_command(&place, out).envs(variables.iter().copied()));
    let ended = play("out", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318")]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    let expected = "OTEL_EXPORTER_OTLP_ENDPOINT=\"localhost:4318\": expected an address";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    let stray = play("stray", &[("OTEL_METRICS_EXPORTER", "prometheus")]);
    assert!(stray.code == 0 && !stray.stderr.contains("OTEL_"), "{}", stray.stderr);
    let warned = play(
        "odd",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("OTEL_LOGS_EXPORTER", "olpt,otlp"),
        ],
    );
    let expected = "OTEL_LOGS_EXPORTER=\"olpt,otlp\": expected otlp or none; the variable is left aside";
    assert!(warned.code == 0 && warned.stderr.contains(expected), "{}", warned.stderr);
}

#[test]
fn no_collector_receives_a_key() {
    let place = Place::new();
    place.write("ask.scenario.yaml", crate::agents::ASK);
    let receiver = Receiver::speaking("http/json", None);
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
        let mut command = place.gabfest(&["run", "ask.scenario.yaml", "--agent", "bad", "--out", name, "--quiet"]);
        let output = exporting(&mut command, &receiver.address, "http/json")
            .env("PLANTED", KEY)
            .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20planted-header-9876543210")
            .env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
            .output()
            .unwrap();
        assert!(output.status.code().is_some_and(|code| code < 4), "{name}: {output:?}");
    }
    let spans = receiver.spans();
    assert!(spans.iter().any(|span| attribute(span, "gen_ai.input.messages").is_some()), "{spans:?}");
    assert_eq!(spans.iter().filter(|span| attribute(span, "gabfest.trial.id").is_some()).count(), 3);
    for bytes in receiver.bytes() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("planted"), "{text}");
    }
}
