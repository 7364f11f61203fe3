//! A coordinator that is away: which trials continue, when they are given up, and when the worker stops waiting.

use super::*;

/// Long turns would hide when the last one began.
const SHORT: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy)]
enum Away {
    Refusing,
    Hanging,
    /// Streams can be opened, but the coordinator sends nothing on them.
    Silent,
    /// The stream is open, but heartbeats are not answered.
    Deaf,
    /// The plan of a lease is not given.
    WithoutPlan,
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_renew_stops_and_joins_again() {
    for away in [Away::Refusing, Away::Hanging, Away::Silent, Away::Deaf, Away::WithoutPlan] {
        let mut scene = Scene::new(1, SHORT);
        let mut line = scene.welcomed().await;
        let claim = line.claim().await;
        line.grant(claim.number, vec![scene.lease(0, 900)]).await;
        line.listen(5 * SECOND).await;
        let broke = Instant::now();
        let silent = match away {
            Away::Refusing => scene.coordinator.presence.send(Presence::Refusing).map(|()| None).unwrap(),
            Away::Hanging => scene.coordinator.presence.send(Presence::Hanging).map(|()| None).unwrap(),
            Away::Silent => {
                drop(line);
                Some(scene.coordinator.line().await)
            }
            Away::Deaf => {
                line.renews = false;
                line.listen(15 * SECOND).await;
                Some(line)
            }
            Away::WithoutPlan => {
                scene.coordinator.plans.lock().unwrap().insert("hangs".to_owned(), Vec::new());
                line.say(Order::Stop(v1::Stop { run: "r".to_owned(), drain: false })).await;
                let claim = loop {
                    if let Some(Word::Claim(claim)) = line.hear().await {
                        break claim;
                    }
                };
                line.grant(claim.number, vec![v1::Lease { plan_digest: "hangs".to_owned(), ..scene.lease(0, 1) }])
                    .await;
                Some(line)
            }
        };
        sleep((broke + 30 * SECOND).saturating_duration_since(Instant::now())).await;
        let last = scene.last_asked().saturating_duration_since(broke);
        match away {
            // A worker with a stream continues until the session may have expired.
            Away::Deaf => assert!((16.0..=20.1).contains(&last.as_secs_f64()), "{away:?}: {last:?}"),
            Away::WithoutPlan => assert!(last < SECOND, "{away:?}: {last:?}"),
            // Two heartbeats are 2 s apart, and the streams broke between them.
            _ => assert!((0.9..=1.1).contains(&last.as_secs_f64()), "{away:?}: {last:?}"),
        }
        drop(silent);
        scene.coordinator.presence.send(Presence::There).unwrap();
        // After 20 s everything was given up, so the next stream is another session's.
        let asked = scene.asked();
        let mut line = loop {
            let line = scene.coordinator.line().await;
            if line.hello.session > 1 {
                break line;
            }
        };
        line.welcome(0).await;
        assert_eq!(line.claim().await.number, 1, "{away:?}");
        line.grant(1, Vec::new()).await;
        line.listen(5 * SECOND).await;
        assert_eq!((line.held.len(), scene.asked()), (0, asked), "{away:?}: nothing of before is played");
        assert!(!scene.worker.is_finished());
    }
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_comes_back_soon_costs_nothing() {
    for away in [SECOND / 10, SECOND / 2, 2 * SECOND, 10 * SECOND] {
        let mut scene = Scene::new(1, SHORT);
        let mut line = scene.welcomed().await;
        let claim = line.claim().await;
        line.grant(claim.number, vec![scene.lease(0, 100)]).await;
        line.listen(SECOND).await;
        scene.coordinator.presence.send(Presence::Refusing).unwrap();
        sleep(away).await;
        scene.coordinator.presence.send(Presence::There).unwrap();
        let mut line = scene.coordinator.line().await;
        assert_eq!((line.hello.session, scene.coordinator.joins()), (1, 1));
        line.welcome(0).await;
        assert_eq!(numbers(&line.until_ended(100).await), (0..100).collect::<Vec<u64>>());
        assert_eq!(scene.asked(), 300, "no trial was played twice");
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_a_coordinator_is_bounded() {
    for presence in [Presence::Refusing, Presence::Hanging] {
        let scene = Scene::new(1, SECOND);
        scene.coordinator.presence.send(presence).unwrap();
        let began = Instant::now();
        match scene.ended().await {
            Err(Error::Unreachable { patience, last }) => {
                assert_eq!((patience, last.is_empty()), (60 * SECOND, false), "{presence:?}");
            }
            other => panic!("{other:?}"),
        }
        let took = began.elapsed().as_secs_f64();
        assert!((60.0..60.5).contains(&took), "{took}");
    }
    let scene = Scene::new(1, SECOND);
    scene.coordinator.presence.send(Presence::Rejecting).unwrap();
    let began = Instant::now();
    match scene.ended().await {
        Err(Error::Refused(why)) => assert_eq!(why, "another protocol"),
        other => panic!("{other:?}"),
    }
    assert!(began.elapsed() < SECOND);
}
