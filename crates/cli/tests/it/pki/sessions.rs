//! A worker's session belongs to the identity in its certificate.

use std::{fs, path::Path};

use proto::v1::{
    self, certificates_client::CertificatesClient, coordinator_client::CoordinatorClient,
    coordinator_message::Body as Order, worker_message::Body as Word,
};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::Fleet;

/// A client that is not ours, so that it can lie.
async fn channel(fleet: &Fleet, identity: &Path) -> Channel {
    let read = |name: &str| fs::read_to_string(identity.join(name)).unwrap();
    let own = read("identity.pem");
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(read("ca.pem")))
        .identity(Identity::from_pem(&own, &own))
        .domain_name("fleet.example");
    Endpoint::from_shared(fleet.address.clone()).unwrap().tls_config(tls).unwrap().connect().await.unwrap()
}

async fn join(channel: &Channel) -> v1::JoinReply {
    let asked = v1::JoinRequest { worker: "w".into(), slots: 1, version: "0".into(), protocol: proto::PROTOCOL };
    CoordinatorClient::new(channel.clone()).join(asked).await.unwrap().into_inner()
}

/// The coordinator's first words on a stream for this session.
async fn first_words(channel: &Channel, session: u64, token: &[u8]) -> Order {
    let (token, protocol) = (token.to_vec().into(), proto::PROTOCOL);
    let hello = v1::Hello { session, token, slots: 1, protocol, ..v1::Hello::default() };
    let said = vec![v1::WorkerMessage { body: Some(Word::Hello(hello)) }];
    let said = futures_util::StreamExt::chain(futures_util::stream::iter(said), futures_util::stream::pending());
    let mut orders = CoordinatorClient::new(channel.clone()).work(said).await.unwrap().into_inner();
    orders.message().await.unwrap().unwrap().body.unwrap()
}

#[tokio::test]
async fn another_workers_session_is_refused_even_with_its_token_and_a_renewed_certificate_keeps_it() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let fleet = Fleet::new();
    fleet.issue("worker", "a", &["--name", "same"]);
    fleet.issue("worker", "b", &["--name", "same"]);
    let (a, b) = (fleet.place.path().join("a"), fleet.place.path().join("b"));
    let (ours, theirs) = (channel(&fleet, &a).await, channel(&fleet, &b).await);
    let joined = join(&ours).await;
    let Order::Goodbye(refused) = first_words(&theirs, joined.session, &joined.token).await else {
        panic!("another worker has the session")
    };
    assert!(refused.reason.contains("belongs to another worker"), "{}", refused.reason);
    fleet.logs("a stream is refused: the session is another worker's");
    let Order::Goodbye(_) = first_words(&ours, joined.session, &[7; 16]).await else { panic!("any token will do") };
    let Order::Welcome(_) = first_words(&ours, joined.session, &joined.token).await else {
        panic!("the session is not its own worker's")
    };

    let request = pki::Request::new().unwrap();
    let asked = v1::RenewRequest { request: request.bytes().to_vec().into() };
    let reply = CertificatesClient::new(ours).renew(asked).await.unwrap().into_inner();
    let authorities = reply.authorities.into_iter().map(Into::into).collect();
    let issued = pki::Issued { certificate: reply.certificate.into(), authorities };
    let renewed = fleet.place.path().join("renewed");
    request.answered(&issued).unwrap().save(&renewed).unwrap();
    let other = |folder: &Path| fs::read_to_string(folder.join("identity.pem")).unwrap();
    assert_ne!(other(&renewed), other(&a));
    let Order::Welcome(_) = first_words(&channel(&fleet, &renewed).await, joined.session, &joined.token).await else {
        panic!("the renewed certificate lost the session")
    };
}
