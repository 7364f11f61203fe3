//! Slow links: long messages are split, and the session survives.

use super::*;

/// Three replies of 20 KB a trial.
fn talkative() -> Cast {
    Cast::with(FakeAgent::new(|_, _| {
        Does::SaysAfter(Duration::ZERO, SECOND / 10, format!("sunny {}", "la ".repeat(7_000)))
    }))
}

/// 3 KB/s; and the target, 64 kbit/s.
#[tokio::test(start_paused = true)]
async fn a_run_over_a_slow_link_ends_in_one_session() {
    for (bytes_a_second, trials) in [(3_000, 6), (8_000, 16)] {
        let mut scene = Scene::over(8, &talkative(), bytes_a_second);
        let began = Instant::now();
        let mut line = scene.welcomed().await;
        let claim = line.claim().await;
        line.grant(claim.number, vec![scene.lease(0, trials)]).await;
        let ended = line.until_ended(usize::try_from(trials).unwrap()).await;
        assert_eq!(numbers(&ended).len() as u64, trials);
        assert_eq!(scene.coordinator.joins(), 1, "{bytes_a_second} bytes a second");
        let took = began.elapsed().as_secs_f64();
        let least = (trials * 60_000) as f64 / bytes_a_second as f64;
        assert!(took > 60.0 && took < 1.5 * least, "{took} s, at least {least} s");
        // A heartbeat is due every 2 s, and none waited long behind results.
        assert!(f64::from(line.heartbeats) > took / 2.0 * 0.9 - 3.0, "{} heartbeats in {took} s", line.heartbeats);
    }
}

/// Scattered trials make a list that is too long for such a link every two seconds.
#[tokio::test(start_paused = true)]
async fn a_long_list_is_not_in_every_heartbeat() {
    let mut scene = Scene::with(200, &Cast::with(FakeAgent::new(|_, _| Does::Hangs(3_600 * SECOND))));
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    let apart = (0..200).map(|number| scene.lease(2 * number, 2 * number + 1)).collect();
    line.grant(claim.number, apart).await;
    let (mut full, mut brief) = (0, 0);
    let began = Instant::now();
    while began.elapsed() < 61 * SECOND {
        if let Some(Word::Beat(beat)) = line.hear_any().await {
            let count = if beat.brief { &mut brief } else { &mut full };
            *count += 1;
            assert!(beat.brief == beat.held.is_empty() || began.elapsed() < 3 * SECOND, "{} held", beat.held.len());
        }
    }
    assert!((9..=13).contains(&full) && full + brief >= 30, "{full} full and {brief} brief heartbeats");
}
