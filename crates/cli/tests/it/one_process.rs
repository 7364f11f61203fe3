//! The whole path in one process on a paused clock: a real coordinator, real workers, real gRPC over in-memory
//! pipes, the store in memory and the mock model. Hours pass in seconds.

use std::{collections::BTreeMap, time::Duration};

use proto::v1::RunState;
use record::{Blame, FailureKind, Summary, Verdict};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use self::house::{Asked, House};

mod decided;
mod house;
mod limits;
mod loads;
mod money;
mod nights;
mod search;
mod transcripts;

/// A conversation of up to six turns, each of them and the whole judged.
fn talks() -> Value {
    let user = json!({ "persona": "a customer in a hurry", "objective": "get a refund for order 1234" });
    let judged = json!([{ "type": "llm_judge", "prompt": "Was the agent of help?", "expected": "yes" }]);
    json!([{
        "name": "talk",
        "input": "Hello, where is my money?",
        "conversation": {
            "max_turns": 6,
            "timeout_per_turn_ms": 600_000,
            "total_timeout_ms": 36_000_000,
            "user_simulator": user,
            "termination_conditions": [{ "type": "user_expresses_satisfaction" }],
            "turn_evaluations": judged,
            "final_evaluations": judged,
        },
    }])
}

/// One message and its judgment.
fn questions() -> Value {
    let judged = json!([{ "type": "llm_judge", "prompt": "Was the agent of help?", "expected": "yes" }]);
    json!([{ "name": "question", "input": "How do I reset my password?", "evaluations": judged }])
}

fn mock(behaviour: Value) -> llm::endpoint::Settings {
    serde_json::from_value(json!({ "kind": "mock", "mock": behaviour })).unwrap()
}

/// A slow and fallible agent, in the middle of the night.
fn fallible() -> llm::endpoint::Settings {
    mock(json!({
        "pass": [{ "probability": 0.9 }],
        "latency": { "kind": "lognormal", "ms": 2_000, "sigma": 0.8, "max_ms": 60_000 },
        "judge": { "sensitivity": 0.9, "specificity": 0.95, "malformed_rate": 0.1 },
        "error_rate": 0.01,
    }))
}

fn failures(summary: &Summary) -> BTreeMap<(FailureKind, Blame), u64> {
    summary.summary.failures.iter().map(|failure| ((failure.kind, failure.blame), failure.trials)).collect()
}

