//! Reads and validates the `OTEL_*` variables; invalid values are reported.

mod batch;
mod sampler;
mod target;
mod variables;

use std::time::Duration;

use opentelemetry_sdk::metrics::Temporality;

pub use batch::Batch;
pub use sampler::Sampler;
pub use target::{Target, Tls};
pub use variables::Error;

use variables::Variables;

/// The specification's default of `OTEL_METRIC_EXPORT_INTERVAL`.
const METRIC_INTERVAL: Duration = Duration::from_secs(60);
/// The default of `OTEL_METRIC_EXPORT_TIMEOUT`.
const METRIC_TIMEOUT: Duration = Duration::from_secs(30);
/// The default length limit of a text attribute.
const MOST_TEXT_BYTES: usize = 16 << 10;

/// The targets and settings of telemetry. `None` if a signal is off.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub traces: Option<Target>,
    pub metrics: Option<Target>,
    pub logs: Option<Target>,
    /// `OTEL_SERVICE_NAME`, or the `service.name` of `OTEL_RESOURCE_ATTRIBUTES`.
    pub service_name: Option<String>,
    /// `OTEL_RESOURCE_ATTRIBUTES` without the service's name.
    pub attributes: Vec<(String, String)>,
    /// The sampler for trials that did not fail.
    pub sampler: Sampler,
    pub spans: Batch,
    pub records: Batch,
    pub metric_interval: Duration,
    pub metric_timeout: Duration,
    pub temporality: Temporality,
    /// Whether to export message contents.
    pub content: bool,
    /// The longest text of an attribute, in bytes.
    pub most_text_bytes: usize,
    /// Variables that were ignored because of invalid values. Empty if nothing is exported.
    pub warnings: Vec<Error>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            traces: None,
            metrics: None,
            logs: None,
            service_name: None,
            attributes: Vec::new(),
            sampler: Sampler::Paced,
            spans: Batch::OF_SPANS,
            records: Batch::OF_RECORDS,
            metric_interval: METRIC_INTERVAL,
            metric_timeout: METRIC_TIMEOUT,
            temporality: Temporality::Cumulative,
            content: false,
            most_text_bytes: MOST_TEXT_BYTES,
            warnings: Vec::new(),
        }
    }
}

impl Config {
    /// Reads the environment of this process.
    pub fn from_env() -> Result<Self, Error> {
        Self::read(|name| std::env::var_os(name))
    }

    /// Reads an environment. Empty variables count as missing, as the specification requires.
    pub fn read(lookup: impl Fn(&str) -> Option<std::ffi::OsString>) -> Result<Self, Error> {
        let variables = Variables::new(&lookup);
        if variables.flag("OTEL_SDK_DISABLED")?.unwrap_or(false) {
            return Ok(Self::default());
        }
        let mut attributes = variables.pairs("OTEL_RESOURCE_ATTRIBUTES")?;
        let service_name = service_name(&variables, &mut attributes)?;
        let config = Self {
            traces: target::read(&variables, "TRACES")?,
            metrics: target::read(&variables, "METRICS")?,
            logs: target::read(&variables, "LOGS")?,
            service_name,
            attributes,
            sampler: sampler::read(&variables)?,
            spans: batch::read(&variables, "BSP", Batch::OF_SPANS)?,
            records: batch::read(&variables, "BLRP", Batch::OF_RECORDS)?,
            metric_interval: variables.millis("OTEL_METRIC_EXPORT_INTERVAL")?.unwrap_or(METRIC_INTERVAL),
            metric_timeout: variables.millis("OTEL_METRIC_EXPORT_TIMEOUT")?.unwrap_or(METRIC_TIMEOUT),
            temporality: temporality(&variables)?,
            content: content(&variables)?,
            most_text_bytes: most_text_bytes(&variables)?,
            warnings: Vec::new(),
        };
        let warnings = if config.is_on() { variables.into_warnings() } else { Vec::new() };
        Ok(Self { warnings, ..config })
    }

    /// Whether any signal is exported.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.traces.is_some() || self.metrics.is_some() || self.logs.is_some()
    }
}

/// Removes the service's name from the attributes; its own variable takes precedence.
fn service_name(variables: &Variables<'_>, attributes: &mut Vec<(String, String)>) -> Result<Option<String>, Error> {
    let mut name = variables.text("OTEL_SERVICE_NAME")?;
    attributes.retain(|(key, value)| {
        let is_name = key == "service.name";
        if is_name && name.is_none() {
            name = Some(value.clone());
        }
        !is_name
    });
    Ok(name)
}

fn temporality(variables: &Variables<'_>) -> Result<Temporality, Error> {
    const NAME: &str = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
    let temporality = variables.word(NAME, "cumulative, delta or lowmemory", |word| match word {
        "cumulative" => Some(Temporality::Cumulative),
        "delta" => Some(Temporality::Delta),
        "lowmemory" => Some(Temporality::LowMemory),
        _ => None,
    })?;
    Ok(temporality.unwrap_or(Temporality::Cumulative))
}

/// Off by default, because message contents can be confidential.
fn content(variables: &Variables<'_>) -> Result<bool, Error> {
    const NAME: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
    let content = variables.word(NAME, "true, SPAN_ONLY, false or NO_CONTENT", |word| match word {
        // gabfest has no message events, so a request for spans and events exports spans.
        "true" | "span_only" | "span_and_event" => Some(true),
        "false" | "no_content" | "event_only" => Some(false),
        _ => None,
    })?;
    Ok(content.unwrap_or(false))
}

fn most_text_bytes(variables: &Variables<'_>) -> Result<usize, Error> {
    let of_spans = variables.count("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", 1)?;
    let of_all = variables.count("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", 1)?;
    Ok(of_spans.or(of_all).map_or(MOST_TEXT_BYTES, |limit| limit.min(MOST_TEXT_BYTES)))
}

#[cfg(test)]
mod tests;
