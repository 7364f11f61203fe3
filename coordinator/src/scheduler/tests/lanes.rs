//! Leasing of a load: arrivals ahead of their times, slots up to their number, and the end of lanes.

#![expect(clippy::single_range_in_vec_init, reason = "grants are lists of ranges, some of them one")]

use std::{ops::Range, time::Duration};

use record::summary::RunState;
use scenario::load::{Pace, Profile, RateChange, Stage, trial_number};
use store::Recovered;

use super::{
    super::{
        Action, Event, Held, Work,
        fixture::{even, schedule, slots},
    },
    harness::{Harness, agents, held, run},
};

const BEGINS_NOW: Option<Duration> = Some(Duration::ZERO);

/// A run `a` with a load, and connected sessions 1, 2, … of 8 slots.
fn load(paces: Vec<Pace>, sessions: u64, elapsed: Option<Duration>, recovered: Recovered) -> Harness {
    let mut harness = Harness::new(0, 0);
    let work = Work::Load { schedule: schedule(paces), elapsed };
    let (agents, silent) = (agents(&["mock"]), Default::default());
    harness.on(Event::RunStarted { run: run("a"), work, agents, recovered: recovered.into(), silent });
    (1..=sessions).for_each(|session| harness.join(session));
    harness
}

impl Harness {
    fn claim_ahead(&mut self, session: u64, want: u32, ahead: u32) -> Vec<Range<u64>> {
        self.claim_with_ahead(session, want, want, ahead)
    }

    fn claim_with_ahead(&mut self, session: u64, want: u32, idle: u32, ahead: u32) -> Vec<Range<u64>> {
        self.claims += 1;
        let number = self.claims;
        let actions = self.on(Event::Claimed { session, number, want, idle, ahead });
        let Some(Action::Grant { leases, .. }) = actions.last() else { panic!("{actions:?}") };
        leases.iter().map(|lease| lease.trials.clone()).collect()
    }
}

#[test]
fn arrivals_are_leased_four_seconds_ahead_and_then_as_they_come_into_view() {
    let mut harness = load(vec![even(10.0, 60)], 1, BEGINS_NOW, Recovered::default());
    assert_eq!(harness.claim_ahead(1, 0, 500), [0..40]);
    assert_eq!(harness.claim_ahead(1, 0, 500), []);
    harness.now += Duration::from_millis(249);
    assert_eq!(harness.claim_ahead(1, 8, 500), [], "the horizon moves in steps");
    harness.now += Duration::from_millis(1);
    assert_eq!(harness.claim_ahead(1, 0, 500), [40..43]);
    harness.wait(1.0);
    assert_eq!(harness.claim_ahead(1, 0, 4), [43..47], "no more than it can hold");
}

#[test]
fn arrivals_begin_a_moment_after_the_first_claim_and_slots_at_once() {
    for (pace, sessions, expected) in
        [(even(10.0, 60), 1, 250), (even(10.0, 60), 2, 500), (slots(3.0, None, Some(10)), 1, 0)]
    {
        let mut harness = load(vec![pace], sessions, None, Recovered::default());
        let actions = harness.on(Event::Claimed { session: 1, number: 1, want: 8, idle: 8, ahead: 500 });
        let begins = Action::BeginLoad { run: run("a"), after: Duration::from_millis(expected) };
        assert_eq!(actions.first(), Some(&begins), "{sessions} workers");
    }
}

#[test]
fn workers_get_pieces_of_each_moment_by_their_slots() {
    let mut harness = load(vec![even(1_000.0, 60)], 2, None, Recovered::default());
    // The load begins half a second later, so that both get some of the first arrivals.
    let first = harness.claim_ahead(1, 0, 4_000);
    let second = harness.claim_ahead(2, 0, 4_000);
    let count = |pieces: &[Range<u64>]| pieces.iter().map(|piece| piece.end - piece.start).sum::<u64>();
    assert_eq!(count(&first) + count(&second), 3_500, "all until 4 s from now");
    assert_eq!(count(&first), 1_750, "the same slots, the same share");
    let longest = first.iter().chain(&second).map(|piece| piece.end - piece.start).max();
    assert!(longest <= Some(100), "none plays more than 0.1 s alone: {longest:?}");
}

