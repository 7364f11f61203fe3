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

/// The filter of exported events. Libraries' messages about exports are excluded: exporting them would never end.
const DIRECTIVES: &str = "info,h2=off,hyper=off,hyper_util=off,opentelemetry=off,reqwest=off,rustls=off,sqlx=warn,\
                          tonic=off,tower=off";

/// The layer that passes events to the exporter. Without an exporter it costs nothing.
pub(super) fn layer() -> impl Layer<Registry> {
    let (filter, handle) = reload::Layer::new(EnvFilter::new("off"));
    // A second subscriber is refused where it is installed.
    let _ = FILTER.set(handle);
    Exported.with_filter(filter)
}

pub(crate) fn begin(provider: &SdkLoggerProvider) {
    let bridge = OpenTelemetryTracingBridge::new(&CleanProvider(provider.clone()));
    *BRIDGE.write().unwrap_or_else(PoisonError::into_inner) = Some(bridge);
    choose(DIRECTIVES);
}

pub(crate) fn end() {
    choose("off");
    *BRIDGE.write().unwrap_or_else(PoisonError::into_inner) = None;
}

fn choose(directives: &str) {
    if let Some(filter) = FILTER.get() {
        // A subscriber that is gone has nothing to filter.
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
