//! The resource: attributes that all spans, metrics and log records of a process share.

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;

use super::Config;
use redact::redact;

/// The identity of a process.
#[derive(Debug, Clone, Copy)]
pub struct Service<'a> {
    /// `gabfest`, `gabfest-coordinator` or `gabfest-worker`; a variable overrides it.
    pub name: &'a str,
    pub version: &'a str,
    /// Distinguishes processes with the same name.
    pub instance: &'a str,
}

/// Redacted, because a variable can contain anything, even a key.
pub(super) fn resource(config: &Config, service: Service<'_>) -> Resource {
    let clean = |text: &str| redact(text).into_owned();
    let name = config.service_name.as_deref().unwrap_or(service.name);
    let written = config.attributes.iter().map(|(key, value)| KeyValue::new(clean(key), clean(value)));
    Resource::builder_empty()
        .with_attributes([
            KeyValue::new("telemetry.sdk.name", "opentelemetry"),
            KeyValue::new("telemetry.sdk.language", "rust"),
            KeyValue::new("service.version", service.version.to_owned()),
            KeyValue::new("service.instance.id", clean(service.instance)),
        ])
        // The operator's values override ours.
        .with_attributes(written)
        .with_attribute(KeyValue::new("service.name", clean(name)))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_attributes_win_except_keys() {
        redact::register("resource/&\"key");
        let attributes = [("team", "a"), ("service.version", "9"), ("note", "it is resource/&\"key")];
        let attributes = attributes.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let config = Config { attributes, service_name: Some("resource/&\"key".to_owned()), ..Config::default() };
        let service = Service { name: "gabfest", version: "1", instance: "host-7" };
        let resource = resource(&config, service);
        let value = |key: &'static str| resource.get(&key.into()).map(|value| value.to_string());
        for (key, expected) in [
            ("service.name", "[redacted]"),
            ("service.version", "9"),
            ("service.instance.id", "host-7"),
            ("team", "a"),
            ("note", "it is [redacted]"),
        ] {
            assert_eq!(value(key).as_deref(), Some(expected), "{key}");
        }
    }
}