#[test]
fn what_a_worker_leaves_goes_to_another_before_it_is_due() {
    let mut harness = load(vec![even(100.0, 10)], 2, None, Recovered::default());
    // Session 2 never claims, and session 1 claims in time.
    let mut leased = 0;
    for _ in 0..60 {
        harness.on(Event::Heartbeat { session: 2, held: None });
        harness.on(Event::Heartbeat { session: 1, held: None });
        let due = u64::try_from(harness.now.as_millis()).unwrap().saturating_sub(500) / 10;
        leased += harness.claim_ahead(1, 0, 4_000).iter().map(|piece| piece.end - piece.start).sum::<u64>();
        assert!(leased >= due.min(1_000), "{leased} of {due} that are due at {:?}", harness.now);
        harness.now += Duration::from_millis(200);
        harness.on(Event::Tick);
    }
    assert_eq!(leased, 1_000);
}

#[test]
fn arrivals_whose_time_passed_are_leased_after_a_restart() {
    let recovered = Recovered { done: std::iter::once(0..30).collect(), ..Recovered::default() };
    let mut harness = load(vec![even(10.0, 60)], 1, Some(Duration::from_secs(20)), recovered);
    assert_eq!(harness.claim_ahead(1, 0, 4_000), [30..240]);
    let recovered = Recovered { done: std::iter::once(0..599).collect(), ..Recovered::default() };
    let mut harness = load(vec![even(10.0, 60)], 1, Some(Duration::from_secs(3_600)), recovered);
    assert_eq!(harness.wait(1.0), [], "an arrival is never left out, however late");
    assert_eq!(harness.claim_ahead(1, 0, 4_000), [599..600]);
    let finish = Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 0 };
    assert_eq!(harness.end(1, 599..600), [finish]);
}

#[test]
fn slots_are_leased_up_to_their_number_and_until_their_end() {
    let mut harness = load(vec![slots(3.0, None, Some(10))], 2, None, Recovered::default());
    assert_eq!(harness.claim_ahead(1, 8, 500), [0..1], "shared between two");
    assert_eq!(harness.claim_ahead(1, 8, 500), [1..2]);
    assert_eq!(harness.claim_ahead(2, 8, 500), [2..3]);
    assert_eq!(harness.claim_ahead(2, 8, 500), []);
    assert!(harness.scheduler.waits_for_slots(2));
    harness.end(1, 0..1);
    assert_eq!(harness.claim_ahead(2, 8, 500), [3..4]);
    let trials = trial_number(0, 0)..trial_number(1, 0);
    let asked = [1, 2].map(|session| Action::TakeBack { session, run: run("a"), trials: trials.clone() });
    assert_eq!(harness.wait(10.5), asked, "for what may still wait");
    assert_eq!(harness.end(1, 1..2), []);
    assert_eq!(harness.claim_ahead(1, 8, 500), [], "its time is over");
    assert_eq!(harness.end(2, 2..3), []);
    let finish = Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 0 };
    assert_eq!(harness.end(2, 3..4), [finish], "what runs at its end ends first");
}

#[test]
fn a_lane_that_nobody_plays_at_its_end_ends_by_the_clock() {
    let mut harness = load(vec![slots(1.0, None, Some(2))], 1, None, Recovered::default());
    assert_eq!(harness.claim_ahead(1, 8, 500), [0..1]);
    harness.end(1, 0..1);
    let finish = Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 0 };
    assert_eq!(harness.wait(2.5), [finish]);
}

#[test]
fn groups_are_leased_side_by_side_each_from_its_own_room() {
    let lanes = vec![even(10.0, 60), slots(2.0, Some(3), None), even(1.0, 60)];
    let mut harness = load(lanes, 1, BEGINS_NOW, Recovered::default());
    let of = |lane, range: Range<u64>| trial_number(lane, range.start)..trial_number(lane, range.end);
    assert_eq!(harness.claim_ahead(1, 1, 42), [of(0, 0..40), of(1, 0..1), of(2, 0..2)]);
    assert_eq!(harness.claim_ahead(1, 5, 5), [of(1, 1..2), of(2, 2..4)]);
    harness.end(1, of(1, 0..1));
    assert_eq!(harness.claim_ahead(1, 5, 0), [of(1, 2..3)]);
    harness.end(1, of(1, 1..3));
    assert_eq!(harness.claim_ahead(1, 5, 0), [], "all three were played");
}

