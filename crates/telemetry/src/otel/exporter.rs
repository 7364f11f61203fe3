//! What sends, by gRPC or HTTP, with a watch round it.

use std::time::Duration;

use opentelemetry_otlp::{
    ExporterBuildError, Protocol, WithExportConfig,
    tonic_types::transport::{Certificate, ClientTlsConfig, Identity},
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    logs::LogBatch,
    metrics::{Temporality, data::ResourceMetrics, exporter::PushMetricExporter},
    trace::SpanData,
};

use super::{
    config::{Target, Tls},
    queue::Queue,
    telemetry::Error,
    watch::Watch,
};

/// For the reader of a meter provider: it never fails loudly and never hangs.
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
            _ => http(builder.with_http(), target)?.build(),
        };
        Ok(Self { inner: inner?, watch })
    }
}

impl PushMetricExporter for MetricExporter {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        // What failed is told once by the watch; the SDK would tell it each time.
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

/// For the processors of spans and of log records: what is lost is counted.
#[derive(Debug)]
pub(super) struct Counted<E> {
    inner: E,
    watch: Watch,
    queue: Queue,
}

impl<E> Counted<E> {
    /// Never fails loudly: the watch tells of a failure once, the SDK would each time.
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
            _ => http(builder.with_http(), target)?.build(),
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
            _ => http(builder.with_http(), target)?.build(),
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

impl From<ExporterBuildError> for Error {
    fn from(error: ExporterBuildError) -> Self {
        Self::Exporter(crate::redact(&error.to_string()).into_owned())
    }
}

fn grpc<B>(builder: B, target: &Target) -> Result<B, Error>
where
    B: WithExportConfig + opentelemetry_otlp::WithTonicConfig,
{
    let mut builder = builder.with_endpoint(target.endpoint.as_str()).with_timeout(target.timeout);
    if let Some(compression) = target.compression {
        builder = builder.with_compression(compression);
    }
    if target.endpoint.starts_with("http://") {
        return Ok(builder);
    }
    let Tls { certificate, client_certificate, client_key } = &target.tls;
    let mut tls = ClientTlsConfig::new().with_enabled_roots();
    if let Some(path) = certificate {
        tls = tls.ca_certificate(Certificate::from_pem(read(path)?));
    }
    if let (Some(certificate), Some(key)) = (client_certificate, client_key) {
        tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    Ok(builder.with_tls_config(tls))
}

fn http<B>(builder: B, target: &Target) -> Result<B, Error>
where
    B: WithExportConfig + opentelemetry_otlp::WithHttpConfig,
{
    let mut builder = builder
        .with_endpoint(target.endpoint.as_str())
        .with_timeout(target.timeout)
        .with_protocol(target.protocol)
        .with_http_client(client(target)?);
    if let Some(compression) = target.compression {
        builder = builder.with_compression(compression);
    }
    Ok(builder)
}

/// No proxy of the environment is asked, as nowhere in gabfest.
fn client(target: &Target) -> Result<reqwest::Client, Error> {
    let Tls { certificate, client_certificate, client_key } = &target.tls;
    let mut client = reqwest::Client::builder().no_proxy().timeout(target.timeout);
    if let Some(path) = certificate {
        let certificates = reqwest::Certificate::from_pem_bundle(&read(path)?);
        client = client.tls_certs_merge(certificates.map_err(|error| Error::Exporter(error.to_string()))?);
    }
    if let (Some(certificate), Some(key)) = (client_certificate, client_key) {
        let pem = [read(key)?, b"\n".to_vec(), read(certificate)?].concat();
        let identity = reqwest::Identity::from_pem(&pem);
        client = client.identity(identity.map_err(|error| Error::Exporter(error.to_string()))?);
    }
    client.build().map_err(|error| Error::Exporter(error.to_string()))
}

fn read(path: &std::path::Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::File { path: path.to_owned(), error })
}
