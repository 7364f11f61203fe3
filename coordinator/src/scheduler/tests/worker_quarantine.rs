//! A worker that breaks far more trials than others gets nothing new, and one trial to show that it is well again.

use store::Recovered;

use super::{
    super::{Action, Event},
    harness::{Harness, a, held, run},
};

/// A worker with this session leases and plays trials one after the other. Every `nth` is broken; 0: none.
fn plays(harness: &mut Harness, session: u64, trials: u64, nth: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    for index in 1..=trials {
        let leased = harness.claim(session, 1);
        let Some((_, trials, _)) = leased.first() else { break };
        let broken = u64::from(nth > 0 && index % nth == 0);
        actions.extend(harness.play(session, trials.clone(), broken));
    }
    actions
}

fn quarantined(session: u64, broken: u64, of: u64) -> Action {
    Action::Quarantine { session, broken, of }
}

#[test]
fn a_worker_that_breaks_far_more_than_the_others_gets_nothing_new() {
    let mut harness = Harness::new(10_000, 3);
    plays(&mut harness, 2, 50, 0);
    plays(&mut harness, 3, 50, 10);
    plays(&mut harness, 1, 1, 0);
    assert_eq!(plays(&mut harness, 1, 48, 1), [], "49 are too few, if one is well");
    let waiting = harness.claim(1, 4);
    let actions = harness.on(Event::Played { session: 1, run: run("a"), broken: vec![true] });
    let stop = Action::Stop { session: 1, run: run("a"), drain: true };
    assert_eq!(actions, [quarantined(1, 49, 50), stop], "what waits there comes back");
    let (_, trials, epoch) = waiting[0].clone();
    assert_eq!(harness.claim(1, 8), []);
    assert!(harness.scheduler.is_quarantined(1) && harness.scheduler.quarantined() == 1);
    assert!(harness.scheduler.plays(1), "it holds trials, and needs its share of limits for them");
    harness.on(Event::Released { session: 1, trials: vec![held("a", trials.clone(), epoch)], begun: false });
    assert!(!harness.scheduler.plays(1));
    assert_eq!(harness.claim(2, 4), [a(trials, 1)], "another worker plays them");
}

#[test]
fn what_breaks_everywhere_is_no_workers_fault() {
    // Of 100 trials: broken by the worker, and by each of two others.
    for (own, others, worse) in [(100, 20, false), (100, 10, true), (20, 0, false), (25, 0, true), (50, 10, false)] {
        let nth = |of_100: u64| 100_u64.checked_div(of_100).unwrap_or(0);
        let mut harness = Harness::new(10_000, 3);
        plays(&mut harness, 2, 100, nth(others));
        plays(&mut harness, 3, 100, nth(others));
        let actions = plays(&mut harness, 1, 100, nth(own));
        assert_eq!(!actions.is_empty(), worse, "{own} of 100, others {others}: {actions:?}");
    }
}

#[test]
fn a_worker_without_others_like_it_is_never_quarantined() {
    let mut alone = Harness::new(1_000, 1);
    assert_eq!(plays(&mut alone, 1, 100, 1), []);
    let mut unlike = Harness::new(1_000, 1);
    unlike.join_knowing(2, &["mock", "shop"]);
    plays(&mut unlike, 2, 100, 0);
    assert_eq!(plays(&mut unlike, 1, 100, 1), [], "the other one also plays another agent");
}

