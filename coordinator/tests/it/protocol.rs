//! What is said wrongly: each a clear refusal, none of them harms a run.

use std::{sync::Arc, time::Duration};

use coordinator::Config;
use proto::v1::{self, coordinator_message::Body as Order, worker_message::Body as Word};
use record::Verdict;
use scenario::Plan;
use store::Memory;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use crate::{
    fake_worker::{FakeWorker, batch},
    plans::plan,
    served::{Served, pass},
};

async fn served() -> Served<Memory> {
    Served::new(Arc::new(Memory::new()), Config::default()).await
}

#[tokio::test(start_paused = true)]
async fn a_worker_of_another_protocol_is_refused() {
    let mut served = served().await;
    let join = v1::JoinRequest {
        worker: "old".to_owned(),
        version: "0.0.1".to_owned(),
        protocol: proto::PROTOCOL + 1,
        ..v1::JoinRequest::default()
    };
    let refused = served.workers.join(join).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().starts_with("worker old of version 0.0.1 speaks protocol 3"), "{}", refused.message());
}

#[tokio::test(start_paused = true)]
async fn a_joined_worker_is_told_the_times() {
    let mut served = served().await;
    let join = v1::JoinRequest { protocol: proto::PROTOCOL, ..v1::JoinRequest::default() };
    let reply = served.workers.join(join).await.unwrap().into_inner();
    assert_eq!((reply.ttl_millis, reply.beat_millis), (30_000, 2_000));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_follow_the_protocol_ends_the_stream() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let lease = v1::Lease { run: "r1".to_owned(), first: 0, end: 1, epoch: 1, ..v1::Lease::default() };
    let good = |sequence| batch(&plan, sequence, &lease, Verdict::Pass);
    let spoiled = |spoil: fn(&mut v1::Batch)| {
        let mut batch = good(1);
        spoil(&mut batch);
        Word::Batch(batch)
    };
    let rows: Vec<(Word, &str)> = vec![
        (Word::Hello(v1::Hello::default()), "a second Hello on a stream"),
        (Word::Batch(good(2)), "batch 2 came where 1 was due"),
        (
            spoiled(|batch| batch.ended[0].pieces[0].sequence = 0),
            "batch 1 says that the turns of trial 0 are in batch 0",
        ),
        (
            spoiled(|batch| batch.ended[0].pieces[0].sequence = 2),
            "batch 1 says that the turns of trial 0 are in batch 2",
        ),
        (
            // As a worker of protocol 1 does.
            spoiled(|batch| batch.ended[0].pieces.clear()),
            "batch 1 does not say where the turns of trial 0 are",
        ),
        (spoiled(|batch| batch.sequence = u64::MAX), "18446744073709551615 is not a number that can be kept"),
        (spoiled(|batch| batch.ended[0].number = 1 << 63), "9223372036854775808 is not a number that can be kept"),
        (spoiled(|batch| batch.spend[0].calls = 1 << 63), "9223372036854775808 is not a number that can be kept"),
        (
            spoiled(|batch| batch.ended[0].spend[0].input_tokens = u64::MAX),
            "18446744073709551615 is not a number that can be kept",
        ),
        (
            // Each is a number, their sum is not.
            spoiled(|batch| {
                batch.spend[0].output_tokens = i64::MAX as u64;
                batch.spend.push(batch.spend[0].clone());
            }),
            "18446744073709551614 is not a number that can be kept",
        ),
        (spoiled(|batch| batch.spend[0].cost_nanos = -1), "calls cannot have cost $-0.0000"),
        (spoiled(|batch| batch.ended[0].verdict = "FINE".to_owned()), "unknown verdict \"FINE\" on the wire"),
        (spoiled(|batch| batch.spend[0].role = "boss".to_owned()), "unknown role \"boss\" on the wire"),
        (spoiled(|batch| batch.ended[0].number = 4), "run r1 has no trial 4"),
        (spoiled(|batch| batch.ended[0].case = 1), "run r1 has no trial 0"),
        (spoiled(|batch| batch.run = "r9".to_owned()), "run r9 is unknown"),
    ];
    for (word, reason) in rows {
        let mut worker = FakeWorker::join(&mut served).await;
        worker.say(word).await;
        assert_eq!(worker.goodbye().await, reason);
    }
    let mut hasty = FakeWorker::stream(&mut served).await;
    hasty.say(Word::Leave(v1::Leave {})).await;
    assert_eq!(hasty.goodbye().await, "a stream begins with Hello");
    let mut stranger = FakeWorker::hello(&mut served, 4_711).await;
    assert_eq!(stranger.goodbye().await, "session 4711 is over");
    assert_eq!(served.progress("r1").await.pass, 0);
}

