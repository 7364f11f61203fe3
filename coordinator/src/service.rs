//! The gRPC services of the coordinator: for workers, for people, for certificates, health and reflection.
//!
//! [`routes`] are the services of a coordinator that is in charge. A [`front`] answers for every coordinator of a fleet, and
//! relays calls to the one in charge.

use std::{sync::Arc, time::Duration};

use proto::v1::{
    certificates_server::CertificatesServer, coordinator_server::CoordinatorServer, runs_server::RunsServer,
};
use store::Store;
use tonic::{service::Routes, transport::Server};
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};

use self::{access::Guarded, certificates::Certificates, people::People, workers::Workers};
use crate::{Clock, Gate, Handle};

mod access;
mod attempts;
mod batch;
mod certificates;
mod front;
mod limits;
mod parts;
mod people;
mod readable;
mod relay;
mod relayed;
mod status;
pub mod transcripts;
mod workers;

pub use front::{Front, Place, Switch};
#[cfg(any(test, fuzzing))]
pub use workers::fuzzing;

/// HTTP/2 pings find a peer that vanished without closing its connection. They are off by default.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// More than a worker has in flight (`worker/src/session/pipe.rs`), so that only other clients fill it.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
const HEADER_BYTES: u32 = 16 << 10;
/// A request for a certificate, which a client without one may send.
const LARGEST_REQUEST: usize = 16 << 10;

/// The services of a coordinator that is in charge. With certificates, each connection must tell its
/// [`Visitor`](crate::Visitor).
pub fn routes<S: Store>(handle: Handle<S>, gate: &Gate) -> Routes {
    let clock = handle.clock().clone();
    let workers = CoordinatorServer::new(Workers::new(handle.clone()))
        .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(proto::MAX_MESSAGE_BYTES);
    let certificates = certificates(handle.store(), gate, &clock);
    let people = RunsServer::new(People::new(handle))
        .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(proto::MAX_MESSAGE_BYTES);
    let routes = Routes::new(guarded(workers, gate, &clock)).add_service(guarded(people, gate, &clock));
    match certificates {
        Some(certificates) => routes.add_service(guarded(certificates, gate, &clock)),
        None => routes,
    }
}

/// How a coordinator speaks HTTP/2.
#[must_use]
pub fn server() -> Server {
    Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .http2_max_header_list_size(HEADER_BYTES)
        .tcp_nodelay(true)
}

fn reflection() -> Result<ServerReflectionServer<impl ServerReflection>, tonic_reflection::server::Error> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTOR)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
}

fn certificates<S: Store>(store: &Arc<S>, gate: &Gate, clock: &Clock) -> Option<CertificatesServer<Certificates<S>>> {
    let Gate::Certificates(authority) = gate else { return None };
    let service = Certificates { authority: Arc::clone(authority), store: Arc::clone(store), clock: clock.clone() };
    Some(CertificatesServer::new(service).max_decoding_message_size(LARGEST_REQUEST))
}

fn guarded<S>(service: S, gate: &Gate, clock: &Clock) -> Guarded<S> {
    Guarded { service, gate: gate.clone(), clock: clock.clone() }
}
