//! Each rule of leasing on its own, with the times of the protocol.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use record::summary::RunState;
use store::{Losses, Recovered};

use self::harness::{Harness, a, agents, ended, held, lease, run};
use super::{Action, Event};

mod early;
mod harness;
mod lanes;
mod poison;
mod worker_quarantine;

#[test]
fn the_same_claim_gets_the_same_grant_and_a_new_one_the_next() {
    let mut harness = Harness::new(10, 1);
    assert_eq!(harness.claim(1, 4), [a(0..4, 1)]);
    assert_eq!(harness.claim_again(1, 4), [a(0..4, 1)]);
    assert_eq!(harness.claim(1, 4), [a(4..8, 1)]);
    let old = harness.on(Event::Claimed { session: 1, number: 1, want: 4, idle: 4, ahead: 0 });
    assert_eq!(old, [], "a claim that was followed by another is answered no more");
    assert_eq!(harness.claim(1, 4), [a(8..10, 1)]);
    assert_eq!(harness.claim(1, 4), []);
}

#[test]
fn workers_share_the_last_trials() {
    let mut harness = Harness::new(100, 2);
    assert_eq!(harness.claim(1, 1_000), [a(0..25, 1)], "of 100 for two workers");
    assert_eq!(harness.claim(2, 10), [a(25..35, 1)], "never more than was asked for");
    let mut last = 0;
    for turn in 0.. {
        let leased = harness.claim(1 + turn % 2, 1_000);
        let Some((_, trials, _)) = leased.first() else { break };
        last = trials.end - trials.start;
    }
    assert_eq!(last, 1, "the last trials go one by one");
}

#[test]
fn runs_take_turns() {
    let mut harness = Harness::new(100, 1);
    harness.start("b", 3, Recovered::default());
    let leased: Vec<String> =
        (0..5).flat_map(|_| harness.claim(1, 2)).map(|(run, trials, _)| format!("{run}{trials:?}")).collect();
    assert_eq!(leased, ["a0..2", "b0..2", "a2..4", "b2..3", "a4..5", "a5..7"], "and one fills what the other lacks");
}

#[test]
fn a_closed_stream_costs_three_seconds_and_silence_thirty() {
    for (closed, seconds, over) in [(true, 2.5, false), (true, 3.0, true), (false, 29.5, false), (false, 30.0, true)] {
        let mut harness = Harness::new(4, 1);
        harness.claim(1, 4);
        if closed {
            harness.on(Event::Disconnected { session: 1 });
        }
        let ended = harness.wait(seconds).iter().any(|action| matches!(action, Action::EndSession { .. }));
        assert_eq!(ended, over, "closed: {closed}, {seconds} s");
        harness.join(2);
        assert_eq!(harness.claim(2, 4), if over { vec![a(0..4, 2)] } else { vec![] });
    }
}

#[test]
fn a_worker_that_returns_in_time_keeps_its_trials() {
    let mut harness = Harness::new(4, 1);
    harness.claim(1, 4);
    harness.on(Event::Disconnected { session: 1 });
    harness.wait(2.5);
    harness.reconnect(1);
    assert_eq!(harness.wait(29.0), []);
    assert_eq!(harness.heartbeat(1, vec![held("a", 0..4, 1)]), [Action::Renew { session: 1 }]);
    assert_eq!(harness.wait(29.0), []);
}

#[test]
fn unlisted_trials_are_returned_and_unleased_ones_fenced() {
    let mut harness = Harness::new(10, 1);
    harness.claim(1, 6);
    harness.wait(29.0);
    let listed = vec![held("a", 0..2, 1), held("a", 4..9, 1), held("a", 5..6, 7), held("x", 0..u64::MAX, 1)];
    let fenced = vec![held("a", 6..9, 1), held("a", 5..6, 7), held("x", 0..u64::MAX, 1)];
    let heard = harness.heartbeat(1, listed.clone());
    assert_eq!(heard, [Action::Renew { session: 1 }, Action::Fence { session: 1, trials: fenced }]);
    harness.wait(1.0);
    let heard = harness.heartbeat(1, vec![held("a", 0..2, 1), held("a", 4..6, 1)]);
    let leases = vec![lease(1, 1, 2..4)];
    assert_eq!(heard, [Action::Renew { session: 1 }, Action::Release { session: 1, leases, begun: true }]);
    assert_eq!(harness.claim(1, 10), [a(2..4, 2), a(6..10, 1)], "returned first, and never played as the same attempt");
}

