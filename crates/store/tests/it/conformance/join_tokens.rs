//! Join tokens.

use scenario::Digest;
use store::{JoinToken, Redeemed, Store};

use crate::stand::Stand;

const DAY: i64 = 24 * 3_600 * 1_000;

fn of(secret: &str, role: &str, expires_at: i64) -> JoinToken {
    JoinToken { digest: Digest::of(secret.as_bytes()), role: role.to_owned(), expires_at }
}

async fn redeemed(store: &impl Store, secret: &str, at: i64) -> Redeemed {
    store.redeem(&Digest::of(secret.as_bytes()), at).await.unwrap()
}

fn with_role(role: &str) -> Redeemed {
    Redeemed::As(role.to_owned())
}

pub(super) async fn a_join_token_is_good_once_and_until_its_end<S: Stand>() {
    let stand = S::new().await;
    let store = stand.store();
    for token in [of("one", "worker", 1_000), of("two", "view", 2_000)] {
        store.add_join_token(&token, 0).await.unwrap();
    }
    assert_eq!(redeemed(store, "three", 0).await, Redeemed::Unknown);
    assert_eq!(redeemed(store, "one", 1_000).await, Redeemed::Expired);
    assert_eq!(redeemed(store, "one", 999).await, with_role("worker"), "an early try does not use it");
    assert_eq!(redeemed(store, "one", 999).await, Redeemed::Used);
    // The next coordinator knows all of that.
    let stand = stand.reopen().await;
    let store = stand.store();
    assert_eq!(redeemed(store, "one", 999).await, Redeemed::Used);
    assert_eq!(redeemed(store, "one", 1_000).await, Redeemed::Used, "which is the true reason");
    assert_eq!(redeemed(store, "two", 1_999).await, with_role("view"));
}

pub(super) async fn a_join_token_that_is_added_twice_is_one<S: Stand>() {
    let stand = S::new().await;
    let (store, token) = (stand.store(), of("one", "submit", 1_000));
    store.add_join_token(&token, 0).await.unwrap();
    store.add_join_token(&token, 0).await.unwrap();
    assert_eq!(redeemed(store, "one", 0).await, with_role("submit"));
    store.add_join_token(&token, 0).await.unwrap();
    assert_eq!(redeemed(store, "one", 0).await, Redeemed::Used);
}

pub(super) async fn of_many_that_redeem_a_join_token_at_once_one_succeeds<S: Stand>() {
    let stand = S::new().await;
    let store = stand.store();
    store.add_join_token(&of("one", "worker", 1_000), 0).await.unwrap();
    let redeem = || redeemed(store, "one", 0);
    let (a, b, c, d) = tokio::join!(redeem(), redeem(), redeem(), redeem());
    let succeeded = [a, b, c, d].into_iter().filter(|one| *one == with_role("worker")).count();
    assert_eq!(succeeded, 1);
}

pub(super) async fn an_expired_join_token_is_remembered_for_a_day<S: Stand>() {
    let stand = S::new().await;
    let store = stand.store();
    store.add_join_token(&of("one", "worker", 1_000), 0).await.unwrap();
    store.add_join_token(&of("two", "worker", 2 * DAY), 1_000 + DAY).await.unwrap();
    assert_eq!(redeemed(store, "one", 1_000 + DAY).await, Redeemed::Expired);
    store.add_join_token(&of("three", "worker", 2 * DAY), 1_001 + DAY).await.unwrap();
    assert_eq!(redeemed(store, "one", 1_001 + DAY).await, Redeemed::Unknown);
    assert_eq!(redeemed(store, "two", 1_001 + DAY).await, with_role("worker"));
}
