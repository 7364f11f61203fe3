//! Streams that break, leases that are revoked, and sessions that end.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_claim_and_a_batch_survive_their_stream() {
    let mut scene = Scene::new(1, SECOND);
    let mut line = scene.welcomed().await;
    assert_eq!(line.hello.session, 1);
    let first = line.claim().await;
    assert_eq!((first.number, first.want), (1, 2));
    drop(line);

    // The same number, so that a grant that was lost on its way comes again.
    let mut line = scene.welcomed().await;
    assert_eq!(line.hello.session, 1);
    let again = line.claim().await;
    assert_eq!(again.number, 1);
    line.grant(1, vec![scene.lease(0, 1)]).await;
    let sent = [line.batch().await, line.batch().await];
    let sequences = [sent[0].sequence, sent[1].sequence];
    assert_eq!(sequences, [1, 2], "a turn is sent when the next one is over");
    assert_eq!(sent[1].ended[0].verdict, Verdict::Pass.name());
    let sequences: Vec<u64> = sent[1].ended[0].pieces.iter().map(|piece| piece.sequence).collect();
    assert_eq!(sequences, [1, 2]);
    drop(line);

    // Nothing was acknowledged, so everything is sent again unchanged.
    let mut line = scene.welcomed().await;
    assert_eq!([line.batch().await, line.batch().await], sent);
    drop(line);

    // The coordinator had committed the first before it was lost.
    let mut line = scene.coordinator.line().await;
    line.welcome(1).await;
    let words = line.listen(SECOND).await;
    let batches: Vec<&v1::Batch> =
        words.iter().filter_map(|word| if let Word::Batch(batch) = word { Some(batch) } else { None }).collect();
    assert_eq!(batches, [&sent[1]]);
    assert_eq!(line.held, [held(0, 1)], "an end that is not acknowledged is held");
    line.acknowledge(2).await;
    line.listen(3 * SECOND).await;
    assert_eq!(line.held, []);
}