#[test]
fn released_trials_are_not_lost() {
    let mut harness = Harness::new(8, 1);
    harness.claim(1, 8);
    let given = vec![held("a", 2..4, 1), held("a", 6..20, 1), held("a", 0..1, 9), held("x", 0..9, 1)];
    let released = harness.on(Event::Released { session: 1, trials: given, begun: false });
    let leases = vec![lease(1, 1, 2..4), lease(1, 1, 6..8)];
    assert_eq!(released, [Action::Release { session: 1, leases, begun: false }]);
    assert_eq!(harness.claim(1, 8), [a(2..4, 1), a(6..8, 1)]);
    let left = harness.on(Event::Left { session: 1 });
    assert!(matches!(
        left.as_slice(),
        [Action::Release { .. }, Action::EndSession { proof: false, reason: "left", .. }]
    ));
    assert_eq!(harness.scheduler.lost_attempts(&run("a")), 0);
    assert_eq!(harness.scheduler.leased(&run("a")), 0);
}

#[test]
fn lost_trials_go_first_grouped_by_epoch() {
    let mut harness = Harness::new(10, 1);
    harness.claim(1, 6);
    harness.end(1, 1..2);
    let lost = harness.lose(1);
    assert_eq!(lost, [ended(1, "stream closed", vec![lease(1, 1, 0..1), lease(1, 1, 2..6)])]);
    harness.join(2);
    assert_eq!(harness.claim(2, 3), [a(0..1, 2), a(2..4, 2)]);
    assert_eq!(harness.claim(2, 10), [a(4..6, 2), a(6..10, 1)]);
    assert_eq!(harness.scheduler.lost_attempts(&run("a")), 5);
}

/// What the worker said of it on the earlier stream may be lost.
#[test]
fn a_trial_that_is_not_listed_after_a_new_stream_may_have_begun() {
    for new_stream in [false, true] {
        let mut harness = Harness::new(8, 2);
        assert_eq!(harness.claim_with_idle(1, 2, 0), [a(0..2, 1)]);
        if new_stream {
            harness.on(Event::Disconnected { session: 1 });
            harness.reconnect(1);
        }
        for _ in 0..3 {
            harness.wait(10.0);
            harness.heartbeat(1, vec![held("a", 0..1, 1)]);
            harness.heartbeat(2, vec![]);
        }
        assert_eq!(harness.claim(2, 1), [a(1..2, if new_stream { 2 } else { 1 })]);
    }
}

/// They may be another worker's by now, with the same epoch.
#[test]
fn a_grant_that_is_sent_again_has_nothing_that_was_taken_back() {
    let mut harness = Harness::new(12, 2);
    assert_eq!(harness.claim_with_idle(1, 3, 0), [a(0..3, 1)]);
    harness.wait(20.0);
    harness.heartbeat(1, vec![held("a", 1..2, 1)]);
    harness.heartbeat(2, vec![]);
    harness.wait(10.0);
    harness.heartbeat(1, vec![held("a", 1..2, 1)]);
    let again = harness.claims;
    assert_eq!(harness.claim(2, 2), [a(0..1, 1), a(2..3, 1)]);
    harness.claims = again;
    assert_eq!(harness.claim_again(1, 3), [a(1..2, 1)]);
}

/// Otherwise the worker would wait with the trials of a grant that came after the order to stop.
#[test]
fn a_grant_that_is_sent_again_is_followed_by_the_order_to_stop() {
    let mut harness = Harness::new(6, 1);
    harness.claim(1, 2);
    harness.on(Event::RunStopped { run: run("a"), drain: true });
    let again = harness.on(Event::Claimed { session: 1, number: harness.claims, want: 2, idle: 2, ahead: 0 });
    let stop = Action::Stop { session: 1, run: run("a"), drain: true };
    assert!(matches!(again.as_slice(), [Action::Grant { new: false, .. }, last] if *last == stop), "{again:?}");
}