#[test]
fn a_worker_that_has_broken_all_waits_until_others_have_played() {
    let mut harness = Harness::new(1_000, 2);
    assert_eq!(plays(&mut harness, 1, 100, 1), []);
    assert_eq!(harness.claim(1, 1), [], "it got ten");
    assert!(harness.scheduler.is_held_back(1) && !harness.scheduler.is_held_back(2));
    plays(&mut harness, 2, 9, 0);
    assert_eq!(harness.claim(1, 1), [], "nine of the other one say nothing");
    assert_eq!(harness.claim(2, 1), [a(19..20, 1)]);
    harness.play(2, 19..20, 0);
    harness.claims += 1;
    let claimed = harness.on(Event::Claimed { session: 1, number: harness.claims, want: 1, idle: 1, ahead: 0 });
    assert_eq!(claimed.first(), Some(&quarantined(1, 10, 10)));
    assert!(harness.scheduler.is_quarantined(1));
    // Where all break all, nobody waits any longer.
    let mut harness = Harness::new(1_000, 2);
    for session in [1, 2, 1, 2] {
        assert_eq!(plays(&mut harness, session, 40, 1), [], "{session}");
    }
    assert_ne!(harness.claim(1, 1), []);
    assert_ne!(harness.claim(2, 1), []);
    assert!(!harness.scheduler.is_held_back(1) && !harness.scheduler.is_held_back(2));
    // It does not wait for ever.
    let mut harness = Harness::new(1_000, 2);
    plays(&mut harness, 1, 100, 1);
    assert_eq!(harness.claim(1, 8), []);
    rest(&mut harness);
    assert_eq!(harness.claim(1, 8), [a(10..11, 1)], "one trial after the pause");
    assert_eq!(harness.claim(1, 8), []);
}

/// Five minutes with heartbeats.
fn rest(harness: &mut Harness) {
    for _ in 0..30 {
        harness.wait(10.0);
        harness.heartbeat(1, vec![]);
        harness.heartbeat(2, vec![]);
    }
}

/// What the workers play may differ: the scenarios of one run are no evidence about another one.
#[test]
fn workers_are_compared_within_a_run() {
    let mut harness = Harness::new(1_000, 2);
    harness.start("b", 1_000, Recovered::default());
    for _ in 0..60 {
        for session in [1, 2] {
            for (name, trials, _) in harness.claim(session, 2) {
                // Everything of one run is broken.
                let broken = trials.clone().map(|_| name == "b").collect();
                harness.on(Event::Ended { session, run: run(&name), trials: trials.collect() });
                assert_eq!(harness.on(Event::Played { session, run: run(&name), broken }), [], "{session} {name}");
            }
        }
    }
    assert_eq!(harness.scheduler.quarantined(), 0);
}

#[test]
fn one_good_trial_after_five_minutes_ends_the_quarantine() {
    for good in [true, false] {
        let mut harness = Harness::new(10_000, 2);
        plays(&mut harness, 2, 20, 0);
        assert_eq!(plays(&mut harness, 1, 60, 1), [quarantined(1, 10, 10)]);
        harness.wait(10.0);
        assert_eq!(harness.claim(1, 8), []);
        rest(&mut harness);
        let tried = harness.claim(1, 8);
        assert_eq!(tried.iter().map(|(_, trials, _)| trials.end - trials.start).sum::<u64>(), 1, "{tried:?}");
        assert_eq!(harness.claim(1, 8), [], "one at a time");
        let trials = tried[0].1.clone();
        let actions = harness.play(1, trials, u64::from(!good));
        assert_eq!(actions == [Action::Trust { session: 1 }], good, "{actions:?}");
        assert_eq!(harness.claim(1, 8).is_empty(), !good);
        if !good {
            rest(&mut harness);
            assert_eq!(harness.claim(1, 8).len(), 1, "another one after another five minutes");
        }
    }
}

#[test]
fn the_last_worker_plays_in_spite_of_its_quarantine() {
    let mut harness = Harness::new(10_000, 2);
    plays(&mut harness, 2, 20, 0);
    assert_eq!(plays(&mut harness, 1, 60, 1), [quarantined(1, 10, 10)]);
    harness.on(Event::Disconnected { session: 2 });
    assert_eq!(harness.claim(1, 8), [], "the other one may be back in a moment");
    harness.lose(2);
    harness.heartbeat(1, vec![]);
    assert_ne!(harness.claim(1, 8), [], "nobody else is there");
    assert!(!harness.scheduler.is_quarantined(1));
}
