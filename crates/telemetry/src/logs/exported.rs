//! Log lines as OpenTelemetry records, as soon as an exporter exists.

use std::sync::{OnceLock, PoisonError, RwLock};

use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    layer::Context,
    registry::LookupSpan,
    reload::{self, Handle},
};

use crate::otel::clean::{CleanLogger, CleanProvider};

type Bridge = OpenTelemetryTracingBridge<CleanProvider, CleanLogger>;

/// A process has one subscriber, so it has one of each.
static BRIDGE: RwLock<Option<Bridge>> = RwLock::new(None);
static FILTER: OnceLock<Handle<EnvFilter, Registry>> = OnceLock::new();

/// The crates whose events are exported. Events of libraries are left out: a reviewer of a run does not need them, and
/// exporting messages about exports would never end.
const OWN: [&str; 8] = ["coordinator", "gabfest", "listen", "llm", "pki", "store", "telemetry", "worker"];

/// The filter of exported events.
fn directives() -> String {
    OWN.iter().fold("off".to_owned(), |list, own| list + "," + own + "=info")
}

/// The layer that passes events to the exporter. Without an exporter it costs nothing.
pub(super) fn layer() -> impl Layer<Registry> {
    let (filter, handle) = reload::Layer::new(EnvFilter::new("off"));
    // A second subscriber is refused when it is installed.
    let _ = FILTER.set(handle);
    Exported.with_filter(filter)
}

pub(crate) fn begin(provider: &SdkLoggerProvider) {
    let bridge = OpenTelemetryTracingBridge::new(&CleanProvider(provider.clone()));
    *BRIDGE.write().unwrap_or_else(PoisonError::into_inner) = Some(bridge);
    choose(&directives());
}

pub(crate) fn end() {
    choose("off");
    *BRIDGE.write().unwrap_or_else(PoisonError::into_inner) = None;
}

fn choose(directives: &str) {
    if let Some(filter) = FILTER.get() {
        // A dropped subscriber has nothing to filter.
        let _ = filter.reload(EnvFilter::new(directives));
    }
}

#[derive(Debug)]
struct Exported;

impl<S> Layer<S> for Exported
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if let Some(bridge) = &*BRIDGE.read().unwrap_or_else(PoisonError::into_inner) {
            bridge.on_event(event, context);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::Path,
        sync::{Arc, Mutex},
    };

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// The targets of the events that it sees.
    struct Seen(Arc<Mutex<Vec<String>>>);

    impl<S: Subscriber> Layer<S> for Seen {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let metadata = event.metadata();
            self.0.lock().unwrap().push(format!("{} {}", metadata.level(), metadata.target()));
        }
    }

    #[test]
    fn only_lines_of_gabfest_are_exported() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let layer = Seen(Arc::clone(&seen)).with_filter(EnvFilter::new(directives()));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(target: "worker::session", "");
            tracing::debug!(target: "worker::session", "");
            tracing::warn!(target: "gabfest", "");
            tracing::error!(target: "sqlx::query", "");
            tracing::info!(target: "rmcp::service", "");
            tracing::warn!(target: "opentelemetry_sdk", "");
            tracing::info!(target: "hyper_util::client", "");
        });
        assert_eq!(*seen.lock().unwrap(), ["INFO worker::session", "WARN gabfest"]);
    }

    #[test]
    fn every_crate_that_logs_is_exported() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
        let crates = crates.chain(["coordinator", "proto", "worker"].map(|name| root.join(name)));
        let mut libraries = Vec::new();
        for manifest in crates.map(|folder| folder.join("Cargo.toml")).filter(|manifest| manifest.is_file()) {
            let text = fs::read_to_string(&manifest).unwrap();
            // `tracing` without a library is the program, `gabfest`.
            if text.contains("\ntracing.workspace = true") {
                let library = text.split_once("[lib]").and_then(|(_, rest)| rest.split('"').nth(1));
                libraries.push(library.unwrap_or("gabfest").to_owned());
            }
        }
        assert!(libraries.len() > 3, "{libraries:?}");
        let missing: Vec<_> = libraries.iter().filter(|name| !OWN.contains(&name.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