#[test]
fn a_drained_run_leases_nothing_and_can_resume() {
    let mut harness = Harness::new(6, 1);
    harness.claim(1, 2);
    let stopped = harness.on(Event::RunStopped { run: run("a"), drain: true });
    let stop = [Action::Stop { session: 1, run: run("a"), drain: true }];
    assert_eq!(stopped, stop);
    assert_eq!(harness.claim(1, 2), []);
    harness.on(Event::Disconnected { session: 1 });
    assert_eq!(harness.reconnect(1), stop, "the order may have been lost with the stream");
    assert_eq!(harness.end(1, 0..1), []);
    let over = harness.on(Event::Released { session: 1, trials: vec![held("a", 1..2, 1)], begun: false });
    let finish = Action::Finish { run: run("a"), state: RunState::Interrupted, lost_attempts: 0 };
    assert!(matches!(over.as_slice(), [Action::Release { .. }, last] if *last == finish), "{over:?}");
    let done = Recovered { done: std::iter::once(0..1).collect(), ..Recovered::default() };
    harness.start("a", 6, done);
    assert_eq!(harness.claim(1, 9), [a(1..6, 1)]);
}

#[test]
fn a_drain_can_be_taken_back() {
    let mut harness = Harness::new(6, 1);
    harness.claim(1, 2);
    harness.on(Event::RunStopped { run: run("a"), drain: true });
    harness.start("a", 6, Recovered::default());
    assert_eq!(harness.claim(1, 9), [a(2..6, 1)]);
}

#[test]
fn a_cancelled_run_takes_everything_back_at_once() {
    let mut harness = Harness::new(6, 2);
    harness.claim(1, 2);
    let cancelled = harness.on(Event::RunStopped { run: run("a"), drain: false });
    let finish = Action::Finish { run: run("a"), state: RunState::Cancelled, lost_attempts: 0 };
    assert_eq!(
        cancelled,
        [
            Action::Stop { session: 1, run: run("a"), drain: false },
            Action::Release { session: 1, leases: vec![lease(1, 1, 0..2)], begun: false },
            finish
        ]
    );
    assert_eq!(harness.end(1, 0..1), [], "late results change nothing");
    assert_eq!(harness.claim(2, 9), []);
    assert_eq!(harness.wait(31.0).len(), 2, "sessions live and end as ever");
}

#[test]
fn a_run_is_over_when_every_trial_is() {
    let mut harness = Harness::new(3, 1);
    harness.claim(1, 3);
    assert_eq!(harness.end(1, 0..2), []);
    let finish = |lost_attempts| Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts };
    assert_eq!(harness.end(1, 2..3), [finish(0)]);
    let all = Recovered { done: std::iter::once(0..3).collect(), lost_attempts: 4, ..Recovered::default() };
    assert_eq!(harness.start("a", 3, all), [finish(4)]);
    assert_eq!(harness.start("a", 0, Recovered::default()), [finish(0)]);
}

#[test]
fn a_restart_continues_from_the_store() {
    let lost = |number, begun, proof| Losses { number, begun, all: begun, proof, session: 5 };
    let recovered = Recovered {
        done: vec![0..2, 5..6],
        attempts: vec![(2, 1), (3, 2), (4, 3), (5, 1)],
        losses: vec![lost(2, 1, 0), lost(3, 2, 0), lost(4, 3, 3)],
        leases: vec![lease(7, 1, 6..8), lease(7, 3, 8..10), lease(9, 1, 10..12)],
        lost_attempts: 7,
        ..Recovered::default()
    };
    let mut harness = Harness::new(0, 0);
    let started = harness.start("a", 14, recovered);
    assert_eq!(started, [Action::Poison { run: run("a"), trial: 4, epoch: 4 }], "the last process had no time for it");
    assert_eq!(harness.scheduler.leased(&run("a")), 7);
    harness.wait(5.0);
    harness.reconnect(7);
    harness.claims = 3;
    assert_eq!(harness.claim_again(7, 5), [a(8..10, 1)], "the grant that may not have arrived is sent again");
    harness.wait(24.5);
    let over = harness.wait(0.5);
    let given_up = ended(9, "no heartbeat in time", vec![lease(9, 1, 10..12)]);
    assert_eq!(over, [given_up], "who does not come back is given up");
    harness.join(11);
    assert_eq!(harness.claim(7, 9), [a(2..3, 2), a(10..11, 2)], "shared between two");
    assert_eq!(harness.claim(11, 9), [a(11..12, 2)]);
    assert_eq!(harness.claim(11, 9), [a(12..13, 1)]);
    assert_eq!(harness.claim(11, 9), [a(13..14, 1)]);
    assert_eq!(harness.claim(11, 9), [], "a suspect goes to one that holds nothing");
    harness.end(11, 11..14);
    assert_eq!(harness.claim(11, 9), [a(3..4, 3)]);
}

