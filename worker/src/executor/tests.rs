use std::time::Duration;

use serde_json::json;

use super::{
    claim_size::{LATE, SOON},
    plans::KEPT_PLANS,
    *,
};
use crate::{
    admission::Admission,
    fakes::{self, Cast},
};

#[test]
fn plans_without_held_trials_are_dropped() {
    let outbox = Outbox::new(Admission::new());
    let mut executor = Executor::new(1, Cast::plain().resources(), outbox, Admission::new());
    let steps = json!([{ "input": "hello" }]);
    let mut first = None;
    for number in 0..100 {
        let plan = fakes::plan(&fakes::scenario(steps.clone(), json!({ "name": number.to_string() })), 10);
        let digest = plan.digest();
        executor.learn(digest.clone(), plan.to_json().as_bytes()).unwrap();
        assert!(executor.knows(&digest) && executor.plans.len() <= KEPT_PLANS, "{number}");
        if first.is_none() {
            let plan_digest = digest.as_str().to_owned();
            let run = "r".to_owned();
            let lease = v1::Lease { run, plan_digest, first: 3, end: 4, epoch: 1, ..v1::Lease::default() };
            executor.accept(&lease, None).unwrap();
            let too_far = v1::Lease { end: 11, ..lease };
            assert!(matches!(executor.accept(&too_far, None), Err(LeaseError::Plan(_))));
            assert_eq!(executor.waiting.len(), 1, "all of a lease or nothing");
            first = Some(digest);
        }
    }
    assert!(executor.knows(&first.expect("a hundred plans")), "of the first plan a trial is held");
}

/// A task that is aborted still runs to its next await, on another thread.
#[tokio::test(flavor = "multi_thread")]
async fn abandoned_conversations_have_ended_when_the_session_has() {
    let outbox = Outbox::new(Admission::new());
    let mut executor = Executor::new(1, Cast::plain().resources(), outbox.clone(), Admission::new());
    let (begun, began) = tokio::sync::oneshot::channel();
    let late = outbox.clone();
    executor.tasks.spawn(async move {
        begun.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let call = record::Call { cost: Some(record::Usd(1)), ..fakes::call() };
        late.spent(&RunId::new("r"), vec![call]);
    });
    began.await.unwrap();
    executor.abandon_all().await;
    outbox.clear();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(outbox.is_empty(), "the next session would send it");
}

#[tokio::test(start_paused = true)]
async fn quick_trials_are_claimed_in_larger_numbers() {
    let mut executor = Executor::new(10, Cast::plain().resources(), Outbox::new(Admission::new()), Admission::new());
    executor.pace(Instant::now());
    assert_eq!(executor.wanted(), 15);
    let paced = |executor: &mut Executor, trials: u32, after| {
        let now = Instant::now();
        executor.granted(trials.into(), now);
        executor.pace(now + after);
        executor.wanted()
    };
    let full = |executor: &mut Executor, after| paced(executor, executor.wanted(), after);
    let quick: Vec<u32> = (0..6).map(|_| full(&mut executor, SOON / 2)).collect();
    assert_eq!(quick, [20, 30, 50, 90, 90, 90]);
    assert_eq!(full(&mut executor, SOON), 90);
    let slow: Vec<u32> = (0..6).map(|_| full(&mut executor, LATE)).collect();
    assert_eq!(slow, [50, 30, 20, 15, 15, 15]);
    assert_eq!(full(&mut executor, SOON / 2), 20);
    let fewer = executor.wanted() - 1;
    assert_eq!(paced(&mut executor, fewer, SOON / 2), 15, "few are left, and other workers want them too");
}

#[test]
fn spending_in_flight_is_bounded_as_reported() {
    assert_eq!(llm::price::ASSUMED_OUTPUT_TOKENS, record::call::ASSUMED_OUTPUT_TOKENS);
}
