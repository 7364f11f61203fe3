//! Invalid messages: each is refused with a clear reason, and none harms a run.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use coordinator::Config;
use proto::v1::{self, coordinator_message::Body as Order, worker_message::Body as Word};
use record::Verdict;
use scenario::Plan;
use store::Memory;
use tonic::Code;

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
    let said = format!("worker old of version 0.0.1 speaks protocol {}, ", proto::PROTOCOL + 1);
    assert!(refused.message().starts_with(&said), "{}", refused.message());
}

/// It joined at a coordinator of its own version, which another one has replaced.
#[tokio::test(start_paused = true)]
async fn a_stream_of_another_protocol_is_refused() {
    let mut served = served().await;
    let worker = FakeWorker::join(&mut served).await;
    let hello = |protocol| {
        let (session, token) = (worker.session, worker.token.clone());
        let (name, version) = ("late".to_owned(), "9.9.9".to_owned());
        Word::Hello(v1::Hello { session, token, worker: name, version, protocol, ..v1::Hello::default() })
    };
    for protocol in [proto::PROTOCOL + 1, 0] {
        let mut stream = FakeWorker::stream(&mut served).await;
        stream.say(hello(protocol)).await;
        let reason = stream.goodbye().await;
        let said = format!("worker late of version 9.9.9 speaks protocol {protocol}, ");
        assert!(reason.starts_with(&said), "{reason}");
    }
    let mut stream = FakeWorker::stream(&mut served).await;
    stream.say(hello(proto::PROTOCOL)).await;
    assert!(matches!(stream.hear().await, Some(Order::Welcome(_))));
}

#[tokio::test(start_paused = true)]
async fn a_joined_worker_gets_the_timing() {
    let mut served = served().await;
    let join = v1::JoinRequest { protocol: proto::PROTOCOL, ..v1::JoinRequest::default() };
    let reply = served.workers.join(join).await.unwrap().into_inner();
    assert_eq!((reply.ttl_millis, reply.beat_millis), (30_000, 2_000));
}

#[tokio::test(start_paused = true)]
async fn a_protocol_violation_ends_the_stream() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let lease = v1::Lease { run: "r1".to_owned(), first: 0, end: 1, epoch: 1, ..v1::Lease::default() };
    let good = |sequence| batch(&plan, sequence, &lease, Verdict::Pass);
    let unknown = Word::Batch(v1::Batch { run: "r9".to_owned(), ..good(1) });
    let rows: Vec<(Word, &str)> = vec![
        (Word::Hello(v1::Hello::default()), "a second Hello on a stream"),
        (Word::Batch(good(2)), "batch 2 came where 1 was due"),
        (unknown, "run r9 is unknown"),
    ];
    for (word, reason) in rows {
        let mut worker = FakeWorker::join(&mut served).await;
        worker.say(word).await;
        assert_eq!(worker.goodbye().await, reason);
    }
    let mut hasty = FakeWorker::stream(&mut served).await;
    hasty.say(Word::Leave(v1::Leave {})).await;
    assert_eq!(hasty.goodbye().await, "a stream begins with Hello");
    let mut stranger = FakeWorker::hello(&mut served, 4_711, "guessed").await;
    assert_eq!(stranger.goodbye().await, "session 4711 is over");
    assert_eq!(served.progress("r1").await.pass, 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_belongs_to_the_worker_that_joined() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let other = FakeWorker::join(&mut served).await;
    assert_eq!((worker.token.len(), worker.token != other.token), (16, true));
    let lease = worker.claim(2).await.remove(0);
    for token in [&b""[..], b"guessed", &other.token] {
        let mut stranger = FakeWorker::hello(&mut served, worker.session, token).await;
        assert_eq!(stranger.goodbye().await, format!("session {} belongs to another worker", worker.session));
    }
    worker.plays(&plan, &lease, Verdict::Pass).await;
    // Also of a coordinator that was started again.
    let mut served = Served::new(served.killed(), Config::default()).await;
    let mut stranger = FakeWorker::hello(&mut served, worker.session, &other.token).await;
    assert_eq!(stranger.goodbye().await, format!("session {} belongs to another worker", worker.session));
    let mut back = worker.again(&mut served).await;
    assert!(matches!(back.hear().await, Some(Order::Welcome(v1::Welcome { acknowledged: 1, .. }))));
}