#[test]
fn a_coordinator_that_overslept_ends_no_session() {
    let mut harness = Harness::new(4, 1);
    harness.claim(1, 4);
    harness.wait(10.0);
    harness.now += Duration::from_secs(3_600);
    assert_eq!(harness.on(Event::Tick), []);
    assert_eq!(harness.wait(19.5), []);
    assert_eq!(harness.wait(0.5).len(), 1, "but its own time goes on");
}

#[test]
fn a_run_is_leased_to_workers_that_know_all_its_agents() {
    let mut harness = Harness::new(4, 0);
    let both = agents(&["mock", "other"]);
    harness.start_knowing("b", 6, both);
    let waiting = |harness: &Harness| harness.scheduler.waiting_for(&run("b"));
    assert_eq!(waiting(&harness), None, "no worker is connected, which another field reports");
    harness.join_knowing(1, &["mock"]);
    harness.join_knowing(2, &[]);
    assert_eq!(harness.claim(2, 9), []);
    assert_eq!(harness.claim(1, 1), [a(0..1, 1)]);
    assert_eq!(harness.claim(1, 9), [a(1..2, 1)], "a share of what it can play");
    assert_eq!(waiting(&harness).as_deref(), Some("no connected worker knows the agent `other`"));
    assert_eq!(harness.scheduler.waiting_for(&run("a")), None);
    harness.join_knowing(3, &["other", "third"]);
    assert_eq!(harness.claim(3, 9), []);
    assert_eq!(waiting(&harness).as_deref(), Some("no connected worker knows all of the agents `mock`, `other`"));
    harness.join_knowing(4, &["mock", "other", "third"]);
    assert_eq!(waiting(&harness), None);
    assert_eq!(harness.claim(4, 1), [("b".to_owned(), 0..1, 1)]);
    harness.on(Event::Disconnected { session: 4 });
    for session in 1..=2 {
        harness.on(Event::Disconnected { session });
    }
    assert_eq!(waiting(&harness).as_deref(), Some("no connected worker knows the agent `mock`"));
    harness.on(Event::RunStopped { run: run("b"), drain: true });
    assert_eq!(waiting(&harness), None, "a run that is drained waits for nobody");
}

#[test]
fn a_worker_that_comes_back_may_know_other_agents() {
    let mut harness = Harness::new(4, 1);
    assert_eq!(harness.claim(1, 1), [a(0..1, 1)]);
    harness.on(Event::Disconnected { session: 1 });
    harness.on(Event::Connected { session: 1, agents: agents(&["other"]), slots: 8 });
    assert_eq!(harness.claim(1, 1), [], "what it holds stays its own, and more it does not get");
    assert_eq!(harness.scheduler.leased(&run("a")), 1);
}

#[test]
fn released_begun_trials_get_a_new_epoch_without_suspicion() {
    let mut harness = Harness::new(2, 0);
    for epoch in 1..=4 {
        let session = u64::from(epoch);
        harness.join(session);
        assert_eq!(harness.claim(session, 2), [a(0..2, epoch)], "and never alone");
        let released = harness.on(Event::Released { session, trials: vec![held("a", 0..2, epoch)], begun: true });
        assert!(matches!(released.as_slice(), [Action::Release { begun: true, .. }]), "{released:?}");
        harness.on(Event::Left { session });
    }
    assert_eq!(harness.scheduler.lost_attempts(&run("a")), 8);
}

