//! Calls without connections, as `gabfest run` makes them.

use std::{sync::Arc, time::Duration};

use coordinator::{Clock, Config, Coordinator, Gate, Observers, service};
use proto::{
    Transport,
    v1::{
        self, coordinator_client::CoordinatorClient, coordinator_message::Body as Order, runs_client::RunsClient,
        worker_message::Body as Word,
    },
};
use store::Memory;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Code;

use crate::{plans::plan, served::STARTED_AT};

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_stops_ends_its_streams_and_lets_go_of_its_store() {
    let (store, stop) = (Arc::new(Memory::new()), CancellationToken::new());
    let (coordinator, handle) =
        Coordinator::open(Arc::clone(&store), Config::default(), Clock::new(|| STARTED_AT), Observers::default())
            .await
            .unwrap();
    let transport = Transport::from(service::routes(handle, &Gate::Open));
    let coordinator = tokio::spawn(coordinator.run(stop.clone()));

    let mut people = RunsClient::new(transport.clone());
    let submit = v1::SubmitRequest {
        run: "r1".to_owned(),
        plan: plan(1, 3).to_json().into_bytes().into(),
        ..v1::SubmitRequest::default()
    };
    assert_eq!(people.submit(submit).await.unwrap().into_inner().planned, 3);
    let mut progress = people.watch(v1::WatchRequest { run: "r1".to_owned() }).await.unwrap().into_inner();
    assert!(progress.message().await.unwrap().is_some());

    let mut workers = CoordinatorClient::new(transport.clone());
    let join = v1::JoinRequest { worker: "w".to_owned(), slots: 1, protocol: proto::PROTOCOL, ..Default::default() };
    let joined = workers.join(join).await.unwrap().into_inner();
    let (words, outbound) = mpsc::channel(8);
    let mut orders = workers.work(ReceiverStream::new(outbound)).await.unwrap().into_inner();
    let hello = v1::Hello {
        session: joined.session,
        token: joined.token,
        agents: vec!["mock".to_owned()],
        slots: 1,
        protocol: proto::PROTOCOL,
        ..v1::Hello::default()
    };
    for word in [Word::Hello(hello), Word::Claim(v1::Claim { number: 1, want: 1, idle: 1, ahead: 0 })] {
        words.send(v1::WorkerMessage { body: Some(word) }).await.unwrap();
    }
    let mut heard = Vec::new();
    while !heard.iter().any(|order| matches!(order, Order::Grant(_))) {
        heard.extend(orders.message().await.unwrap().unwrap().body);
    }
    assert!(matches!(heard[0], Order::Welcome(_)), "{heard:?}");

    stop.cancel();
    coordinator.await.unwrap();
    let ended = async { while let Ok(Some(_)) = orders.message().await {} };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    let ended = async { while let Ok(Some(_)) = progress.message().await {} };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    let late = people.watch(v1::WatchRequest { run: "r1".to_owned() }).await.unwrap_err();
    assert_eq!((late.code(), late.message()), (Code::Unavailable, "the coordinator has stopped"));

    drop((people, workers, transport, words, orders, progress));
    tokio::time::timeout(Duration::from_secs(60), async {
        while Arc::strong_count(&store) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .unwrap();
}