#[test]
fn arrivals_of_a_lost_worker_are_leased_again_and_slots_count_what_is_played_again() {
    let mut harness = load(vec![even(10.0, 60), slots(2.0, None, Some(60))], 1, BEGINS_NOW, Recovered::default());
    let second = |range: Range<u64>| trial_number(1, range.start)..trial_number(1, range.end);
    assert_eq!(harness.claim_ahead(1, 8, 40), [0..40, second(0..2)]);
    let trials = vec![Held { run: run("a"), trials: 0..5, epoch: 1 }];
    harness.on(Event::Begun { session: 1, trials });
    harness.lose(1);
    harness.join(2);
    assert_eq!(harness.claim_ahead(2, 8, 40), [0..40, second(0..2)], "none is fresh before these");
    let again = Event::Again { session: 2, run: run("a"), trials: second(0..1).collect() };
    assert_eq!(harness.on(again), []);
    assert_eq!(harness.claim_ahead(2, 8, 0), [second(2..3)], "what is played again goes last");
    harness.end(2, second(1..2));
    harness.end(2, second(2..3));
    assert_eq!(harness.claim_ahead(2, 8, 0), [second(3..5)]);
}

#[test]
fn a_pause_stops_the_time_of_a_load() {
    let mut harness = load(vec![even(10.0, 60)], 1, BEGINS_NOW, Recovered::default());
    assert_eq!(harness.claim_ahead(1, 0, 500), [0..40]);
    let pause = |harness: &mut Harness, paused| harness.on(Event::Paused { run: run("a"), paused });
    pause(&mut harness, true);
    harness.wait(10.0);
    assert_eq!(harness.claim_ahead(1, 8, 500), [], "nothing is leased");
    pause(&mut harness, true);
    harness.wait(10.0);
    let began = harness.scheduler.load_began(&run("a"));
    pause(&mut harness, false);
    assert_eq!(harness.claim_ahead(1, 0, 500), [], "it goes on where it stopped");
    assert_eq!(harness.scheduler.load_began(&run("a")), began.map(|began| began + 20_000_000));
    harness.wait(1.0);
    assert_eq!(harness.claim_ahead(1, 0, 500), [40..50]);
    // A run that is drained in a pause ends with what is leased.
    pause(&mut harness, true);
    harness.on(Event::RunStopped { run: run("a"), drain: true });
    let trials = vec![held("a", 0..50, 1)];
    let actions = harness.on(Event::Released { session: 1, trials, begun: false });
    assert!(actions.iter().any(|action| matches!(action, Action::Finish { state: RunState::Interrupted, .. })));
}

#[test]
fn a_drain_stops_the_time_of_a_load_until_it_is_undone() {
    let mut harness = load(vec![even(10.0, 60)], 1, BEGINS_NOW, Recovered::default());
    assert_eq!(harness.claim_ahead(1, 0, 500), [0..40]);
    let elapsed = |harness: &Harness| harness.scheduler.load_elapsed_at(&run("a"), harness.now);
    harness.on(Event::RunStopped { run: run("a"), drain: true });
    let began = elapsed(&harness);
    harness.wait(10.0);
    // It is paused meanwhile too, and neither ends the other.
    harness.on(Event::Paused { run: run("a"), paused: true });
    harness.on(Event::Paused { run: run("a"), paused: false });
    harness.wait(10.0);
    assert_eq!(elapsed(&harness), began);
    harness.on(Event::RunStarted {
        run: run("a"),
        work: Work::Load { schedule: schedule(vec![even(10.0, 60)]), elapsed: None },
        agents: agents(&["mock"]),
        recovered: Recovered::default().into(),
        silent: Default::default(),
    });
    assert_eq!(harness.claim_ahead(1, 0, 500), [], "it goes on where it stopped");
    harness.wait(1.0);
    assert_eq!(elapsed(&harness), began + Duration::from_secs(1));
    assert_eq!(harness.claim_ahead(1, 0, 500), [40..50]);
}

