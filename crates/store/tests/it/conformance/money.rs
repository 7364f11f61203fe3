//! The money of runs.

use record::{
    Role, Usd,
    decision::{Decided, Decision},
};
use store::{Account, Error, Moved, RunRow, Slice, Store};

use crate::{
    samples::{PLAN, batch, id, lease, run, spend, token},
    stand::Stand,
};

/// A run named `run` that may cost 100 nano-dollars, and two open sessions.
async fn ready<S: Stand>() -> (S, u64, u64) {
    let stand = S::new().await;
    let row = RunRow { max_cost: Some(Usd(100)), ..run("run") };
    stand.store().create_run(&row, PLAN).await.unwrap();
    assert_eq!(stand.store().run(&id("run")).await.unwrap().unwrap().max_cost, Some(Usd(100)));
    let mut sessions = [0; 2];
    for session in &mut sessions {
        *session = stand.store().open_session("worker", &token(), 1).await.unwrap();
    }
    (stand, sessions[0], sessions[1])
}

fn account(returned: i64, charged: i64) -> Account {
    Account { returned: Usd(returned), charged: Usd(charged) }
}

/// Returns how much the session has got.
async fn fund<S: Store>(store: &S, session: u64, account: Account, granted: i64) -> i64 {
    store.fund(&id("run"), session, account, Usd(granted)).await.unwrap().granted.0
}

/// What counts as spent, what is reserved and what is unsettled.
async fn sums<S: Store>(store: &S) -> (i64, i64, i64) {
    let ledger = store.recover(&id("run")).await.unwrap().ledger;
    (ledger.taken().0, ledger.reserved().0, ledger.unsettled().0)
}

pub(super) async fn grants_never_exceed_the_budget<S: Stand>() {
    let (stand, one, two) = ready::<S>().await;
    let store = stand.store();
    assert_eq!(fund(store, one, account(0, 0), 60).await, 60);
    assert_eq!(fund(store, one, account(0, 0), 60).await, 60, "the same again is the same");
    assert_eq!(fund(store, two, account(0, 0), 41).await, 0, "all of it or nothing");
    assert_eq!(fund(store, two, account(0, 0), 40).await, 40);
    assert_eq!(fund(store, one, account(0, 0), 20).await, 60, "sums only grow");
    assert_eq!(sums(store).await, (100, 100, 0));
    let stand = stand.reopen().await;
    assert_eq!(sums(stand.store()).await, (100, 100, 0));
    assert_eq!(fund(stand.store(), one, account(0, 0), 61).await, 60);
}

pub(super) async fn what_is_given_back_is_granted_again<S: Stand>() {
    let (stand, one, two) = ready::<S>().await;
    let store = stand.store();
    fund(store, one, account(0, 0), 100).await;
    assert_eq!(fund(store, two, account(0, 0), 30).await, 0);
    assert_eq!(fund(store, one, account(30, 10), 0).await, 100);
    assert_eq!(fund(store, two, account(0, 0), 30).await, 30);
    fund(store, one, account(20, 5), 0).await;
    assert_eq!(sums(store).await, (100, 90, 10), "an old word changes nothing");
    fund(store, one, account(500, 5), 0).await;
    assert_eq!(sums(store).await, (40, 30, 10), "nobody gives back more than he got, or than he spent");
}

pub(super) async fn a_lost_session_leaves_what_it_held<S: Stand>() {
    let (stand, one, two) = ready::<S>().await;
    let store = stand.store();
    fund(store, one, account(0, 0), 60).await;
    fund(store, one, account(20, 5), 0).await;
    // Its heartbeat says less than it may spend.
    store.grant(&[lease(1, one, "run", 0..4, 1)], 2).await.unwrap();
    store.heartbeat(one, Usd(7), &[], 3).await.unwrap();
    assert_eq!(store.end_session(one, "lost", false, &[], 4).await.unwrap().len(), 1);
    assert_eq!(sums(store).await, (40, 0, 40));
    assert_eq!(store.recover(&id("run")).await.unwrap().unsettled, Usd(40));
    let refusal = store.fund(&id("run"), one, account(60, 0), Usd(60)).await;
    assert!(matches!(refusal, Err(Error::SessionOver(over)) if over == one), "{refusal:?}");
    assert_eq!(fund(store, two, account(0, 0), 61).await, 0);
    assert_eq!(fund(store, two, account(0, 0), 60).await, 60);
}

