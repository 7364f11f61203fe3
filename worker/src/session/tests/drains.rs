//! Draining: waiting trials are returned, running trials finish, and then the worker leaves.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_drain_returns_waiting_trials_and_finishes_running_ones() {
    let mut scene = Scene::new(2, 10 * SECOND);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    line.grant(claim.number, vec![scene.lease(0, 5)]).await;
    line.listen(5 * SECOND).await;
    scene.drain.cancel();
    assert_eq!(line.released().await, [held(2, 5)]);
    assert_eq!(numbers(&line.until_ended(2).await), [0, 1]);
    assert_eq!(line.hear().await, Some(Word::Leave(v1::Leave {})));
    assert_eq!(line.hear().await, None);
    drop(line);
    assert_eq!(scene.asked(), 6);
    scene.ended().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_drain_does_not_wait_longer_than_its_grace() {
    for breaks in [false, true] {
        let mut scene = Scene::with(1, &Cast::with(FakeAgent::new(|_, _| Does::Hangs(3_600 * SECOND))));
        let mut line = scene.welcomed().await;
        let claim = line.claim().await;
        line.grant(claim.number, vec![scene.lease(0, 1)]).await;
        line.listen(SECOND).await;
        let began = Instant::now();
        scene.drain.cancel();
        if breaks {
            // The grace period counts from the drain, not from a stream.
            line.listen(50 * SECOND).await;
            drop(line);
            line = scene.welcomed().await;
        }
        assert_eq!(line.released().await, [held(0, 1)]);
        assert_eq!(began.elapsed().as_secs(), 120);
        assert_eq!(line.hear().await, Some(Word::Leave(v1::Leave {})));
        drop(line);
        scene.ended().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn grants_after_a_drain_are_returned() {
    let mut scene = Scene::new(1, SECOND);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    line.grant(claim.number, vec![scene.lease(0, 1)]).await;
    let claim = line.claim().await;
    scene.drain.cancel();
    line.listen(SECOND / 2).await;
    line.grant(claim.number, vec![scene.lease(1, 3)]).await;
    assert_eq!(line.released().await, [held(1, 3)]);
    assert_eq!(numbers(&line.until_ended(1).await), [0]);
    assert_eq!(line.hear().await, Some(Word::Leave(v1::Leave {})));
}

#[tokio::test(start_paused = true)]
async fn a_drain_may_come_at_any_time() {
    // Before there is a session.
    let scene = Scene::new(1, SECOND);
    scene.coordinator.presence.send(Presence::Hanging).unwrap();
    sleep(SECOND).await;
    scene.drain.cancel();
    scene.ended().await.unwrap();

    // Before the worker was welcomed.
    let mut scene = Scene::new(1, SECOND);
    let mut line = scene.coordinator.line().await;
    scene.drain.cancel();
    sleep(SECOND).await;
    line.welcome(0).await;
    assert_eq!(line.hear().await, Some(Word::Leave(v1::Leave {})));
    drop(line);
    scene.ended().await.unwrap();

    // While the coordinator is away: the worker waits for it with its results. If it stays away, the exit is not a success.
    let mut scene = Scene::new(1, SECOND);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    line.grant(claim.number, vec![scene.lease(0, 9)]).await;
    line.listen(3 * SECOND).await;
    scene.coordinator.presence.send(Presence::Refusing).unwrap();
    sleep(SECOND).await;
    scene.drain.cancel();
    let began = Instant::now();
    assert!(matches!(scene.ended().await, Err(Error::Unsent)));
    assert!(began.elapsed() <= 80 * SECOND, "{:?}", began.elapsed());
}