#[test]
fn people_set_the_slots_of_a_closed_lane() {
    let paces = vec![slots(3.0, Some(100), None), slots(2.0, Some(100), None)];
    let mut changed = (*schedule(paces.clone())).clone();
    let mut harness = load(paces, 1, None, Recovered::default());
    let first = |number| trial_number(1, number);
    assert_eq!(harness.claim_ahead(1, 20, 0), [0..3, first(0)..first(2)], "each lane has room of its own");
    let mut set = |harness: &mut Harness, lanes: Range<usize>, slots| {
        lanes.for_each(|lane| changed.set_slots(lane, slots, harness.now));
        harness.on(Event::Rescheduled { run: run("a"), schedule: changed.clone().into() });
    };
    set(&mut harness, 1..2, 6);
    assert_eq!(harness.claim_ahead(1, 20, 0), [first(2)..first(6)]);
    set(&mut harness, 0..2, 1);
    harness.on(Event::Ended { session: 1, run: run("a"), trials: (0..2).chain(first(0)..first(4)).collect() });
    assert_eq!(harness.claim_ahead(1, 20, 0), [], "one is left of the first, two of the second");
    harness.on(Event::Ended { session: 1, run: run("a"), trials: vec![2] });
    assert_eq!(harness.claim_ahead(1, 20, 0), [3..4]);
}

#[test]
fn what_waits_is_taken_back_if_a_closed_lane_has_too_few_slots() {
    let paces = vec![slots(20.0, Some(100), None), even(1.0, 60)];
    let mut changed = (*schedule(paces.clone())).clone();
    let mut harness = load(paces, 1, None, Recovered::default());
    let arrivals = |range: Range<u64>| trial_number(1, range.start)..trial_number(1, range.end);
    assert_eq!(harness.claim_with_ahead(1, 16, 8, 10), [0..16, arrivals(0..4)]);
    let mut set = |harness: &mut Harness, slots| {
        changed.set_slots(0, slots, harness.now);
        harness.on(Event::Rescheduled { run: run("a"), schedule: changed.clone().into() })
    };
    assert_eq!(set(&mut harness, 16), [], "as many as are leased");
    let all = trial_number(0, 0)..trial_number(1, 0);
    let taken_back = [Action::TakeBack { session: 1, run: run("a"), trials: all }];
    assert_eq!(set(&mut harness, 2), taken_back, "arrivals stay");
    assert_eq!(harness.wait(0.5), taken_back, "the stream may have lost it");
    harness.on(Event::Released { session: 1, trials: vec![held("a", 8..16, 1)], begun: false });
    assert_eq!(harness.wait(0.5), taken_back, "the others count as begun, and some may wait for the agent");
    harness.on(Event::Released { session: 1, trials: vec![held("a", 7..8, 1)], begun: false });
    assert_eq!(harness.claim_ahead(1, 8, 0), []);
    harness.on(Event::Ended { session: 1, run: run("a"), trials: (0..6).collect() });
    assert_eq!(harness.claim_ahead(1, 8, 0), [7..8], "they are played in their order");
    assert_eq!(harness.wait(0.5), [], "as many as are leased");
}

#[test]
fn what_never_began_is_not_played_after_the_end_of_a_closed_lane() {
    let mut harness = load(vec![slots(20.0, None, Some(10))], 1, BEGINS_NOW, Recovered::default());
    assert_eq!(harness.claim_with_ahead(1, 16, 8, 0), [0..16]);
    assert_eq!(harness.wait(9.5), []);
    let trials = trial_number(0, 0)..trial_number(1, 0);
    assert_eq!(harness.wait(0.5), [Action::TakeBack { session: 1, run: run("a"), trials }]);
    harness.on(Event::Released { session: 1, trials: vec![held("a", 8..16, 1)], begun: false });
    assert_eq!(harness.claim_ahead(1, 8, 0), []);
    // What its worker gives up has begun, and is played again.
    harness.on(Event::Released { session: 1, trials: vec![held("a", 7..8, 1)], begun: true });
    assert_eq!(harness.claim_ahead(1, 8, 0), [7..8]);
    let finish = Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 1 };
    assert_eq!(harness.end(1, 0..8), [finish]);
}

