//! Requests a day.

use store::{Drawn, Store};

use crate::stand::Stand;

const TODAY: i64 = 20_000;

fn drawn(granted: u64, left: u64) -> Drawn {
    Drawn { granted, left }
}

pub(super) async fn a_day_gives_no_more_than_its_limit<S: Stand>() {
    let stand = S::new().await;
    let store = stand.store();
    assert_eq!(store.draw("judge", TODAY, 10, 7).await.unwrap(), drawn(7, 3));
    assert_eq!(store.draw("user", TODAY, 10, 7).await.unwrap(), drawn(7, 3), "another limit");
    let stand = stand.reopen().await;
    let store = stand.store();
    assert_eq!(store.draw("judge", TODAY, 10, 7).await.unwrap(), drawn(3, 0), "as much as there is");
    assert_eq!(store.draw("judge", TODAY, 10, 1).await.unwrap(), drawn(0, 0));
    assert_eq!(store.draw("judge", TODAY, 12, 5).await.unwrap(), drawn(2, 0), "the limit was raised");
    assert_eq!(store.draw("judge", TODAY, 10, 5).await.unwrap(), drawn(0, 0), "and lowered");
    assert_eq!(store.draw("judge", TODAY + 1, 10, 4).await.unwrap(), drawn(4, 6), "the next day");
    assert_eq!(store.draw("judge", TODAY, u64::MAX, 0).await.unwrap(), drawn(0, u64::MAX - 12), "it is kept");
}

pub(super) async fn what_goes_back_is_drawn_again<S: Stand>() {
    let stand = S::new().await;
    let store = stand.store();
    store.draw("judge", TODAY, 10, 10).await.unwrap();
    assert_eq!(store.draw("judge", TODAY, 10, -4).await.unwrap(), drawn(0, 4));
    assert_eq!(store.draw("judge", TODAY, 10, 5).await.unwrap(), drawn(4, 0));
    assert_eq!(store.draw("judge", TODAY, 10, -100).await.unwrap(), drawn(0, 10), "never below nothing");
}

pub(super) async fn many_draw_at_once<S: Stand>() {
    let stand = S::new().await;
    let store = stand.store();
    let draw = || async { store.draw("judge", TODAY, 20, 3).await.unwrap().granted };
    let (a, b, c, d) = tokio::join!(draw(), draw(), draw(), draw());
    let (e, f, g, h) = tokio::join!(draw(), draw(), draw(), draw());
    assert_eq!([a, b, c, d, e, f, g, h].into_iter().sum::<u64>(), 20);
}
