//! The exporter, by gRPC or HTTP, wrapped in a watch.

use std::time::Duration;

use opentelemetry_otlp::Protocol;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    logs::LogBatch,
    metrics::{Temporality, data::ResourceMetrics, exporter::PushMetricExporter},
    trace::SpanData,
};

use super::{
    config::Target,
    connection::{grpc, http},
    error::Error,
    queue::Queue,
    watch::Watch,
};

/// An exporter for the reader of a meter provider: it never returns an error and never hangs.
#[derive(Debug)]
pub struct MetricExporter {
    inner: opentelemetry_otlp::MetricExporter,
    watch: Watch,
}

impl MetricExporter {
    pub(super) fn new(target: &Target, temporality: Temporality, watch: Watch) -> Result<Self, Error> {
        let builder = opentelemetry_otlp::MetricExporter::builder().with_temporality(temporality);
        let inner = match target.protocol {
            Protocol::Grpc => grpc(builder.with_tonic(), target)?.build(),
            _ => http(builder.with_http(), target, &watch.cause)?.build(),
        };
        Ok(Self { inner: inner?, watch })
    }
}

impl PushMetricExporter for MetricExporter {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        // The watch logs a failure once; the SDK would log it each time.
        drop(self.watch.send(self.inner.export(metrics)).await);
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.inner.temporality()
    }
}

/// An exporter for the processors of spans and log records; it counts lost items.
#[derive(Debug)]
pub(super) struct Counted<E> {
    inner: E,
    watch: Watch,
    queue: Queue,
}

impl<E> Counted<E> {
    /// Never returns an error: the watch logs a failure once, the SDK would log it each time.
    async fn send(&self, count: usize, export: impl Future<Output = OTelSdkResult>) -> OTelSdkResult {
        self.queue.leave(count);
        if self.watch.send(export).await.is_err() {
            self.queue.lost(count);
        }
        Ok(())
    }
}

pub(super) type SpanExporter = Counted<opentelemetry_otlp::SpanExporter>;
pub(super) type LogExporter = Counted<opentelemetry_otlp::LogExporter>;

impl SpanExporter {
    pub(super) fn new(target: &Target, watch: Watch, queue: Queue) -> Result<Self, Error> {
        let builder = opentelemetry_otlp::SpanExporter::builder();
        let inner = match target.protocol {
            Protocol::Grpc => grpc(builder.with_tonic(), target)?.build(),
            _ => http(builder.with_http(), target, &watch.cause)?.build(),
        };
        Ok(Self { inner: inner?, watch, queue })
    }
}

impl opentelemetry_sdk::trace::SpanExporter for SpanExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.send(batch.len(), self.inner.export(batch)).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl LogExporter {
    pub(super) fn new(target: &Target, watch: Watch, queue: Queue) -> Result<Self, Error> {
        let builder = opentelemetry_otlp::LogExporter::builder();
        let inner = match target.protocol {
            Protocol::Grpc => grpc(builder.with_tonic(), target)?.build(),
            _ => http(builder.with_http(), target, &watch.cause)?.build(),
        };
        Ok(Self { inner: inner?, watch, queue })
    }
}

impl opentelemetry_sdk::logs::LogExporter for LogExporter {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        self.send(batch.iter().count(), self.inner.export(batch)).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
