use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, sleep};

use super::*;

fn funds(granted: i64) -> Funds {
    Funds { granted, ..Funds::default() }
}

fn purses(granted: i64) -> Arc<Purses> {
    let purses = Arc::new(Purses::default());
    purses.open("run");
    purses.held(&BTreeMap::from([("run", (1, 1))]));
    purses.fund("run", funds(granted));
    purses
}

fn said(purses: &Purses) -> Statement {
    purses.of("run").unwrap()
}

#[tokio::test]
async fn runs_without_a_budget_reserve_nothing() {
    let purses = Arc::new(Purses::default());
    assert!(purses.reserve("run", "t", 5).await.unwrap().is_none());
    assert!(!purses.has("run") && !purses.is_short("run"));
}

#[tokio::test]
async fn a_call_keeps_what_it_cost_and_gives_back_the_rest() {
    let purses = purses(100);
    let mut reservation = purses.reserve("run", "t", 60).await.unwrap().unwrap();
    assert_eq!((said(&purses).reserved, said(&purses).charged), (60, 0));
    reservation.sent();
    reservation.settle(Some(10));
    assert_eq!((said(&purses).reserved, said(&purses).charged), (0, 10));
}

#[tokio::test]
async fn what_may_have_been_charged_counts_as_spent() {
    let purses = purses(100);
    let mut lost = purses.reserve("run", "t", 30).await.unwrap().unwrap();
    lost.sent();
    drop(lost);
    assert_eq!(said(&purses).charged, 30, "cut off");
    let mut unknown = purses.reserve("run", "t", 20).await.unwrap().unwrap();
    unknown.sent();
    unknown.settle(None);
    assert_eq!(said(&purses).charged, 50, "of unknown cost");
    drop(purses.reserve("run", "t", 20).await.unwrap());
    assert_eq!(said(&purses).charged, 50, "never sent");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_until_there_is_money() {
    let purses = purses(10);
    let came = Instant::now();
    let waiting = tokio::spawn({
        let purses = Arc::clone(&purses);
        async move { purses.reserve("run", "t", 30).await.unwrap().unwrap() }
    });
    purses.news().await;
    sleep(Duration::from_secs(1)).await;
    let asked = said(&purses);
    assert_eq!((asked.need, asked.wanted >= 30), (20, true), "{asked:?}");
    purses.fund("run", funds(29));
    sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_finished());
    purses.fund("run", funds(30));
    let mut reservation = waiting.await.unwrap();
    assert_eq!(came.elapsed(), Duration::from_secs(2));
    reservation.sent();
    reservation.settle(Some(30));
    assert_eq!(said(&purses).charged, 30);
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_fail_once_the_money_is_used_up() {
    let purses = purses(10);
    let waiting = tokio::spawn({
        let purses = Arc::clone(&purses);
        async move { purses.reserve("run", "t", 30).await.map(|_| ()) }
    });
    sleep(Duration::from_secs(1)).await;
    purses.fund("run", Funds { granted: 10, short: true, used_up: true });
    assert_eq!(waiting.await.unwrap(), Err(UsedUp));
    assert!(matches!(purses.reserve("run", "t", 11).await, Err(UsedUp)));
    assert!(purses.reserve("run", "t", 0).await.unwrap().is_some(), "free calls need none");
    let after = said(&purses);
    assert_eq!((after.returned, after.need), (10, 0), "all of it goes back");
    // The run is resumed with a larger budget.
    purses.fund("run", funds(20));
    assert!(purses.reserve("run", "t", 10).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_gives_up_waiting_takes_nothing() {
    let purses = purses(10);
    let waiting = tokio::time::timeout(Duration::from_secs(1), purses.reserve("run", "t", 30));
    assert!(waiting.await.is_err());
    purses.fund("run", funds(40));
    assert_eq!((said(&purses).reserved, said(&purses).need), (0, 0));
}

#[tokio::test]
async fn short_money_goes_back_unless_a_call_needs_it() {
    let purses = purses(100);
    let mut reservation = purses.reserve("run", "t", 40).await.unwrap().unwrap();
    reservation.sent();
    assert_eq!(said(&purses).returned, 0);
    purses.fund("run", Funds { granted: 100, short: true, used_up: false });
    assert!(purses.is_short("run"));
    assert_eq!(said(&purses).returned, 60);
    reservation.settle(Some(5));
    assert_eq!((said(&purses).returned, said(&purses).charged), (95, 5));
    // Money that was not said to be short again, and old words.
    purses.fund("run", funds(90));
    assert_eq!(said(&purses).returned, 95, "an old grant changes nothing");
}

#[tokio::test(start_paused = true)]
async fn the_first_trial_gets_short_money_first() {
    let purses = purses(0);
    let order = Arc::new(Mutex::new(Vec::new()));
    // They come in the order of their trials, and the first one needs the most.
    for (trial, nanos) in [("a", 50), ("b", 10), ("c", 20)] {
        let (purses, order) = (Arc::clone(&purses), Arc::clone(&order));
        tokio::spawn(async move {
            let reservation = purses.reserve("run", trial, nanos).await;
            order.lock().unwrap().push(trial);
            std::mem::forget(reservation);
        });
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(said(&purses).need, 10, "any of them may go on");
    purses.fund("run", Funds { granted: 0, short: true, used_up: false });
    assert_eq!(said(&purses).need, 50);
    purses.fund("run", Funds { granted: 50, short: true, used_up: false });
    sleep(Duration::from_millis(1)).await;
    assert_eq!(*order.lock().unwrap(), ["a"]);
    assert_eq!((said(&purses).need, said(&purses).wanted), (10, 60));
    purses.fund("run", Funds { granted: 80, short: true, used_up: false });
    sleep(Duration::from_millis(1)).await;
    assert_eq!(*order.lock().unwrap(), ["a", "b", "c"]);
}

#[tokio::test]
async fn idle_money_goes_back_with_the_last_trial() {
    let purses = purses(100);
    assert_eq!(said(&purses).returned, 0);
    purses.trial_over("run", "t");
    assert_eq!(said(&purses).returned, 100);
}

#[tokio::test]
async fn calls_of_an_earlier_session_settle_nothing() {
    let purses = purses(100);
    let mut reservation = purses.reserve("run", "t", 40).await.unwrap().unwrap();
    reservation.sent();
    purses.forget();
    purses.open("run");
    purses.fund("run", funds(10));
    drop(reservation);
    assert_eq!(said(&purses).charged, 0);
}

#[derive(Debug, Clone)]
enum Step {
    Reserve(i64),
    Settle(usize, i64),
    Drop(usize),
    Fund(i64, bool),
    Hold(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_i64..50).prop_map(Step::Reserve),
        3 => (any::<usize>(), 0_i64..50).prop_map(|(which, cost)| Step::Settle(which, cost)),
        1 => any::<usize>().prop_map(Step::Drop),
        3 => (0_i64..400, any::<bool>()).prop_map(|(granted, short)| Step::Fund(granted, short)),
        1 => (0_u64..3).prop_map(Step::Hold),
    ]
}

proptest! {
    /// What was charged, what is reserved and what went back never add up to more than what came in.
    #[test]
    fn a_purse_never_spends_more_than_it_got(steps in prop::collection::vec(step(), 0..80)) {
        let mut purse = Purse::new();
        let (mut granted, mut open) = (0_i64, Vec::new());
        for step in steps {
            match step {
                Step::Reserve(nanos) => {
                    if purse.take("t", nanos) == Ok(true) {
                        open.push(nanos);
                    } else {
                        let ticket = purse.wait("t", nanos);
                        if purse.fate(ticket) == Fate::Given {
                            open.push(nanos);
                        } else {
                            purse.give_up(ticket);
                        }
                    }
                }
                Step::Settle(which, cost) if !open.is_empty() => {
                    let nanos = open.swap_remove(which % open.len());
                    purse.settle(nanos, cost.min(nanos));
                }
                Step::Drop(which) if !open.is_empty() => {
                    let nanos = open.swap_remove(which % open.len());
                    purse.settle(nanos, nanos);
                }
                Step::Settle(..) | Step::Drop(_) => {}
                Step::Fund(to, short) => {
                    granted = granted.max(to);
                    purse.fund(Funds { granted: to, short, used_up: false });
                }
                Step::Hold(trials) => purse.hold(trials, trials),
            }
            let Statement { returned, charged, reserved, .. } = purse.say();
            prop_assert_eq!(reserved, open.iter().sum::<i64>());
            prop_assert!(returned + charged + reserved <= granted, "{:?}", purse);
        }
    }
}