#[tokio::test(start_paused = true)]
async fn batches_come_in_parts_with_beats_between_them() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(4).await.remove(0);
    let bytes = proto::batch_to_bytes(&batch(&plan, 1, &lease, Verdict::Pass));
    worker.sequence = 1;
    let half = bytes.len() / 2;
    worker.say(Word::Part(v1::Part { data: bytes.slice(..half), last: false })).await;
    worker.heartbeat(&[lease], 0).await;
    worker.say(Word::Part(v1::Part { data: bytes.slice(half..), last: true })).await;
    worker.acknowledged().await;
    assert_eq!(worker.received, bytes.len() as u64);
    assert_eq!(served.watch("r1").await.pop().unwrap().pass, 4);
    let mut broken = FakeWorker::join(&mut served).await;
    broken.say(Word::Part(v1::Part { data: b"\xff"[..].into(), last: true })).await;
    assert!(broken.goodbye().await.starts_with("parts of no batch: "));
}

/// Each refused message, the reason, and the trial that it names.
#[tokio::test(start_paused = true)]
async fn an_unstorable_batch_is_refused_and_the_session_continues() {
    let mut served = served().await;
    let plan = plan(1, 40);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    type Spoil = fn(&mut v1::Batch);
    let rows: Vec<(Spoil, &str, Option<u64>)> = vec![
        (
            |batch| batch.ended[0].number = 1 << 63,
            "9223372036854775808 is not a number that can be kept",
            Some(1 << 63),
        ),
        (|batch| batch.spend[0].calls = 1 << 63, "9223372036854775808 is not a number that can be kept", None),
        (
            |batch| batch.ended[0].spend[0].input_tokens = u64::MAX,
            "18446744073709551615 is not a number that can be kept",
            Some(2),
        ),
        (
            // Each is a number, their sum is not.
            |batch| {
                batch.spend[0].output_tokens = i64::MAX as u64;
                batch.spend.push(batch.spend[0].clone());
            },
            "18446744073709551614 is not a number that can be kept",
            None,
        ),
        (|batch| batch.spend[0].cost_nanos = -1, "calls cannot have cost $-0.0000", None),
        (|batch| batch.ended[0].verdict = "FINE".to_owned(), "unknown verdict \"FINE\" on the wire", Some(5)),
        (|batch| batch.spend[0].role = "boss".to_owned(), "unknown role \"boss\" on the wire", None),
        (
            |batch| {
                let trial = &mut batch.ended[0];
                (trial.number, trial.turns) = (40, 0);
                trial.pieces.clear();
            },
            "run r1 has no trial 40",
            Some(40),
        ),
        (|batch| batch.ended[0].case = 1, "run r1 has no trial 8", Some(8)),
        (
            |batch| batch.ended[0].pieces[0].sequence = 0,
            "batch 19 says that the turns of trial 9 are in batch 0",
            Some(9),
        ),
        (
            |batch| batch.ended[0].pieces[0].sequence = 99,
            "batch 21 says that the turns of trial 10 are in batch 99",
            Some(10),
        ),
        (
            // As a worker of protocol 1 does.
            |batch| batch.ended[0].pieces.clear(),
            "batch 23 does not say where the turns of trial 11 are",
            Some(11),
        ),
        (
            |batch| batch.segment = vec![0x0a, 9, 1].into(),
            "undecodable bytes on the wire: failed to decode Protobuf message: buffer underflow",
            None,
        ),
        (
            |batch| batch.ended[0].trial_id = "another".to_owned(),
            "trial 13 of run r1 has another id, case, repeat or seed",
            Some(13),
        ),
        (|batch| batch.ended[0].seed += 1, "trial 14 of run r1 has another id, case, repeat or seed", Some(14)),
        // A valid batch whose content no report could read back.
        (
            |batch| {
                let judgment = v1::Judgment { finding: "pass".to_owned(), ..v1::Judgment::default() };
                batch.ended[0].judgments = vec![v1::Judgment { weight: Some(f64::NAN), ..judgment }];
            },
            "weight NaN on the wire",
            Some(15),
        ),
        (
            |batch| {
                let judgment = v1::Judgment { finding: "pass".to_owned(), ..v1::Judgment::default() };
                batch.ended[0].judgments = vec![v1::Judgment { score: Some(f64::INFINITY), ..judgment }];
            },
            "score inf on the wire",
            Some(16),
        ),
        (
            |batch| batch.segment = with(&batch.segment, b"\x08scripted", b"\x08parroted"),
            "piece 0 of batch 35: unknown speaker \"parroted\" on the wire",
            Some(17),
        ),
        (
            |batch| batch.segment = with(&batch.segment, b"\x08scripted", b"\x7fscripted"),
            "piece 0 of batch 37: undecodable bytes on the wire",
            Some(18),
        ),
        (
            |batch| batch.ended[0].pieces[0].place = 7,
            "piece 7 of batch 39 does not hold the turns of trial 19",
            Some(19),
        ),
    ];
    let played = rows.len() as u64;
    for (spoil, reason, named) in rows {
        let lease = worker.claim(1).await.remove(0);
        let next = worker.sequence + 1;
        let good = |sequence| batch(&plan, sequence, &lease, Verdict::Pass);
        let mut spoiled = good(next);
        spoil(&mut spoiled);
        worker.say(Word::Batch(spoiled)).await;
        // Sent before the refusal arrived.
        worker.say(Word::Batch(v1::Batch { ended: Vec::new(), ..good(next + 1) })).await;
        let Some(Order::Refused(refused)) = worker.hear().await else { panic!("not refused: {reason}") };
        assert_eq!(refused.sequence, next);
        assert!(refused.reason.starts_with(reason), "{}", refused.reason);
        assert_eq!(refused.trials.first().map(|held| held.first), named, "{reason}");
        assert!(worker.receives_nothing().await, "what follows a refused batch is passed over: {reason}");
        worker.plays(&plan, &lease, Verdict::Pass).await;
        worker.sequence += 1;
        worker.say(Word::Batch(v1::Batch { ended: Vec::new(), ..good(worker.sequence) })).await;
        worker.acknowledged().await;
    }
    assert_eq!(served.progress("r1").await.pass, played);
}