#[test]
fn what_broke_is_played_again_after_a_pace_that_ends_without_slots() {
    let profile = Profile { stages: vec![Stage { micros: 10_000_000, from: 8.0, to: 0.0 }] };
    let pace = Pace::Slots { slots: profile, trials: None, ends_micros: Some(10_000_000) };
    let mut harness = load(vec![pace], 1, BEGINS_NOW, Recovered::default());
    assert_eq!(harness.claim_ahead(1, 2, 0), [0..2]);
    harness.wait(10.0);
    harness.on(Event::Again { session: 1, run: run("a"), trials: vec![0] });
    harness.on(Event::Released { session: 1, trials: vec![held("a", 1..2, 1)], begun: true });
    assert_eq!(harness.claim_ahead(1, 2, 0), [1..2], "one at a time");
    assert_eq!(harness.end(1, 1..2), []);
    assert_eq!(harness.claim_ahead(1, 2, 0), [0..1]);
    let finish = Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 1 };
    assert_eq!(harness.end(1, 0..1), [finish]);
}

#[test]
fn busy_workers_leave_the_slots_of_a_lane_to_others() {
    let mut harness = load(vec![slots(10.0, Some(1_000), None)], 2, None, Recovered::default());
    let count = |pieces: &[Range<u64>]| pieces.iter().map(|piece| piece.end - piece.start).sum::<u64>();
    let (mut one, mut two) = (0, 0);
    // Each has 5 slots and would hold 4 more trials.
    for _ in 0..20 {
        one += count(&harness.claim_with_ahead(1, 9 - u32::try_from(one).unwrap(), 5 - u32::try_from(one).unwrap(), 0));
    }
    assert_eq!(one, 5, "no trial waits with a busy worker");
    assert!(harness.scheduler.waits_for_slots(1), "it asks again soon");
    for _ in 0..20 {
        two += count(&harness.claim_with_ahead(2, 9 - u32::try_from(two).unwrap(), 5 - u32::try_from(two).unwrap(), 0));
    }
    assert_eq!(two, 5);
    let mut alone = load(vec![slots(10.0, Some(1_000), None)], 1, None, Recovered::default());
    assert_eq!(alone.claim_with_ahead(1, 9, 5, 0), [0..9], "nobody waits for what the only worker holds");
}

#[test]
fn a_changed_rate_leaves_leased_arrivals_as_they_are() {
    let paces = vec![even(10.0, 60)];
    let mut changed = (*schedule(paces.clone())).clone();
    let waiting = load(paces.clone(), 1, None, Recovered::default());
    assert_eq!(waiting.scheduler.rates_may_change_from(&run("a"), waiting.now), Duration::ZERO, "it has not begun");
    let mut harness = load(paces, 1, BEGINS_NOW, Recovered::default());
    assert_eq!(harness.claim_ahead(1, 0, 500), [0..40]);
    let mut set = |harness: &mut Harness, rate| {
        let from = harness.scheduler.rates_may_change_from(&run("a"), harness.now);
        changed.set_rate(0, RateChange { from, rate });
        harness.on(Event::Rescheduled { run: run("a"), schedule: changed.clone().into() });
        from
    };
    assert_eq!(set(&mut harness, 100.0), Duration::from_secs(4));
    harness.wait(1.0);
    assert_eq!(harness.claim_ahead(1, 0, 500), [40..140]);
    harness.wait(1.0);
    assert_eq!(harness.claim_ahead(1, 0, 500), [140..240]);
    assert_eq!(set(&mut harness, 1.0), Duration::from_secs(6));
    harness.wait(4.0);
    assert_eq!(harness.claim_ahead(1, 0, 500), [240..244]);
    for _ in 0..6 {
        harness.on(Event::Heartbeat { session: 1, held: None });
        harness.wait(10.0);
    }
    assert_eq!(harness.claim_ahead(1, 0, 500), [244..294], "as many as fit until the end of the lane");
    let finish = Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 0 };
    assert_eq!(harness.end(1, 0..294), [finish]);
    // The clock of the machine was set back, and more is leased than the next four seconds hold.
    let recovered = Recovered { done: std::iter::once(0..300).collect(), ..Recovered::default() };
    let harness = load(vec![even(10.0, 60)], 1, Some(Duration::from_secs(10)), recovered);
    let from = harness.scheduler.rates_may_change_from(&run("a"), harness.now);
    assert_eq!(from, Duration::from_micros(29_900_001));
}