#[test]
fn replayed_trials_go_last_and_keep_the_run_open() {
    let mut harness = Harness::new(4, 1);
    assert_eq!(harness.claim(1, 2), [a(0..2, 1)]);
    let again = |trials: Range<u64>| Event::Again { session: 1, run: run("a"), trials: trials.collect() };
    assert_eq!(harness.on(again(0..2)), []);
    assert_eq!(harness.scheduler.leased(&run("a")), 0);
    assert_eq!(harness.claim(1, 9), [a(2..4, 1), a(0..2, 2)]);
    assert_eq!(harness.end(1, 2..4), []);
    assert_eq!(harness.on(again(1..2)), []);
    assert_eq!(harness.end(1, 0..1), []);
    assert_eq!(harness.claim(1, 9), [a(1..2, 3)]);
    let finish = Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 0 };
    assert_eq!(harness.end(1, 1..2), [finish]);
}

#[test]
fn a_restart_adopts_no_attempt_that_has_ended() {
    let recovered = Recovered {
        done: std::iter::once(0..1).collect(),
        attempts: vec![(2, 1)],
        leases: vec![lease(7, 1, 0..4)],
        ..Recovered::default()
    };
    let mut harness = Harness::new(0, 0);
    assert_eq!(harness.start("a", 4, recovered), []);
    assert_eq!(
        harness.scheduler.leased(&run("a")),
        2,
        "1 and 3 are being played, 2 has ended and waits to be played again"
    );
    harness.join(8);
    assert_eq!(harness.claim(8, 9), [a(2..3, 2)]);
}

#[test]
fn a_session_ages_while_there_is_no_coordinator() {
    // A coordinator that restarts every 12 s, and a worker that died before the first start.
    for (silent, over_after) in [(0, 30), (12, 18), (24, 6), (31, 0), (3_600, 0)] {
        let recovered = Recovered { leases: vec![lease(7, 1, 0..4)], ..Recovered::default() };
        let mut harness = Harness::new(0, 0);
        harness.start_after("a", 4, recovered, BTreeMap::from([(7, Duration::from_secs(silent))]));
        let before = harness.wait((f64::from(over_after) - 0.5).max(0.0));
        assert_eq!(before, [], "silent for {silent} s");
        assert_eq!(
            harness.wait(0.5),
            [ended(7, "no heartbeat in time", vec![lease(7, 1, 0..4)])],
            "silent for {silent} s"
        );
    }
}

#[test]
fn only_begun_attempts_count_as_lost() {
    let mut harness = Harness::new(10, 1);
    harness.claims = 1;
    assert_eq!(harness.claim_with(1, 6, 2), [a(0..6, 1)]);
    let said = |trials| Event::Begun {
        session: 1,
        trials: vec![held("a", trials, 1), held("a", 0..9, 7), held("x", 0..9, 1)],
    };
    let begun = |trials| vec![Action::Begin { session: 1, leases: vec![lease(1, 1, trials)] }];
    assert_eq!(harness.on(said(1..4)), begun(2..4), "what is new of it");
    assert_eq!(harness.on(said(0..4)), []);
    assert_eq!(harness.lose(1), [ended(1, "stream closed", vec![lease(1, 1, 0..4)])]);
    assert_eq!(harness.scheduler.lost_attempts(&run("a")), 4);
    harness.join(2);
    assert_eq!(harness.claim(2, 6), [a(0..6, 2)], "the others have another epoch too: they may have begun since");
}

#[test]
fn a_heartbeat_without_a_list_renews_and_takes_nothing_back() {
    let mut harness = Harness::new(4, 1);
    harness.claim(1, 4);
    harness.wait(20.0);
    assert_eq!(harness.on(Event::Heartbeat { session: 1, held: None }), [Action::Renew { session: 1 }]);
    harness.wait(15.0);
    assert_eq!(harness.on(Event::Heartbeat { session: 1, held: None }), [Action::Renew { session: 1 }]);
    assert!(matches!(harness.heartbeat(1, vec![]).as_slice(), [Action::Renew { .. }, Action::Release { .. }]));
}