/// The same bytes with `these` replaced by `others`.
fn with(bytes: &[u8], these: &[u8], others: &[u8]) -> Bytes {
    let at = bytes.windows(these.len()).position(|window| window == these).expect("they are there");
    [&bytes[..at], others, &bytes[at + these.len()..]].concat().into()
}

#[tokio::test(start_paused = true)]
async fn results_of_unleased_trials_do_not_count() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = v1::Lease { run: "r1".to_owned(), first: 0, end: 4, epoch: 1, ..v1::Lease::default() };
    worker.plays(&plan, &lease, Verdict::Pass).await;
    assert!(worker.receives_nothing().await);
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
        worker.say(Word::Beat(v1::Beat { held: held.clone(), unsettled_nanos: -5, ..v1::Beat::default() })).await;
        worker.say(Word::Release(v1::Release { trials: held, begun: false })).await;
    }
    worker.say(Word::Claim(v1::Claim { number: u64::MAX, want: u32::MAX, idle: u32::MAX, ahead: u32::MAX })).await;
    assert!(worker.receives_nothing().await, "a claim that counts beyond everything is not answered");
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
        people.resume(v1::ResumeRequest { run: run(), failed: false, max_cost_nanos: None }).await.unwrap_err().code(),
        people.get_summary(v1::GetSummaryRequest { run: run() }).await.unwrap_err().code(),
        people.export(v1::ExportRequest { run: run(), first: 0 }).await.unwrap_err().code(),
        served.workers.get_plan(v1::GetPlanRequest { digest: "00".to_owned() }).await.unwrap_err().code(),
    ];
    assert_eq!(codes, [Code::NotFound; 6]);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_does_not_read_loses_its_stream_and_blocks_no_other() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut deaf = FakeWorker::join(&mut served).await;
    // Each heartbeat lists trials that it does not hold, and the answer lists them again: more than a stream and its
    // queue can hold.
    let nonsense = v1::Held { run: "x".repeat(1_000), first: 0, end: 1, epoch: 1 };
    let beat = v1::Beat { held: vec![nonsense; 50], ..v1::Beat::default() };
    let deafened = async {
        for _ in 0..600 {
            deaf.say(Word::Beat(beat.clone())).await;
        }
    };
    // Nothing reads the stream after it was closed.
    assert!(tokio::time::timeout(Duration::from_secs(5), deafened).await.is_err());
    // A worker that does not read blocks its own connection, so the other one gets a new connection.
    served.reconnect().await;
    let mut other = FakeWorker::join(&mut served).await;
    other.plays_all(&plan).await;
    assert_eq!(served.handle.watch(&scenario::RunId::new("r1")).await.unwrap().borrow().counts.pass, 4);
    assert_eq!(deaf.hear().await, None, "its stream is closed behind what it did not read");
}

#[tokio::test(start_paused = true)]
async fn a_welcome_comes_first() {
    let mut served = served().await;
    let mut worker = FakeWorker::join(&mut served).await;
    worker.say(Word::Claim(v1::Claim { number: 1, want: 1, idle: 1, ahead: 0 })).await;
    assert!(matches!(worker.hear().await, Some(Order::Grant(_))));
}