/// Which results are unsent when a stream breaks depends on the moment, so several are tried.
#[tokio::test(start_paused = true)]
async fn queued_messages_are_sent_on_the_next_stream() {
    for moment in [1_995, 2_000, 2_005, 2_015, 2_795, 2_800, 2_805, 2_995, 3_000, 3_001, 3_009, 3_015] {
        let mut scene = Scene::new(1, SECOND);
        let mut line = scene.welcomed().await;
        let claim = line.claim().await;
        line.grant(claim.number, vec![scene.lease(0, 1)]).await;
        line.listen(Duration::from_millis(moment)).await;
        drop(line);
        let mut line = scene.welcomed().await;
        assert_eq!(numbers(&line.until_ended(1).await), [0], "broken after {moment} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn trials_that_are_fenced_are_never_ended() {
    let mut scene = Scene::new(2, 10 * SECOND);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    line.grant(claim.number, vec![scene.lease(0, 3)]).await;
    line.listen(12 * SECOND).await;
    assert_eq!(line.held, [held(0, 3)]);
    // One running and one waiting trial are revoked; the remaining one takes a slot.
    line.say(Order::Fenced(v1::Fenced { trials: vec![held(1, 2), held(2, 3)] })).await;
    let claim = line.claim().await;
    line.grant(claim.number, vec![scene.lease(7, 8)]).await;
    line.listen(3 * SECOND).await;
    assert_eq!(line.held, [held(0, 1), held(7, 8)]);
    assert_eq!(numbers(&line.until_ended(2).await), [0, 7]);
    let words = line.listen(60 * SECOND).await;
    assert!(words.iter().all(|word| matches!(word, Word::Claim(_))), "{words:?}");
    // Trial 1 was cut off in its second turn.
    assert_eq!(scene.asked(), 3 + 2 + 3);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_sent_away_joins_again_or_leaves() {
    for rejoin in [true, false] {
        let mut scene = Scene::new(1, 10 * SECOND);
        let mut line = scene.welcomed().await;
        let claim = line.claim().await;
        line.grant(claim.number, vec![scene.lease(0, 2)]).await;
        line.listen(15 * SECOND).await;
        line.say(Order::Goodbye(v1::Goodbye { reason: "the test says so".to_owned(), rejoin, retry: false })).await;
        if !rejoin {
            scene.ended().await.unwrap();
            continue;
        }
        let mut line = scene.welcomed().await;
        assert_eq!(line.hello.session, 2);
        // Results for the old session are dropped, and the batch numbers start again.
        assert_eq!(line.claim().await.number, 1);
        line.grant(1, vec![v1::Lease { epoch: 2, ..scene.lease(0, 1) }]).await;
        let asked = scene.asked();
        let first = line.batch().await;
        assert_eq!(first.sequence, 1, "the numbers of batches start again too");
        line.acknowledge(1).await;
        let end = line.until_ended(1).await.remove(0);
        assert_eq!((end.number, end.epoch, end.turns), (0, 2, 3));
        assert_eq!(scene.asked() - asked, 3);
    }
}

#[tokio::test(start_paused = true)]
async fn trials_that_wait_are_taken_back_by_their_numbers() {
    let mut scene = Scene::new(1, 10 * SECOND);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    let again = v1::Lease { epoch: 2, ..scene.lease(2, 3) };
    line.grant(claim.number, vec![scene.lease(0, 2), again, scene.lease(3, 4)]).await;
    line.listen(5 * SECOND).await;
    line.say(Order::Stop(v1::Stop { run: "r".to_owned(), drain: true, first: 0, end: 3 })).await;
    assert_eq!(line.released().await, [held(1, 2)], "the first has begun, and the third is played again");
    assert_eq!(numbers(&line.until_ended(3).await), [0, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_is_given_back() {
    for drain in [true, false] {
        let mut scene = Scene::new(1, 10 * SECOND);
        let mut line = scene.welcomed().await;
        let claim = line.claim().await;
        line.grant(claim.number, vec![scene.lease(0, 2)]).await;
        line.listen(5 * SECOND).await;
        line.say(Order::Stop(v1::Stop { run: "another".to_owned(), drain: false, ..v1::Stop::default() })).await;
        line.say(Order::Stop(v1::Stop { run: "r".to_owned(), drain, ..v1::Stop::default() })).await;
        if drain {
            assert_eq!(line.released().await, [held(1, 2)]);
            assert_eq!(numbers(&line.until_ended(1).await), [0]);
        } else {
            assert_eq!(line.released().await, [held(1, 2)], "it had not begun");
            assert_eq!(line.released().await, [held(0, 1)]);
            let words = line.listen(60 * SECOND).await;
            // The aborted call may have been charged.
            let spent: Vec<_> = words
                .iter()
                .filter_map(|word| match word {
                    Word::Claim(_) => None,
                    Word::Batch(batch) if batch.ended.is_empty() && batch.turns == 0 => Some(&batch.spend[..]),
                    other => panic!("{other:?}"),
                })
                .collect();
            let [[line]] = spent[..] else { panic!("{spent:?}") };
            assert_eq!((line.calls, line.unpriced_calls), (1, 1));
            assert_eq!(scene.asked(), 1);
        }
        assert!(!scene.worker.is_finished());
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_cannot_be_had_costs_its_lease_only() {
    let mut scene = Scene::new(1, SECOND);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    let unknown = v1::Lease { plan_digest: "unknown".to_owned(), ..scene.lease(0, 1) };
    scene.coordinator.plans.lock().unwrap().insert("broken".to_owned(), b"{}".to_vec());
    let broken = v1::Lease { plan_digest: "broken".to_owned(), ..scene.lease(1, 2) };
    line.grant(claim.number, vec![unknown, broken, scene.lease(2, 3)]).await;
    assert_eq!(line.released().await, [held(0, 1)]);
    assert_eq!(line.released().await, [held(1, 2)]);
    assert_eq!(numbers(&line.until_ended(1).await), [2]);
    line.listen(3 * SECOND).await;
    assert_eq!(line.held, []);
}

#[tokio::test(start_paused = true)]
async fn a_bug_ends_one_trial_and_no_other() {
    let agent = FakeAgent::new(|turn, _| if turn == 2 { Does::Panics } else { Does::Says("sunny".into()) });
    let mut scene = Scene::with(1, &Cast::with(agent));
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    line.grant(claim.number, vec![scene.lease(0, 2)]).await;
    for trial in line.until_ended(2).await {
        assert_eq!((trial.verdict.as_str(), trial.failure.unwrap().kind.as_str()), ("ERROR", "panicked"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_refused_ends_its_trial_and_not_the_session() {
    let mut scene = Scene::new(2, SECOND);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    line.grant(claim.number, vec![scene.lease(0, 2)]).await;
    let first = line.batch().await;
    assert_eq!((first.sequence, first.turns, first.ended.len()), (1, 2, 0), "a turn of each");
    let reason = "it cannot be read".to_owned();
    line.say(Order::Refused(v1::Refused { sequence: 1, reason, trials: vec![held(0, 1)] })).await;
    let again = line.batch().await;
    assert_eq!((again.sequence, again.turns), (1, 1), "without the one that is at fault");
    assert_eq!(again.spend, first.spend, "what it cost is still said");
    line.acknowledge(1).await;
    let mut ended = line.until_ended(2).await;
    ended.sort_by_key(|trial| trial.number);
    let failure = ended[0].failure.clone().unwrap();
    assert_eq!(
        (ended[0].verdict.as_str(), failure.kind.as_str(), failure.blame.as_str()),
        ("ERROR", "record_refused", "infra")
    );
    assert!(failure.message.ends_with("it cannot be read") && ended[0].pieces.is_empty(), "{failure:?}");
    assert_eq!((ended[1].number, ended[1].verdict.as_str()), (1, "PASS"));
    assert_eq!(scene.coordinator.joins(), 1);
}

/// Without a name, all trials of the batch are given up. In the end an empty batch is accepted.
#[tokio::test(start_paused = true)]
async fn a_batch_that_is_refused_for_ever_does_not_stop_the_session() {
    let mut scene = Scene::new(1, SECOND);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    line.grant(claim.number, vec![scene.lease(0, 1)]).await;
    line.listen(Duration::from_millis(2_900)).await;
    for expected in [1, 1, 0] {
        // The batch includes the third turn and the end, or what is left of them.
        let refused = loop {
            let batch = line.batch().await;
            if batch.sequence == 2 {
                break batch;
            }
        };
        assert_eq!(refused.ended.len(), expected);
        let (sequence, reason) = (2, "no".to_owned());
        line.say(Order::Refused(v1::Refused { sequence, reason, trials: Vec::new() })).await;
    }
    line.acknowledge(2).await;
    line.listen(3 * SECOND).await;
    assert_eq!((line.held.as_slice(), scene.coordinator.joins()), ([].as_slice(), 1), "it may be lent again");
}

#[tokio::test(start_paused = true)]
async fn begun_trials_are_reported_at_once_and_on_each_stream() {
    let mut scene = Scene::new(2, 10 * SECOND);
    let mut line = scene.welcomed().await;
    let claim = line.claim().await;
    assert_eq!((claim.want, claim.idle), (3, 2), "two of them begin with the grant");
    line.grant(claim.number, vec![scene.lease(0, 3)]).await;
    line.listen(SECOND).await;
    assert_eq!(line.begun, [held(0, 2)], "and the third waits");
    // Three turns each: then the third trial begins.
    line.until_ended(2).await;
    line.listen(SECOND).await;
    assert_eq!(line.begun, [held(0, 2), held(2, 3)]);
    drop(line);
    let mut line = scene.welcomed().await;
    line.listen(SECOND).await;
    assert_eq!(line.begun, [held(2, 3)]);
}
