//! Trials that were lost with their workers: when and where they are played again, and when they are poisoned.

use super::*;

impl Harness {
    /// A new worker that takes a lease and is lost with it.
    fn brings_down(&mut self, session: u64, want: u32) -> Vec<(String, Range<u64>, u32)> {
        self.join(session);
        let leased = self.claim(session, want);
        self.lose(session);
        leased
    }
}

#[test]
fn suspects_are_played_last_and_together_and_halved_when_they_are_lost_again() {
    let mut harness = Harness::new(20, 0);
    assert_eq!(harness.brings_down(1, 8), [a(0..8, 1)]);
    assert_eq!(harness.brings_down(2, 8), [a(0..8, 2)], "the first time says nothing");
    harness.join(3);
    assert_eq!(harness.claim(3, 4), [a(8..12, 1)], "what is healthy goes first");
    assert_eq!(harness.claim(3, 99), [a(12..20, 1)]);
    harness.end(3, 8..19);
    assert_eq!(harness.claim(3, 99), [], "it holds another trial");
    harness.end(3, 19..20);
    assert_eq!(harness.claim(3, 6), [a(0..6, 3)], "so many as it has slots for");
    assert_eq!(harness.claim(3, 6), [], "and nothing besides");
    harness.end(3, 0..5);
    assert_eq!(harness.claim(3, 6), []);
    harness.end(3, 5..6);
    assert_eq!(harness.claim(3, 6), [a(6..8, 3)]);
    assert_eq!(harness.scheduler.lost_attempts(&run("a")), 16);
    let over = harness.end(3, 6..8);
    assert!(matches!(over.as_slice(), [Action::Finish { state: RunState::Finished, .. }]), "{over:?}");
}

#[test]
fn a_group_that_is_lost_is_halved_down_to_the_one_that_does_it() {
    let (planned, killer) = (64, 37);
    let mut harness = Harness::new(planned, 0);
    let mut lost = Vec::new();
    for session in 1.. {
        harness.join(session);
        let leased = harness.claim(session, 64);
        let trials: Vec<u64> = leased.iter().flat_map(|(_, trials, _)| trials.clone()).collect();
        if trials.is_empty() {
            break;
        }
        if trials.contains(&killer) {
            harness.lose(session);
            lost.push(trials.len());
        } else {
            trials.iter().for_each(|trial| drop(harness.end(session, *trial..trial + 1)));
            harness.on(Event::Left { session });
        }
    }
    // The first losses alone come too soon after the others.
    assert_eq!(lost, [64, 64, 64, 64, 64, 64, 32, 16, 8, 4, 2, 1], "twice in company, then by itself, then halves");
    assert_eq!(harness.scheduler.waiting_for(&run("a")), None);
    assert_eq!(harness.scheduler.leased(&run("a")), 0, "the last one rests, and all others are done");
}

#[test]
fn a_trial_that_brings_down_its_worker_while_all_is_calm_is_poisoned_the_third_time() {
    let mut harness = Harness::new(1, 0);
    for session in 1..=3 {
        assert_eq!(harness.brings_down(session, 1), [a(0..1, session as u32)]);
    }
    for session in 4..=6 {
        harness.join(session);
        assert_eq!(harness.claim(session, 1), [], "workers were lost just now");
        harness.wait(10.0);
        harness.heartbeat(session, vec![]);
        assert_eq!(harness.claim(session, 1), [a(0..1, session as u32)]);
        let lost = harness.lose(session);
        let proof = matches!(lost.first(), Some(Action::EndSession { proof: true, .. }));
        assert!(proof, "{lost:?}");
        let poison = Action::Poison { run: run("a"), trial: 0, epoch: 7 };
        assert_eq!(lost.get(1), (session == 6).then_some(&poison));
    }
    harness.join(7);
    harness.wait(25.0);
    assert_eq!(harness.claim(7, 1), [], "it is not played again");
    let over = harness.end(99, 0..1);
    assert_eq!(over, [Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 6 }]);
}

#[test]
fn workers_that_are_killed_all_the_time_prove_nothing() {
    let mut harness = Harness::new(1, 0);
    for session in 1..=3 {
        harness.brings_down(session, 1);
    }
    for round in 0..20 {
        let (plays, idle) = (100 + round, 200 + round);
        // Every few seconds, a worker that plays nothing is killed.
        let mut waited = 0;
        harness.join(plays);
        while harness.claim(plays, 1).is_empty() {
            harness.join(idle);
            harness.lose(idle);
            harness.heartbeat(plays, vec![]);
            waited += 3;
        }
        assert!((18..=21).contains(&waited), "it does not wait for ever for calm: {waited} s");
        let lost = harness.lose(plays);
        assert!(matches!(lost.as_slice(), [Action::EndSession { proof: false, .. }]), "{lost:?}");
    }
    // Nor does a worker that is lost during the trial, or together with it.
    for (session, together) in [(301, false), (302, true)] {
        harness.wait(30.0);
        harness.join(session);
        harness.join(session + 10);
        assert_eq!(harness.claim(session, 1).len(), 1);
        harness.on(Event::Disconnected { session: session + 10 });
        harness.wait(if together { 0.0 } else { 3.0 });
        let lost = harness.lose(session);
        let proofs = lost.iter().filter(|action| matches!(action, Action::EndSession { proof: true, .. })).count();
        assert_eq!((lost.len(), proofs), (if together { 2 } else { 1 }, 0), "{lost:?}");
    }
}

