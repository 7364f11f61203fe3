use opentelemetry_otlp::{Compression, Protocol};

use super::*;

fn read(written: &[(&str, &str)]) -> Result<Config, Error> {
    let written: Vec<(String, String)> =
        written.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Config::read(move |name| written.iter().find(|(known, _)| known == name).map(|(_, value)| value.into()))
}

#[test]
fn nothing_is_sent_unless_it_is_asked_for() {
    const ADDRESS: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
    for (written, on) in [
        (vec![], [false; 3]),
        (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "  ")], [false; 3]),
        (vec![("OTEL_SERVICE_NAME", "x")], [false; 3]),
        (vec![ADDRESS], [true; 3]),
        (vec![ADDRESS, ("OTEL_SDK_DISABLED", "true")], [false; 3]),
        (vec![ADDRESS, ("OTEL_LOGS_EXPORTER", "none")], [true, true, false]),
        (vec![("OTEL_TRACES_EXPORTER", "otlp")], [true, false, false]),
        (vec![("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://c/m")], [false, true, false]),
    ] {
        let config = read(&written).unwrap();
        let found = [config.traces.is_some(), config.metrics.is_some(), config.logs.is_some()];
        assert_eq!(found, on, "{written:?}");
        assert_eq!(config.is_on(), on.contains(&true));
    }
}

#[test]
fn addresses_get_their_paths_and_schemes() {
    for (written, endpoint, protocol) in [
        (vec![("OTEL_TRACES_EXPORTER", "otlp")], "http://localhost:4318/v1/traces", Protocol::HttpBinary),
        (
            vec![("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
            "http://localhost:4317",
            Protocol::Grpc,
        ),
        (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1/x/")], "http://c:1/x/v1/traces", Protocol::HttpBinary),
        (
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1/x/?tenant=night-shift")],
            "http://c:1/x/v1/traces?tenant=night-shift",
            Protocol::HttpBinary,
        ),
        (
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"), ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d:2/t")],
            "http://d:2/t",
            Protocol::HttpBinary,
        ),
        (
            vec![
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4317"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
                ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
                ("OTEL_METRICS_EXPORTER", "none"),
                ("OTEL_LOGS_EXPORTER", "none"),
            ],
            "https://c:4317",
            Protocol::Grpc,
        ),
        (
            vec![
                ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "c:4317"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                ("OTEL_EXPORTER_OTLP_INSECURE", "true"),
            ],
            "http://c:4317",
            Protocol::Grpc,
        ),
    ] {
        let target = read(&written).unwrap().traces.unwrap();
        assert_eq!((target.endpoint.as_str(), target.protocol), (endpoint, protocol), "{written:?}");
    }
}

#[test]
fn the_rest_is_read_too() {
    let config = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "500"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "none"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20hunter2hunter2"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=mine, team=a%2Cb"),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "100"),
        ("OTEL_BLRP_SCHEDULE_DELAY", "20"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1000"),
        ("OTEL_METRIC_EXPORT_TIMEOUT", "900"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "Delta"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "64"),
    ])
    .unwrap();
    let (traces, logs) = (config.traces.clone().unwrap(), config.logs.clone().unwrap());
    assert_eq!((traces.timeout.as_millis(), logs.timeout.as_millis()), (500, 2_500));
    assert_eq!((traces.compression, logs.compression), (Some(Compression::Gzip), None));
    assert_eq!(traces.tls.certificate.as_deref(), Some(std::path::Path::new("ca.pem")));
    assert_eq!(config.service_name.as_deref(), Some("mine"));
    assert_eq!(config.attributes, [("team".to_owned(), "a,b".to_owned())]);
    assert_eq!(config.sampler, Sampler::Share(0.25));
    assert_eq!((config.spans.queue, config.spans.size, config.records.delay.as_millis()), (100, 100, 20));
    assert_eq!((config.metric_interval.as_millis(), config.metric_timeout.as_millis()), (1_000, 900));
    assert_eq!((config.temporality, config.content, config.most_text_bytes), (Temporality::Delta, true, 64));
    assert_eq!(redact::redact("Basic hunter2hunter2"), "[redacted]");
    assert_eq!(redact::redact("it is hunter2hunter2."), "it is [redacted].");
}