#[tokio::test(start_paused = true)]
async fn results_of_trials_that_were_never_lent_count_for_nothing() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = v1::Lease { run: "r1".to_owned(), first: 0, end: 4, epoch: 1, ..v1::Lease::default() };
    worker.plays(&plan, &lease, Verdict::Pass).await;
    assert!(worker.hears_nothing().await);
    assert_eq!(worker.fenced.len(), 4);
    assert_eq!(served.progress("r1").await.pass, 0);
}

#[tokio::test(start_paused = true)]
async fn hostile_lists_and_claims_cost_nothing() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let everything = || v1::Held { run: "r1".to_owned(), first: 0, end: u64::MAX, epoch: 1 };
    let backwards = || v1::Held { run: "r1".to_owned(), first: 9, end: 2, epoch: 1 };
    for held in [vec![everything()], vec![backwards()], vec![backwards(), everything(), everything()]] {
        worker.say(Word::Beat(v1::Beat { held: held.clone(), unsettled_nanos: -5 })).await;
        worker.say(Word::Release(v1::Release { trials: held, begun: false })).await;
    }
    worker.say(Word::Claim(v1::Claim { number: u64::MAX, want: u32::MAX })).await;
    assert!(worker.hears_nothing().await, "a claim that counts beyond everything is not answered");
    let lease = worker.claim(u32::MAX).await.remove(0);
    assert_eq!((lease.first, lease.end), (0, 4));
    worker.say(Word::Leave(v1::Leave {})).await;
    assert_eq!(worker.goodbye().await, "left");
    pass(1.0).await;
    assert_eq!(served.progress("r1").await.lost_attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn absurd_bills_add_up_to_the_largest_number() {
    let mut served = served().await;
    let plan = plan(1, 2);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(2).await.remove(0);
    for number in 0..2 {
        worker.sequence += 1;
        let one = v1::Lease { first: number, end: number + 1, ..lease.clone() };
        let mut dear = batch(&plan, worker.sequence, &one, Verdict::Pass);
        (dear.spend[0].cost_nanos, dear.spend[0].input_tokens) = (i64::MAX, i64::MAX as u64);
        worker.say(Word::Batch(dear)).await;
        worker.acknowledged().await;
    }
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.pass, end.cost_nanos, end.input_tokens), (2, i64::MAX, u64::MAX - 1));
    assert!(served.summary("r1").await.summary.cost.total_usd > 9e9);
}

#[tokio::test(start_paused = true)]
async fn submissions_are_checked_and_can_be_repeated() {
    let mut served = served().await;
    let request = |run: &str, plan: &[u8]| v1::SubmitRequest {
        run: run.to_owned(),
        plan: plan.to_vec().into(),
        ..v1::SubmitRequest::default()
    };
    let good = plan(1, 2).to_json().into_bytes();
    let huge = Plan { groups: plan(1, u32::MAX).groups, ..plan(1, 1) }.to_json().into_bytes();
    let rows: [(&str, &[u8], Code, &str); 7] = [
        ("../etc", &good, Code::InvalidArgument, "is not a run id"),
        (".hidden", &good, Code::InvalidArgument, "is not a run id"),
        ("", &good, Code::InvalidArgument, "is not a run id"),
        ("r1", b"{", Code::InvalidArgument, "the plan cannot be read"),
        ("r1", b"\xff", Code::InvalidArgument, "the plan is not text"),
        ("r1", b"{\"version\": 99}", Code::InvalidArgument, "the plan cannot be read"),
        ("r1", &huge, Code::InvalidArgument, "4294967295 trials"),
    ];
    for (run, plan, code, words) in rows {
        let refused = served.people.submit(request(run, plan)).await.unwrap_err();
        assert_eq!(refused.code(), code, "{run}");
        assert!(refused.message().contains(words), "{}", refused.message());
    }
    for _ in 0..2 {
        assert_eq!(served.people.submit(request("r1", &good)).await.unwrap().into_inner().planned, 2);
    }
    let other = plan(2, 2).to_json().into_bytes();
    assert_eq!(served.people.submit(request("r1", &other)).await.unwrap_err().code(), Code::AlreadyExists);
    let mut worker = FakeWorker::join(&mut served).await;
    worker.plays_all(&plan(1, 2)).await;
    assert_eq!(served.people.submit(request("r1", &good)).await.unwrap().into_inner().planned, 2);
    assert!(worker.claim(9).await.is_empty(), "a run that is finished is not played again");
}