#[test]
fn suspects_that_had_not_begun_stay_together() {
    let mut harness = Harness::new(8, 0);
    harness.brings_down(1, 8);
    harness.brings_down(2, 8);
    harness.wait(10.0);
    harness.join(3);
    assert_eq!(harness.claim_with_idle(3, 8, 2), [a(0..8, 3)]);
    harness.lose(3);
    harness.join(4);
    let mut leased = Vec::new();
    for _ in 0..3 {
        let group = harness.claim(4, 8);
        group.iter().for_each(|(_, trials, _)| drop(harness.end(4, trials.clone())));
        leased.extend(group);
    }
    assert_eq!(leased, [a(0..1, 4), a(1..2, 4), a(2..8, 4)]);
}

#[test]
fn a_trial_that_never_says_that_it_has_begun_is_a_suspect_in_the_end() {
    let mut harness = Harness::new(9, 0);
    for session in 1..=4 {
        harness.join(session);
        assert_eq!(harness.claim_with_idle(session, 1, 0), [a(0..1, session as u32)]);
        harness.lose(session);
    }
    harness.join(5);
    assert_eq!(harness.claim(5, 9), [a(1..9, 1)]);
    assert_eq!(harness.scheduler.lost_attempts(&run("a")), 0);
}

#[test]
fn suspects_are_known_after_a_restart() {
    let lost = |number, begun, session| Losses { number, begun, all: begun, proof: 0, session };
    let losses =
        vec![lost(0, 1, 7), lost(1, 2, 7), lost(2, 2, 7), lost(3, 6, 8), lost(4, 6, 8), lost(5, 6, 8), lost(6, 6, 8)];
    let attempts = losses.iter().map(|one| (one.number, one.begun)).collect();
    let recovered = Recovered { losses, attempts, ..Recovered::default() };
    let mut harness = Harness::new(0, 0);
    harness.start("a", 8, recovered);
    harness.join(9);
    let mut leased = Vec::new();
    for _ in 0..4 {
        let group = harness.claim(9, 9);
        group.iter().for_each(|(_, trials, _)| drop(harness.end(9, trials.clone())));
        leased.push(group);
    }
    let groups = [vec![a(0..1, 2), a(7..8, 1)], vec![a(1..3, 3)], vec![a(3..5, 7)], vec![a(5..7, 7)]];
    assert_eq!(leased, groups, "by the session that they were lost with last, halved where that happened often");
}

#[test]
fn one_worker_is_emptied_for_suspects_while_another_run_continues() {
    let mut harness = Harness::new(2, 0);
    let leased = |run: &str, trials: Range<u64>, epoch| vec![(run.to_owned(), trials, epoch)];
    for session in 1..=2 {
        harness.brings_down(session, 2);
    }
    harness.wait(10.0);
    harness.start_knowing("b", 99, agents(&["other"]));
    harness.join_knowing(3, &["other"]);
    harness.join_knowing(4, &["mock", "other"]);
    harness.join_knowing(5, &["mock", "other"]);
    assert_eq!(harness.claim(3, 2), leased("b", 0..2, 1), "one that cannot play the suspects goes on beside them");
    assert_eq!(harness.claim(4, 2), leased("a", 0..2, 3), "it holds nothing");
    harness.lose(4);
    // Now in halves: the first at once, the second when a worker is empty.
    assert_eq!(harness.claim(5, 2), leased("b", 2..4, 1), "runs take turns");
    harness.join_knowing(6, &["mock", "other"]);
    assert_eq!(harness.claim(6, 2), leased("a", 0..1, 4));
    assert_eq!(harness.claim(3, 2), leased("b", 4..6, 1));
    assert_eq!(harness.claim(5, 2), [], "it is emptied");
    harness.on(Event::Ended { session: 6, run: run("a"), trials: vec![0] });
    harness.on(Event::Ended { session: 5, run: run("b"), trials: vec![2] });
    assert_eq!(harness.claim(5, 2), [], "it still holds one");
    harness.on(Event::Ended { session: 5, run: run("b"), trials: vec![3] });
    assert_eq!(harness.claim(5, 2), leased("a", 1..2, 4));
    assert_eq!(harness.claim(6, 2), leased("b", 6..8, 1));
}

#[test]
fn groups_stay_whole_while_workers_are_lost_that_play_nothing_of_them() {
    let mut harness = Harness::new(16, 0);
    for session in 1..=2 {
        assert_eq!(harness.brings_down(session, 16).len(), 1);
    }
    for kill in 0..10 {
        harness.join(100 + kill);
        harness.lose(100 + kill);
        let leased = harness.brings_down(200 + kill, 16);
        assert!(matches!(leased.as_slice(), [(_, trials, _)] if *trials == (0..16)), "{leased:?}");
    }
}
