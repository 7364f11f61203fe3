//! All metrics of a process and their outputs: a page for Prometheus, an exporter for OTLP, or both.

use opentelemetry::{KeyValue, metrics::MeterProvider as _};
use opentelemetry_sdk::metrics::{Instrument, MeterProviderBuilder, PeriodicReader, SdkMeterProvider, Stream};
use prometheus::{Registry, TextEncoder};

use super::{Coordinator, Worker, catalogue, catalogue::SIGNAL, instruments::counted};
use crate::{names::Conventions, otel::Telemetry};

/// The scope of every metric.
const SCOPE: &str = "gabfest";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("set up the page of metrics: {0}")]
    Page(String),
    #[error("write the page of metrics: {0}")]
    Write(#[from] prometheus::Error),
}

/// Creates the handles that record.
#[derive(Debug, Clone)]
pub struct Meters {
    provider: SdkMeterProvider,
    conventions: Conventions,
}

impl Meters {
    /// `None` without a page and a collector.
    pub fn start(
        telemetry: &mut Telemetry,
        page: Option<&Page>,
        conventions: Conventions,
    ) -> Result<Option<Self>, Error> {
        let exporter = telemetry.metric_exporter();
        if page.is_none() && exporter.is_none() {
            return Ok(None);
        }
        let mut builder = SdkMeterProvider::builder().with_resource(telemetry.resource().clone());
        if let Some(exporter) = exporter {
            let reader = PeriodicReader::builder(exporter).with_interval(telemetry.metric_interval());
            builder = builder.with_reader(reader.build());
        }
        if let Some(page) = page {
            builder = page.reads(builder)?;
        }
        let dropped = telemetry.dropped();
        let meters = Self::new(builder, conventions, move || [dropped.spans(), dropped.logs()]);
        telemetry.keep(meters.provider.clone());
        Ok(Some(meters))
    }

    /// `dropped` returns the number of lost spans and logs.
    pub(super) fn new(
        builder: MeterProviderBuilder,
        conventions: Conventions,
        dropped: impl Fn() -> [u64; 2] + Send + Sync + 'static,
    ) -> Self {
        let provider = builder.with_view(room).build();
        counted(&provider.meter(SCOPE), &catalogue::DROPPED, move |to| {
            for (signal, dropped) in ["spans", "logs"].into_iter().zip(dropped()) {
                to.observe(dropped, &[KeyValue::new(SIGNAL, signal)]);
            }
        });
        Self { provider, conventions }
    }

    #[must_use]
    pub fn worker(&self) -> Worker {
        Worker::new(&self.provider.meter(SCOPE), self.conventions)
    }

    #[must_use]
    pub fn coordinator(&self) -> Coordinator {
        Coordinator::new(&self.provider.meter(SCOPE))
    }
}

/// The number of series of the catalogue. The library has its own limit, beyond which it drops labels silently; our limit is
/// that of the labels.
fn room(instrument: &Instrument) -> Option<Stream> {
    let metric = catalogue::all().find(|metric| metric.name == instrument.name())?;
    Stream::builder().with_cardinality_limit(metric.most_series()).build().ok()
}

/// The page that Prometheus reads.
#[derive(Debug, Clone, Default)]
pub struct Page {
    registry: Registry,
}

impl Page {
    /// Lets the page show what a provider has.
    pub(super) fn reads(&self, builder: MeterProviderBuilder) -> Result<MeterProviderBuilder, Error> {
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(self.registry.clone())
            // Every series would carry the same scope.
            .scope_info_enabled(false)
            .build()
            .map_err(|error| Error::Page(error.to_string()))?;
        Ok(builder.with_reader(exporter))
    }

    /// All metrics in Prometheus' text format, as they are now.
    pub fn text(&self) -> Result<String, Error> {
        Ok(TextEncoder::new().encode_to_string(&self.registry.gather())?)
    }
}
