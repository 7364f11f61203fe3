//! Trials that were lost with their workers: when they are played, with whom, and when they are given up.

use super::*;

impl Desk {
    /// A new worker that is lost with what it gets.
    fn brings_down(&mut self, session: u64, want: u32) -> Vec<(String, Range<u64>, u32)> {
        self.join(session);
        let lent = self.claim(session, want);
        self.lose(session);
        lent
    }
}

#[test]
fn suspects_are_played_last_and_together_and_halved_when_they_are_lost_again() {
    let mut desk = Desk::new(20, 0);
    assert_eq!(desk.brings_down(1, 8), [a(0..8, 1)]);
    assert_eq!(desk.brings_down(2, 8), [a(0..8, 2)], "the first time says nothing");
    desk.join(3);
    assert_eq!(desk.claim(3, 4), [a(8..12, 1)], "what is healthy goes first");
    assert_eq!(desk.claim(3, 99), [a(12..20, 1)]);
    desk.end(3, 8..19);
    assert_eq!(desk.claim(3, 99), [], "it holds another trial");
    desk.end(3, 19..20);
    assert_eq!(desk.claim(3, 6), [a(0..6, 3)], "so many as it has slots for");
    assert_eq!(desk.claim(3, 6), [], "and nothing besides");
    desk.end(3, 0..5);
    assert_eq!(desk.claim(3, 6), []);
    desk.end(3, 5..6);
    assert_eq!(desk.claim(3, 6), [a(6..8, 3)]);
    assert_eq!(desk.scheduler.lost_attempts(&run("a")), 16);
    let over = desk.end(3, 6..8);
    assert!(matches!(over.as_slice(), [Action::Finish { state: RunState::Finished, .. }]), "{over:?}");
}

#[test]
fn a_group_that_is_lost_is_halved_down_to_the_one_that_does_it() {
    let (planned, killer) = (64, 37);
    let mut desk = Desk::new(planned, 0);
    let mut lost = Vec::new();
    for session in 1.. {
        desk.join(session);
        let lent = desk.claim(session, 64);
        let trials: Vec<u64> = lent.iter().flat_map(|(_, trials, _)| trials.clone()).collect();
        if trials.is_empty() {
            break;
        }
        if trials.contains(&killer) {
            desk.lose(session);
            lost.push(trials.len());
        } else {
            trials.iter().for_each(|trial| drop(desk.end(session, *trial..trial + 1)));
            desk.on(Event::Left { session });
        }
    }
    // The first losses by itself come too soon after the others.
    assert_eq!(lost, [64, 64, 64, 64, 64, 64, 32, 16, 8, 4, 2, 1], "twice in company, then by itself, then halves");
    assert_eq!(desk.scheduler.waiting_for(&run("a")), None);
    assert_eq!(desk.scheduler.lent(&run("a")), 0, "the last one rests, and all others are done");
}

#[test]
fn a_trial_that_brings_down_its_worker_while_all_is_calm_is_poisoned_the_third_time() {
    let mut desk = Desk::new(1, 0);
    for session in 1..=3 {
        assert_eq!(desk.brings_down(session, 1), [a(0..1, session as u32)]);
    }
    for session in 4..=6 {
        desk.join(session);
        assert_eq!(desk.claim(session, 1), [], "workers were lost just now");
        desk.wait(10.0);
        desk.beat(session, vec![]);
        assert_eq!(desk.claim(session, 1), [a(0..1, session as u32)]);
        let lost = desk.lose(session);
        let proof = matches!(lost.first(), Some(Action::EndSession { proof: true, .. }));
        assert!(proof, "{lost:?}");
        let poison = Action::Poison { run: run("a"), trial: 0, epoch: 7 };
        assert_eq!(lost.get(1), (session == 6).then_some(&poison));
    }
    desk.join(7);
    desk.wait(25.0);
    assert_eq!(desk.claim(7, 1), [], "it is not played again");
    let over = desk.end(99, 0..1);
    assert_eq!(over, [Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 6 }]);
}

#[test]
fn workers_that_are_killed_all_the_time_prove_nothing() {
    let mut desk = Desk::new(1, 0);
    for session in 1..=3 {
        desk.brings_down(session, 1);
    }
    for round in 0..20 {
        let (plays, idle) = (100 + round, 200 + round);
        // Every few seconds somebody kills a worker that plays nothing.
        let mut waited = 0;
        desk.join(plays);
        while desk.claim(plays, 1).is_empty() {
            desk.join(idle);
            desk.lose(idle);
            desk.beat(plays, vec![]);
            waited += 3;
        }
        assert!((18..=21).contains(&waited), "it does not wait for ever for calm: {waited} s");
        let lost = desk.lose(plays);
        assert!(matches!(lost.as_slice(), [Action::EndSession { proof: false, .. }]), "{lost:?}");
    }
    // Nor does one that is lost while the trial is played, or with it.
    for (session, together) in [(301, false), (302, true)] {
        desk.wait(30.0);
        desk.join(session);
        desk.join(session + 10);
        assert_eq!(desk.claim(session, 1).len(), 1);
        desk.on(Event::Disconnected { session: session + 10 });
        desk.wait(if together { 0.0 } else { 3.0 });
        let lost = desk.lose(session);
        let proofs = lost.iter().filter(|action| matches!(action, Action::EndSession { proof: true, .. })).count();
        assert_eq!((lost.len(), proofs), (if together { 2 } else { 1 }, 0), "{lost:?}");
    }
}

