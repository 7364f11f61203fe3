//! Runs that stop when they are decided: trials that are not wanted any more, and the end of the run.

use std::collections::BTreeMap;

use record::summary::RunState;
use store::Recovered;

use super::harness::{Harness, a, agents, held, run};
use crate::scheduler::{Action, Event, Work};

fn unwanted(harness: &mut Harness, trials: &[u64]) -> Vec<Action> {
    harness.on(Event::Unwanted { run: run("a"), trials: trials.to_vec() })
}

fn finished() -> Action {
    Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 0 }
}

#[test]
fn trials_that_are_not_wanted_leave_holes() {
    let mut harness = Harness::new(12, 1);
    assert_eq!(harness.claim(1, 2), [a(0..2, 1)]);
    // Case 1 of 3 is decided after its first repeat.
    assert_eq!(unwanted(&mut harness, &[1, 4, 7, 10]), []);
    assert_eq!(harness.claim(1, 9), [a(2..4, 1), a(5..7, 1), a(8..10, 1), a(11..12, 1)]);
    assert_eq!(harness.end(1, 0..1), []);
    // A worker gives back what it holds of them.
    let released = harness.on(Event::Released { session: 1, trials: vec![held("a", 1..3, 1)], begun: false });
    assert!(matches!(released.as_slice(), [Action::Release { .. }]), "{released:?}");
    assert_eq!(harness.claim(1, 9), [a(2..3, 1)], "the other one is played");
    for trial in [2, 3, 5, 6, 8, 9] {
        assert_eq!(harness.end(1, trial..trial + 1), []);
    }
    assert_eq!(harness.end(1, 11..12), [finished()]);
}

#[test]
fn a_trial_that_is_lost_or_broken_is_not_played_again_if_nobody_wants_it() {
    let mut harness = Harness::new(4, 1);
    harness.claim(1, 4);
    unwanted(&mut harness, &[1, 3]);
    assert_eq!(harness.on(Event::Again { session: 1, run: run("a"), trials: vec![1] }), []);
    harness.end(1, 0..1);
    harness.lose(1);
    harness.join(2);
    assert_eq!(harness.claim(2, 9), [a(2..3, 2)]);
    let over = harness.end(2, 2..3);
    assert!(matches!(over.as_slice(), [Action::Finish { state: RunState::Finished, .. }]), "{over:?}");
}

#[test]
fn a_decided_run_finishes_what_is_leased() {
    let mut harness = Harness::new(100, 1);
    harness.claim(1, 4);
    let stop = Action::Stop { session: 1, run: run("a"), drain: true };
    assert_eq!(harness.on(Event::Concluded { run: run("a") }), std::slice::from_ref(&stop));
    assert_eq!(harness.claim(1, 4), []);
    harness.on(Event::Disconnected { session: 1 });
    assert_eq!(harness.reconnect(1), [stop], "the order may have been lost with the stream");
    assert_eq!(harness.end(1, 0..2), []);
    let over = harness.on(Event::Released { session: 1, trials: vec![held("a", 2..4, 1)], begun: false });
    assert!(matches!(over.as_slice(), [Action::Release { .. }, last] if *last == finished()), "{over:?}");
    assert_eq!(harness.on(Event::Concluded { run: run("a") }), []);
}

#[test]
fn a_run_that_is_decided_when_nothing_is_leased_is_over_at_once() {
    let mut harness = Harness::new(100, 1);
    assert_eq!(harness.on(Event::Concluded { run: run("a") }), [finished()]);
}

#[test]
fn rounds_wait_for_what_broke_so_it_is_played_again_at_once() {
    let mut harness = Harness::new(0, 1);
    let silent = BTreeMap::new();
    let (work, recovered) = (Work::Rounds(10), Recovered::default().into());
    harness.on(Event::RunStarted { run: run("a"), work, agents: agents(&["mock"]), recovered, silent });
    harness.claim(1, 3);
    harness.on(Event::Again { session: 1, run: run("a"), trials: vec![1] });
    assert_eq!(harness.claim(1, 2), [a(1..2, 2), a(3..4, 1)]);
}
