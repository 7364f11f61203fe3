//! The gRPC services of the coordinator: for workers, for people, health and reflection.

use std::time::Duration;

use proto::v1::{coordinator_server::CoordinatorServer, runs_server::RunsServer};
use store::Store;
use tonic::transport::server::Router;

use self::{people::People, workers::Workers};
use crate::Handle;

mod batch;
mod parts;
mod people;
mod readable;
mod status;
mod transcripts;
mod workers;

/// HTTP/2 pings find a peer that vanished without closing its connection. They are off by default.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// When the store falls behind, this window fills, and workers stop starting turns.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
const HEADER_BYTES: u32 = 16 << 10;

/// Every service of the coordinator, ready to be served over any transport.
///
/// # Errors
/// The descriptors that reflection serves cannot be read.
pub async fn router<S: Store>(handle: Handle<S>) -> Result<Router, tonic_reflection::server::Error> {
    let (health, health_server) = tonic_health::server::health_reporter();
    health.set_serving::<CoordinatorServer<Workers<S>>>().await;
    health.set_serving::<RunsServer<People<S>>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTOR)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()?;
    let workers = CoordinatorServer::new(Workers::new(handle.clone()))
        .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(proto::MAX_MESSAGE_BYTES);
    let people = RunsServer::new(People::new(handle))
        .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(proto::MAX_MESSAGE_BYTES);
    Ok(tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .http2_max_header_list_size(HEADER_BYTES)
        .tcp_nodelay(true)
        .add_service(health_server)
        .add_service(reflection)
        .add_service(workers)
        .add_service(people))
}