#[test]
fn suspects_that_had_not_begun_stay_together() {
    let mut desk = Desk::new(8, 0);
    desk.brings_down(1, 8);
    desk.brings_down(2, 8);
    desk.wait(10.0);
    desk.join(3);
    desk.claims += 1;
    assert_eq!(desk.claim_with(3, 8, 2), [a(0..8, 3)]);
    desk.lose(3);
    desk.join(4);
    let mut lent = Vec::new();
    for _ in 0..3 {
        let group = desk.claim(4, 8);
        group.iter().for_each(|(_, trials, _)| drop(desk.end(4, trials.clone())));
        lent.extend(group);
    }
    assert_eq!(lent, [a(0..1, 4), a(1..2, 4), a(2..8, 4)]);
}

#[test]
fn a_trial_that_never_says_that_it_has_begun_is_a_suspect_in_the_end() {
    let mut desk = Desk::new(9, 0);
    for session in 1..=4 {
        desk.join(session);
        desk.claims += 1;
        assert_eq!(desk.claim_with(session, 1, 0), [a(0..1, session as u32)]);
        desk.lose(session);
    }
    desk.join(5);
    assert_eq!(desk.claim(5, 9), [a(1..9, 1)]);
    assert_eq!(desk.scheduler.lost_attempts(&run("a")), 0);
}

#[test]
fn suspects_are_known_after_a_restart() {
    let lost = |number, begun, session| Losses { number, begun, all: begun, proof: 0, session };
    let losses =
        vec![lost(0, 1, 7), lost(1, 2, 7), lost(2, 2, 7), lost(3, 6, 8), lost(4, 6, 8), lost(5, 6, 8), lost(6, 6, 8)];
    let attempts = losses.iter().map(|one| (one.number, one.begun)).collect();
    let recovered = Recovered { losses, attempts, ..Recovered::default() };
    let mut desk = Desk::new(0, 0);
    desk.start("a", 8, recovered);
    desk.join(9);
    let mut lent = Vec::new();
    for _ in 0..4 {
        let group = desk.claim(9, 9);
        group.iter().for_each(|(_, trials, _)| drop(desk.end(9, trials.clone())));
        lent.push(group);
    }
    let groups = [vec![a(0..1, 2), a(7..8, 1)], vec![a(1..3, 3)], vec![a(3..5, 7)], vec![a(5..7, 7)]];
    assert_eq!(lent, groups, "by the session that they were lost with last, halved where that happened often");
}

#[test]
fn one_worker_is_emptied_for_suspects_while_another_run_goes_on() {
    let mut desk = Desk::new(2, 0);
    let lent = |run: &str, trials: Range<u64>, epoch| vec![(run.to_owned(), trials, epoch)];
    for session in 1..=2 {
        desk.brings_down(session, 2);
    }
    desk.wait(10.0);
    desk.start_knowing("b", 99, agents(&["other"]));
    desk.join_knowing(3, &["other"]);
    desk.join_knowing(4, &["mock", "other"]);
    desk.join_knowing(5, &["mock", "other"]);
    assert_eq!(desk.claim(3, 2), lent("b", 0..2, 1), "one that cannot play the suspects goes on beside them");
    assert_eq!(desk.claim(4, 2), lent("a", 0..2, 3), "it holds nothing");
    desk.lose(4);
    // Halves now: the first at once, the second when a worker is empty.
    assert_eq!(desk.claim(5, 2), lent("b", 2..4, 1), "runs take turns");
    desk.join_knowing(6, &["mock", "other"]);
    assert_eq!(desk.claim(6, 2), lent("a", 0..1, 4));
    assert_eq!(desk.claim(3, 2), lent("b", 4..6, 1));
    assert_eq!(desk.claim(5, 2), [], "it is emptied");
    desk.on(Event::Ended { session: 6, run: run("a"), trials: vec![0] });
    desk.on(Event::Ended { session: 5, run: run("b"), trials: vec![2] });
    assert_eq!(desk.claim(5, 2), [], "it still holds one");
    desk.on(Event::Ended { session: 5, run: run("b"), trials: vec![3] });
    assert_eq!(desk.claim(5, 2), lent("a", 1..2, 4));
    assert_eq!(desk.claim(6, 2), lent("b", 6..8, 1));
}

#[test]
fn groups_stay_whole_while_workers_are_lost_that_play_nothing_of_them() {
    let mut desk = Desk::new(16, 0);
    for session in 1..=2 {
        assert_eq!(desk.brings_down(session, 16).len(), 1);
    }
    for kill in 0..10 {
        desk.join(100 + kill);
        desk.lose(100 + kill);
        let lent = desk.brings_down(200 + kill, 16);
        assert!(matches!(lent.as_slice(), [(_, trials, _)] if *trials == (0..16)), "{lent:?}");
    }
}
