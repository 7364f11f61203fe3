//! Who speaks: the attributes that every span, metric and log record of a process shares.

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;

use super::Config;

/// A process, as the binary's edge knows it.
#[derive(Debug, Clone, Copy)]
pub struct Service<'a> {
    /// `gabfest`, `gabfest-coordinator` or `gabfest-worker`, unless a variable says otherwise.
    pub name: &'a str,
    pub version: &'a str,
    /// Tells two processes of one name apart.
    pub instance: &'a str,
}

pub(super) fn resource(config: &Config, service: Service<'_>) -> Resource {
    let name = config.service_name.clone().unwrap_or_else(|| service.name.to_owned());
    let written = config.attributes.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Resource::builder_empty()
        .with_attributes([
            KeyValue::new("telemetry.sdk.name", "opentelemetry"),
            KeyValue::new("telemetry.sdk.language", "rust"),
            KeyValue::new("service.version", service.version.to_owned()),
            KeyValue::new("service.instance.id", service.instance.to_owned()),
        ])
        // What the operator writes counts more than what we know.
        .with_attributes(written)
        .with_attribute(KeyValue::new("service.name", name))
        .build()
}