#[tokio::test(start_paused = true)]
async fn eight_hours_of_slow_conversations() {
    let mut house = House::open().await;
    let slow = mock(json!({ "latency": { "kind": "lognormal", "ms": 60_000, "sigma": 0.3, "max_ms": 110_000 } }));
    let worker = house.hire(&slow, 3);
    let began = Instant::now();
    let run = house.submit(&house::plan(&talks(), 120)).await;
    let last = house.followed(&run).await;
    let hours = began.elapsed().as_secs_f64() / 3_600.0;
    assert!((8.0..16.0).contains(&hours), "{hours} h");
    assert_eq!((last.state(), last.pass, last.lost_attempts), (RunState::Finished, 120, 0));
    let totals = house.summary(&run).await.summary;
    assert_eq!((totals.trials.pass, totals.conversations, totals.completed_rate), (120, 120, 1.0));
    // Every reply was slow, and no wait for a slot or a permit is in the latency.
    let p50 = totals.latency.times.turn.p50_ms;
    assert!((55_000.0..65_000.0).contains(&p50), "{p50}");
    assert_eq!(totals.attempts.lost, 0);
    worker.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn two_workers_with_one_lost_give_the_results_of_one() {
    let plan = house::plan(&talks(), 120);
    let mut house = House::open().await;
    let alone = house.hire(&fallible(), 8);
    let run = house.submit(&plan).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    let expected = house.view(&run).await;
    assert_eq!(expected.len(), 120);
    let verdicts: std::collections::BTreeSet<&str> =
        expected.iter().map(|trial| trial["verdict"].as_str().unwrap()).collect();
    assert!(verdicts.len() >= 3, "the trials differ: {verdicts:?}");
    alone.drained().await;
    house.close().await;

    for lost_after in [0.5, 5.0, 31.7] {
        let mut house = House::open().await;
        let (stays, lost) = (house.hire(&fallible(), 5), house.hire(&fallible(), 3));
        let run = house.submit(&plan).await;
        let (last, ()) = tokio::join!(house.followed(&run), async {
            sleep(Duration::from_secs_f64(lost_after)).await;
            lost.killed();
        });
        assert_eq!(last.state(), RunState::Finished);
        assert!(last.lost_attempts >= 3, "after {lost_after} s: {}", last.lost_attempts);
        assert_eq!(house.view(&run).await, expected, "lost after {lost_after} s");
        let totals = house.summary(&run).await.summary;
        assert_eq!(totals.attempts.total, 120 + totals.attempts.lost);
        stays.drained().await;
        house.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_drained_worker_and_an_interrupted_run_lose_nothing() {
    let plan = house::plan(&talks(), 60);
    let mut house = House::open().await;
    let (stays, goes) = (house.hire(&fallible(), 4), house.hire(&fallible(), 4));
    let run = house.submit(&plan).await;
    sleep(Duration::from_secs(20)).await;
    goes.drained().await;
    sleep(Duration::from_secs(20)).await;
    // Running trials end; waiting trials stay.
    house.cancel(&run, true).await;
    let last = house.followed(&run).await;
    let played = last.pass + last.fail + last.inconclusive + last.error;
    assert_eq!((last.state(), last.lost_attempts), (RunState::Interrupted, 0));
    assert!((8..60).contains(&played), "{played}");
    assert_eq!(house.view(&run).await.len() as u64, played);
    house.resume(&run).await;
    let last = house.followed(&run).await;
    assert_eq!((last.state(), last.lost_attempts), (RunState::Finished, 0));
    let interrupted = house.view(&run).await;
    stays.drained().await;
    house.close().await;

    let mut house = House::open().await;
    let worker = house.hire(&fallible(), 8);
    let run = house.submit(&plan).await;
    house.followed(&run).await;
    assert_eq!(interrupted, house.view(&run).await);
    worker.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_gets_stuck_fails_its_own_trials_and_holds_up_no_other() {
    let mut house = House::open().await;
    let worker = house.hire(&mock(json!({ "latency": { "ms": 1_000 } })), 4);
    let stuck = house.hire(&mock(json!({ "hang_rate": 0.15, "latency": { "ms": 1_000 } })), 4);
    let run = house.submit(&house::plan(&talks(), 80)).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    let summary = house.summary(&run).await;
    let (failures, trials) = (failures(&summary), summary.summary.trials);
    // The user and the judge that hang are asked again, the agent is not.
    let kinds: Vec<_> = failures.keys().copied().collect();
    assert_eq!(kinds, [(FailureKind::AgentTimeout, Blame::Agent)], "{trials:?}");
    assert_eq!((trials.pass + trials.error, trials.fail), (80, 0));
    assert!((1..40).contains(&trials.error), "{trials:?}");
    assert_eq!(summary.verdict, record::summary::RunVerdict::Fail, "an agent that gets stuck does not pass");
    worker.drained().await;
    stuck.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_throttles_makes_nothing_fail() {
    let mut throttled = mock(json!({
        "rate_limit": { "rate": 0.3, "retry_after_ms": 3_000 },
        "latency": { "ms": 500 },
    }));
    throttled.limits = serde_json::from_value(json!({ "requests_per_minute": 300, "concurrency": 6 })).unwrap();
    let mut house = House::open().await;
    let worker = house.hire(&throttled, 8);
    let began = Instant::now();
    let run = house.submit(&house::plan(&talks(), 60)).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    let summary = house.summary(&run).await;
    assert_eq!(failures(&summary), BTreeMap::new());
    assert_eq!((summary.summary.trials.pass, summary.summary.attempts.lost), (60, 0));
    let calls: u64 = summary.summary.llm_calls.values().sum();
    let least = calls as f64 / 300.0 * 60.0;
    assert!(began.elapsed().as_secs_f64() > least, "{calls} calls in {:?}", began.elapsed());
    // The wait for permits is in no latency.
    let slowest = summary.summary.latency.times.turn.max_ms;
    assert!((499.0..600.0).contains(&slowest), "{slowest}");
    worker.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_rate_at_which_an_agent_passes_is_found() {
    let mut house = House::open().await;
    let worker = house.hire(&mock(json!({ "pass": [{ "probability": 0.7 }], "latency": { "ms": 100 } })), 32);
    let trials = 2_000;
    let run = house.submit(&house::plan(&questions(), trials)).await;
    let last = house.followed(&run).await;
    assert_eq!((last.state(), last.pass + last.fail), (RunState::Finished, u64::from(trials)));
    let n = f64::from(trials);
    let sigma = (n * 0.7 * 0.3).sqrt();
    assert!((last.pass as f64 - 0.7 * n).abs() < 4.0 * sigma, "{} of {n} passed", last.pass);
    let rate = house.summary(&run).await.summary.success_rate;
    assert!(rate.low < 0.7 + 0.03 && rate.high > 0.7 - 0.03 && rate.n == 2_000, "{rate:?}");
    let failed = house.view(&run).await.iter().filter(|trial| trial["verdict"] == Verdict::Fail.name()).count();
    assert_eq!(failed as u64, last.fail);
    worker.drained().await;
    house.close().await;
}

/// Messages without a judge.
fn greetings() -> Value {
    json!([{ "name": "greeting", "input": "hello", "evaluations": [{ "type": "string_contains", "value": "hello" }] }])
}

fn limits(limits: Value) -> llm::limit::Settings {
    serde_json::from_value(limits).unwrap()
}

#[tokio::test(start_paused = true)]
async fn three_workers_keep_to_one_limit() {
    let limited = limits(json!({ "requests_per_minute": 120 }));
    let mut house = House::open().await;
    let asked = Asked::default();
    let workers = [4, 4, 4].map(|slots| house.hire_counted(&limited, slots, &asked));
    sleep(Duration::from_secs(1)).await;
    let run = house.submit(&house::plan(&greetings(), 480)).await;
    let last = house.followed(&run).await;
    assert_eq!((last.state(), last.pass), (RunState::Finished, 480));
    let times = asked.times();
    assert_eq!(times.len(), 480);
    // One more for each worker after the first, if a minute starts with one call of each.
    assert!(asked.most_in_a_minute() <= 122, "{}", asked.most_in_a_minute());
    let lasted = times[479] - times[0];
    assert!((235..260).contains(&lasted.as_secs()), "all of the limit is used: {lasted:?}");
    for worker in workers {
        worker.drained().await;
    }
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn workers_that_come_and_go_keep_to_one_limit() {
    let limited = limits(json!({ "requests_per_minute": 120, "burst": 6, "concurrency": 6 }));
    let mut house = House::open().await;
    let asked = Asked::default();
    let first = house.hire_counted(&limited, 12, &asked);
    let run = house.submit(&house::plan(&greetings(), 480)).await;
    sleep(Duration::from_secs(30)).await;
    let second = house.hire_counted(&limited, 12, &asked);
    sleep(Duration::from_secs(30)).await;
    let third = house.hire_counted(&limited, 12, &asked);
    sleep(Duration::from_secs(30)).await;
    second.killed();
    sleep(Duration::from_secs(30)).await;
    first.drained().await;
    let last = house.followed(&run).await;
    assert_eq!((last.state(), last.pass), (RunState::Finished, 480));
    // The burst, and one more for each worker beyond the first.
    assert!(asked.most_in_a_minute() <= 120 + 5 + 2, "{}", asked.most_in_a_minute());
    assert!(asked.most_at_once() <= 6, "{}", asked.most_at_once());
    third.drained().await;
    house.close().await;
}

/// Each worker may have one call in flight; otherwise some would never play.
#[tokio::test(start_paused = true)]
async fn more_workers_than_a_limit_of_concurrency_have_a_call_each() {
    let limited = limits(json!({ "concurrency": 2 }));
    let mut house = House::open().await;
    let asked = Asked::default();
    let workers = [4, 4, 4].map(|slots| house.hire_counted(&limited, slots, &asked));
    sleep(Duration::from_secs(1)).await;
    let run = house.submit(&house::plan(&greetings(), 60)).await;
    assert_eq!(house.followed(&run).await.pass, 60);
    assert_eq!(asked.most_at_once(), 3);
    for worker in workers {
        worker.drained().await;
    }
    house.close().await;
}
