//! A collector that takes OTLP by gRPC, and keeps it in the form that it has as JSON.

use std::net::TcpListener;

use opentelemetry_proto::tonic::collector::{
    logs::v1::{
        ExportLogsServiceRequest, ExportLogsServiceResponse,
        logs_service_server::{LogsService, LogsServiceServer},
    },
    metrics::v1::{
        ExportMetricsServiceRequest, ExportMetricsServiceResponse,
        metrics_service_server::{MetricsService, MetricsServiceServer},
    },
    trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
};
use serde::Serialize;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{
    Request, Response, Status, async_trait,
    codec::CompressionEncoding,
    transport::{Server, ServerTlsConfig},
};

use super::Got;

/// Serves in its own thread until the test is over.
pub(super) fn serve(listener: TcpListener, tls: Option<ServerTlsConfig>, kept: Got) {
    let mut server = Server::builder();
    if let Some(tls) = tls {
        server = server.tls_config(tls).unwrap();
    }
    let zipped = CompressionEncoding::Gzip;
    let collector = Collector { kept };
    let router = server
        .add_service(TraceServiceServer::new(collector.clone()).accept_compressed(zipped))
        .add_service(MetricsServiceServer::new(collector.clone()).accept_compressed(zipped))
        .add_service(LogsServiceServer::new(collector).accept_compressed(zipped));
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            router.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap();
        });
    });
}

#[derive(Clone)]
struct Collector {
    kept: Got,
}

impl Collector {
    fn keep(&self, path: &str, message: &impl Serialize) {
        self.kept.lock().unwrap().push((path.to_owned(), serde_json::to_vec(message).unwrap()));
    }
}

#[async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.keep("/v1/traces", request.get_ref());
        Ok(Response::new(Default::default()))
    }
}

#[async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.keep("/v1/metrics", request.get_ref());
        Ok(Response::new(Default::default()))
    }
}

#[async_trait]
impl LogsService for Collector {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        self.keep("/v1/logs", request.get_ref());
        Ok(Response::new(Default::default()))
    }
}