pub(super) async fn a_batch_settles_what_its_calls_cost<S: Stand>() {
    let (stand, one, _) = ready::<S>().await;
    let store = stand.store();
    fund(store, one, account(0, 0), 90).await;
    store.grant(&[lease(1, one, "run", 0..4, 1)], 2).await.unwrap();
    let mut commit = batch(one, 1, "run", &[(0, 1)]);
    commit.segment.spend = spend(Role::Judge, "m", 1);
    let cost = commit.segment.spend.cost().0;
    assert_eq!(cost, 50);
    // One call more was cut off.
    commit.account = Some(account(10, cost + 5));
    store.commit(&commit, 3).await.unwrap();
    assert_eq!(sums(store).await, (80, 75 - cost, 5));
    assert!(store.commit(&commit, 3).await.unwrap().duplicate);
    assert_eq!(sums(store).await, (80, 75 - cost, 5), "counted once");
    // It leaves, and gives back the rest.
    fund(store, one, account(90 - cost - 5, cost + 5), 0).await;
    store.end_session(one, "left", false, &[], 5).await.unwrap();
    assert_eq!(sums(store).await, (cost + 5, 0, 5));
}

pub(super) async fn a_budget_is_raised_and_counts_what_was_spent_before<S: Stand>() {
    let stand = S::new().await;
    let store = stand.store();
    let row = RunRow { preflight: spend(Role::Agent, "m", 1), ..run("run") };
    let cost = row.preflight.cost().0;
    store.create_run(&row, PLAN).await.unwrap();
    let session = store.open_session("worker", &token(), 1).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().ledger.max_cost, None);
    let decision = Decision { at: 1, load_micros: None, by: None, what: Decided::Budget { max_cost_usd: 0.1 } };
    let moved = Moved { max_cost: Some(Usd(cost + 9)), ..Moved::default() };
    store.decide(&id("run"), &decision, moved).await.unwrap();
    store.decide(&id("run"), &Decision { what: Decided::Paused, ..decision }, Moved::default()).await.unwrap();
    assert_eq!(store.run(&id("run")).await.unwrap().unwrap().max_cost, Some(Usd(cost + 9)));
    assert_eq!(fund(store, session, account(0, 0), 10).await, 0);
    assert_eq!(fund(store, session, account(0, 0), 9).await, 9);
    let ledger = store.recover(&id("run")).await.unwrap().ledger;
    assert_eq!((ledger.besides, ledger.left()), (Usd(cost), Usd(0)));
    assert_eq!(ledger.slices, [Slice { session, granted: Usd(9), open: true, ..Slice::default() }]);
}

pub(super) async fn money_needs_a_budget_and_a_living_session<S: Stand>() {
    let (stand, session, _) = ready::<S>().await;
    let store = stand.store();
    store.create_run(&run("free"), PLAN).await.unwrap();
    let slice = store.fund(&id("free"), session, account(0, 0), Usd(5)).await.unwrap();
    assert_eq!(slice.granted, Usd(0));
    let ghost = store.fund(&id("ghost"), session, account(0, 0), Usd(5)).await;
    assert!(matches!(ghost, Err(Error::UnknownRun(_))), "{ghost:?}");
    let nobody = store.fund(&id("run"), 99, account(0, 0), Usd(5)).await;
    assert!(matches!(nobody, Err(Error::SessionOver(99))), "{nobody:?}");
}
