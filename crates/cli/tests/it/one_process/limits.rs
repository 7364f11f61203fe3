//! Limits that a fleet shares.

use std::time::Duration;

use proto::v1::RunState;
use record::{Blame, FailureKind};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    failures, greetings,
    house::{self, Asked, House},
    limits,
};

/// 2026-11-20T23:55:00Z
const BEFORE_MIDNIGHT: i64 = 1_795_218_900_000;
const MIDNIGHT: Duration = Duration::from_secs(300);

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