#[tokio::test(start_paused = true)]
async fn unknown_runs_and_plans_are_not_found() {
    let mut served = served().await;
    let run = || "r9".to_owned();
    let people = &mut served.people;
    let codes = [
        people.watch(v1::WatchRequest { run: run() }).await.unwrap_err().code(),
        people.cancel(v1::CancelRequest { run: run(), drain: false }).await.unwrap_err().code(),
        people.resume(v1::ResumeRequest { run: run(), failed: false }).await.unwrap_err().code(),
        people.get_summary(v1::GetSummaryRequest { run: run() }).await.unwrap_err().code(),
        people.export(v1::ExportRequest { run: run(), first: 0 }).await.unwrap_err().code(),
        served.workers.get_plan(v1::GetPlanRequest { digest: "00".to_owned() }).await.unwrap_err().code(),
    ];
    assert_eq!(codes, [Code::NotFound; 6]);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_does_not_read_loses_its_stream_and_nobody_waits_for_it() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut deaf = FakeWorker::join(&mut served).await;
    // Each beat lists what it does not hold, and the answer lists it again: more than a stream and its queue take.
    let nonsense = v1::Held { run: "x".repeat(1_000), first: 0, end: 1, epoch: 1 };
    let beat = v1::Beat { held: vec![nonsense; 50], ..v1::Beat::default() };
    let deafened = async {
        for _ in 0..600 {
            deaf.say(Word::Beat(beat.clone())).await;
        }
    };
    // Nobody reads it any more once it is given up.
    assert!(tokio::time::timeout(Duration::from_secs(5), deafened).await.is_err());
    // One that does not read holds up its own connection, so the other has another.
    served.reconnect().await;
    let mut other = FakeWorker::join(&mut served).await;
    other.plays_all(&plan).await;
    assert_eq!(served.handle.watch(&scenario::RunId::new("r1")).await.unwrap().borrow().counts.pass, 4);
    assert_eq!(deaf.hear().await, None, "its stream is closed behind what it did not read");
}

#[tokio::test(start_paused = true)]
async fn health_and_reflection_answer() {
    let served = served().await;
    let mut health = HealthClient::new(served.channel.clone());
    for service in ["", "gabfest.v1.Coordinator", "gabfest.v1.Runs"] {
        let request = HealthCheckRequest { service: service.to_owned() };
        let status = health.check(request).await.unwrap().into_inner().status();
        assert_eq!(status, ServingStatus::Serving, "{service}");
    }
    let mut reflection = ServerReflectionClient::new(served.channel.clone());
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = reflection.server_reflection_info(tokio_stream::once(request)).await.unwrap().into_inner();
    let Some(MessageResponse::ListServicesResponse(list)) = answers.message().await.unwrap().unwrap().message_response
    else {
        panic!("reflection lists services");
    };
    let names: Vec<String> = list.service.into_iter().map(|service| service.name).collect();
    assert!(names.contains(&"gabfest.v1.Runs".to_owned()), "{names:?}");
    assert!(matches!(served.handle.watch(&scenario::RunId::new("r9")).await, Err(coordinator::Error::Read(_))));
}

#[tokio::test(start_paused = true)]
async fn a_welcome_comes_first() {
    let mut served = served().await;
    let mut worker = FakeWorker::join(&mut served).await;
    worker.say(Word::Claim(v1::Claim { number: 1, want: 1 })).await;
    assert!(matches!(worker.hear().await, Some(Order::Grant(_))));
}