#[test]
fn an_invalid_value_is_reported_and_ignored() {
    let on = ("OTEL_TRACES_EXPORTER", "otlp");
    let plain = read(&[on]).unwrap();
    for (name, value, expected) in [
        ("OTEL_METRICS_EXPORTER", "prometheus", "otlp or none"),
        ("OTEL_SDK_DISABLED", "yes", "true or false"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "thrift", "grpc, http/protobuf or http/json"),
        ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "zstd", "gzip or none"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0", "milliseconds: a whole number from 1 on"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "milliseconds: a whole number from 1 on"),
        ("OTEL_EXPORTER_OTLP_INSECURE", "1", "true or false"),
        ("OTEL_TRACES_SAMPLER", "parentbased_jaeger_remote", "always_on, always_off"),
        ("OTEL_TRACES_SAMPLER_ARG", "1.5", "a share from 0 to 1"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "a whole number from 1 on"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "9999", "no more than OTEL_BSP_MAX_QUEUE_SIZE (2048)"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "none", "cumulative, delta or lowmemory"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "all", "true, SPAN_ONLY, false or NO_CONTENT"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "-1", "a whole number from 1 on"),
    ] {
        let mut config = read(&[on, (name, value)]).unwrap();
        let told: Vec<String> = std::mem::take(&mut config.warnings).iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with(&format!("read {name}={value:?}: expected {expected}")), "{told:?}");
        assert_eq!(config, plain, "{name} counts as missing");
        let off = read(&[(name, value)]).unwrap();
        assert_eq!(off.warnings, [], "where nothing is sent, nobody is bothered");
    }
    let both = read(&[("OTEL_TRACES_EXPORTER", "otlp, console")]).unwrap();
    assert_eq!((both.traces.is_some(), both.warnings.len()), (true, 1));
    let other = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"), ("OTEL_TRACES_EXPORTER", "console")]).unwrap();
    assert_eq!((other.traces.is_some(), other.logs.is_some(), other.warnings.len()), (false, true, 1));
}

#[test]
fn where_it_goes_and_with_which_keys_must_be_right() {
    let on = ("OTEL_TRACES_EXPORTER", "otlp");
    for (name, value, expected) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "an address such as http://localhost:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://", "an address such as http://localhost:4318"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "k.pem", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE beside it"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team", "key=value,key=value"),
    ] {
        let error = read(&[on, (name, value)]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("read {name}={value:?}: expected {expected}")), "{error}");
    }
    let error = read(&[on, ("OTEL_EXPORTER_OTLP_HEADERS", "hunter3hunter3")]).unwrap_err().to_string();
    assert_eq!(error, "read OTEL_EXPORTER_OTLP_HEADERS: expected key=value,key=value");
}

#[test]
fn credentials_in_an_address_are_never_shown() {
    for name in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] {
        for address in ["http://me:hunter4hunter4@c:4318", "hunter4hunter4@c:4317", "htp://me:hunter4hunter4@c"] {
            for protocol in ["grpc", "http/protobuf"] {
                let error = read(&[(name, address), ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)]).unwrap_err();
                let expected = "expected an address without a name and a password";
                assert!(error.to_string().starts_with(&format!("read {name}: {expected}")), "{error}");
                assert!(!format!("{error:?}").contains("hunter4"), "{error:?}");
            }
        }
    }
    let address = "htp://c:4318/?api-key=hunter5%2Fhunter5&token=hunter6hunter6#x";
    let error = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", address)]).unwrap_err().to_string();
    assert!(error.contains("htp://c:4318/?api-key=[redacted]&token=[redacted]"), "{error}");
    assert_eq!(redact::redact("hunter5/hunter5 or hunter5%2Fhunter5"), "[redacted] or [redacted]");
}
