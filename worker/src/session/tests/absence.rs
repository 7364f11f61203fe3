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
                line.say(Order::Stop(v1::Stop { run: "r".to_owned(), drain: false, ..v1::Stop::default() })).await;
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
        // After 20 s everything was given up. The worker asks for its session until it hears that this is over.
        let asked = scene.asked();
        let mut line = loop {
            let line = scene.coordinator.line().await;
            if line.hello.session > 1 {
                break line;
            }
            // Streams of before are closed.
            let over = v1::Goodbye { reason: "the session is over".to_owned(), rejoin: true, retry: false };
            line.try_say(Order::Goodbye(over)).await;
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
async fn what_has_ended_is_delivered_however_long_the_coordinator_was_away() {
    // Short trials have ended when calls stop; a long one is given up.
    let long = SECOND * 13 / 10;
    for (away, agent_takes) in [(21 * SECOND, SHORT), (21 * SECOND, long), (29 * SECOND, SHORT), (70 * SECOND, long)] {
        let mut scene = Scene::new(1, agent_takes);
        let mut line = scene.welcomed().await;
        let claim = line.claim().await;
        line.grant(claim.number, vec![scene.lease(0, 900)]).await;
        line.listen(5 * SECOND).await;
        scene.coordinator.presence.send(Presence::Refusing).unwrap();
        sleep(away).await;
        let asked = scene.asked();
        scene.coordinator.presence.send(Presence::There).unwrap();
        let mut line = scene.coordinator.line().await;
        assert_eq!((line.hello.session, scene.coordinator.joins()), (1, 1), "{away:?}");
        sleep(5 * SECOND).await;
        line.welcome(0).await;
        let (mut ended, mut released) = (Vec::new(), Vec::new());
        for word in line.listen(5 * SECOND).await {
            match word {
                Word::Batch(batch) => ended.extend(numbers(&batch.ended)),
                Word::Release(v1::Release { trials, begun }) => released.push((trials, begun)),
                Word::Claim(_) => {}
                other => panic!("{other:?}"),
            }
        }
        let done = ended.len() as u64;
        assert_eq!(ended, (0..done).collect::<Vec<u64>>(), "{away:?}");
        let given_up = match agent_takes == SHORT {
            true => vec![(vec![held(done, 900)], false)],
            false => vec![(vec![held(done + 1, 900)], false), (vec![held(done, done + 1)], true)],
        };
        assert_eq!((released, done > 0), (given_up, true), "{away:?}");
        assert_eq!((line.held, scene.asked()), (vec![held(0, done)], asked), "{away:?}: nothing is played again");
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
    // With a session, from when its conversations were given up.
    let mut scene = Scene::new(1, SHORT);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    line.grant(claim.number, vec![scene.lease(0, 900)]).await;
    line.listen(5 * SECOND).await;
    scene.coordinator.presence.send(Presence::Refusing).unwrap();
    let began = Instant::now();
    assert!(matches!(scene.ended().await, Err(Error::Unreachable { .. })));
    let took = began.elapsed().as_secs_f64();
    assert!((77.0..81.0).contains(&took), "{took}");
    let scene = Scene::new(1, SECOND);
    scene.coordinator.presence.send(Presence::Rejecting).unwrap();
    let began = Instant::now();
    match scene.ended().await {
        Err(Error::Refused(why)) => assert_eq!(why, "another protocol"),
        other => panic!("{other:?}"),
    }
    assert!(began.elapsed() < SECOND);
}
