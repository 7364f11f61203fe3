//! Limits that a fleet shares.

use std::time::Duration;

use proto::v1::RunState;
use record::{Blame, FailureKind};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    failures, greetings,
    house::{self, Asked, House},
    limits, questions,
};

/// 2026-11-20T23:55:00Z
pub(super) const BEFORE_MIDNIGHT: i64 = 1_795_218_900_000;
pub(super) const MIDNIGHT: Duration = Duration::from_secs(300);

#[tokio::test(start_paused = true)]
async fn a_day_has_no_more_requests_than_its_limit_and_the_run_resumes_the_next_day() {
    let limited = limits(json!({ "requests_per_day": 100 }));
    let mut house = House::open_at(BEFORE_MIDNIGHT).await;
    let (asked, opened) = (Asked::default(), Instant::now());
    let first = house.hire_counted(&limited, 4, &asked);
    let second = house.hire_counted(&limited, 4, &asked);
    let run = house.submit(&house::plan(&greetings(), 170)).await;
    sleep(Duration::from_secs(5)).await;
    // What a killed worker held counts as used, and a restarted coordinator knows what was given.
    second.killed();
    let third = house.hire_counted(&limited, 4, &asked);
    house.restart().await;
    let last = house.followed(&run).await;
    assert_eq!(last.state(), RunState::Interrupted);
    let today = asked.times().len();
    assert!((80..=100).contains(&today), "{today} requests");
    let kinds: Vec<_> = failures(&house.summary(&run).await).into_keys().collect();
    assert_eq!(kinds, [(FailureKind::ProviderExhausted, Blame::Budget)]);

    // The same day it stops again.
    house.resume(&run).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Interrupted);
    let today = asked.times().len();
    assert!(today <= 100 && opened.elapsed() < MIDNIGHT, "{today} requests");

    // The next day it has a hundred again.
    sleep(MIDNIGHT).await;
    house.resume(&run).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    assert_eq!(house.summary(&run).await.summary.trials.pass, 170);
    let tomorrow = asked.times().len() - today;
    assert!(tomorrow <= 100, "{tomorrow} requests");
    first.drained().await;
    third.drained().await;
    house.close().await;
}

/// Nobody listens from 30 s to 150 s.
fn down(_: usize, since_first: Duration) -> Option<llm::Error> {
    (30..150).contains(&since_first.as_secs()).then(|| llm::Error::Unreachable {
        endpoint: "mock".to_owned(),
        status: None,
        message: "connection refused".to_owned(),
        sent: false,
    })
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_is_down_for_two_minutes_costs_no_trial() {
    let mut house = House::open().await;
    let asked = Asked::failing(down);
    let workers = [20, 20].map(|slots| house.hire_judged(slots, &asked));
    sleep(Duration::from_secs(1)).await;
    let run = house.submit(&house::plan(&questions(), 4_000)).await;
    let last = house.followed(&run).await;
    assert_eq!((last.state(), last.pass), (RunState::Finished, 4_000), "{:?}", failures(&house.summary(&run).await));
    let since_first: Vec<Duration> = asked.times().iter().map(|at| *at - asked.times()[0]).collect();
    let outage = since_first.iter().filter(|since| down(0, **since).is_some()).count();
    // Each worker's breaker opens when 51 of its last 100 calls failed, then lets one call try every 15 s.
    assert!((102..250).contains(&outage), "{outage} calls to a judge that is down");
    let back = since_first.iter().find(|since| since.as_secs() >= 150).unwrap();
    assert!(back.as_secs() < 167, "it is tried every 15 s: {back:?}");
    for worker in workers {
        worker.drained().await;
    }
    house.close().await;
}

/// The call with this number gets a 429 that asks for half a minute. All others are answered.
const THROTTLED: usize = 150;

fn throttles_once(number: usize, _: Duration) -> Option<llm::Error> {
    (number == THROTTLED).then(|| llm::Error::Throttled {
        endpoint: "mock".to_owned(),
        after: Some(Duration::from_secs(30)),
        message: "slow down".to_owned(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_429_to_one_worker_pauses_all() {
    let limited = limits(json!({ "requests_per_minute": 600, "concurrency": 10 }));
    let mut house = House::open().await;
    let asked = Asked::failing(throttles_once);
    let workers = [6, 6, 6].map(|slots| house.hire_counted(&limited, slots, &asked));
    sleep(Duration::from_secs(1)).await;
    let run = house.submit(&house::plan(&greetings(), 600)).await;
    let last = house.followed(&run).await;
    assert_eq!((last.state(), last.pass), (RunState::Finished, 600), "{:?}", failures(&house.summary(&run).await));
    let times = asked.times();
    let since_429 = times.iter().map(|at| at.saturating_duration_since(times[THROTTLED]).as_secs_f64());
    // The coordinator needs a moment to say it to the others.
    let during: Vec<f64> = since_429.filter(|since| (1.0..30.0).contains(since)).collect();
    assert!(during.is_empty(), "calls while the endpoint is paused: {during:?}");
    for worker in workers {
        worker.drained().await;
    }
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_answers_to_one_worker_name_holds_for_all() {
    let unlimited = limits(json!({}));
    let mut house = House::open().await;
    let asked = Asked::default();
    let names = house.hire_counted(&unlimited, 10, &asked.naming(60));
    let others = [10, 10].map(|slots| house.hire_counted(&unlimited, slots, &asked));
    sleep(Duration::from_secs(1)).await;
    let run = house.submit(&house::plan(&greetings(), 400)).await;
    sleep(Duration::from_secs(60)).await;
    // It joins after the limit was learned.
    let late = house.hire_counted(&unlimited, 10, &asked);
    let last = house.followed(&run).await;
    assert_eq!((last.state(), last.pass), (RunState::Finished, 400), "{:?}", failures(&house.summary(&run).await));
    let times = asked.times();
    let since_first = |at: &Instant| at.saturating_duration_since(times[0]).as_secs();
    // Nobody knows it before the first answers. What started meanwhile ends.
    let unknown = times.iter().filter(|at| since_first(at) < 5).count();
    assert!((30..110).contains(&unknown), "{unknown} calls in the first 5 s");
    let minute = |from: u64| times.iter().filter(|at| (from..from + 60).contains(&since_first(at))).count();
    let last_call = since_first(times.last().unwrap());
    let minutes: Vec<usize> = (5..last_call.saturating_sub(60)).map(minute).collect();
    // A quarter of it may start at once, and again where a new share grants it.
    assert!(minutes.len() > 120 && minutes.iter().all(|calls| (40..=75).contains(calls)), "{minutes:?}");
    names.drained().await;
    late.drained().await;
    for worker in others {
        worker.drained().await;
    }
    house.close().await;
}
