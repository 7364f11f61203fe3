//! Each rule of lending by itself, with the times of the protocol.

use std::{collections::BTreeSet, ops::Range, time::Duration};

use record::summary::RunState;
use scenario::RunId;
use store::{Lease, Recovered};

use super::{Action, Event, Held, Scheduler, lease_id};
use crate::Timing;

struct Desk {
    scheduler: Scheduler,
    now: Duration,
    claims: u64,
}

fn run(name: &str) -> RunId {
    RunId::new(name)
}

fn held(name: &str, trials: Range<u64>, epoch: u32) -> Held {
    Held { run: run(name), trials, epoch }
}

fn agents(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Desk {
    /// A run `a` and connected sessions 1, 2, …; all know the agent `mock`.
    fn new(planned: u64, sessions: u64) -> Self {
        let mut desk = Self { scheduler: Scheduler::new(Timing::default()), now: Duration::ZERO, claims: 0 };
        desk.start("a", planned, Recovered::default());
        (1..=sessions).for_each(|session| desk.join(session));
        desk
    }

    fn on(&mut self, event: Event) -> Vec<Action> {
        self.scheduler.on(event, self.now)
    }

    fn start(&mut self, name: &str, planned: u64, recovered: Recovered) -> Vec<Action> {
        self.on(Event::RunStarted { run: run(name), planned, agents: agents(&["mock"]), recovered })
    }

    fn join(&mut self, session: u64) {
        self.join_knowing(session, &["mock"]);
    }

    fn join_knowing(&mut self, session: u64, names: &[&str]) {
        self.on(Event::Joined { session });
        self.on(Event::Connected { session, agents: agents(names) });
    }

    fn reconnect(&mut self, session: u64) -> Vec<Action> {
        self.on(Event::Connected { session, agents: agents(&["mock"]) })
    }

    /// Ticks as it should, so that nobody thinks the coordinator slept.
    fn wait(&mut self, seconds: f64) -> Vec<Action> {
        let end = self.now + Duration::from_secs_f64(seconds);
        let mut actions = Vec::new();
        while self.now < end {
            self.now += Duration::from_millis(500);
            actions.extend(self.on(Event::Tick));
        }
        actions
    }

    fn claim(&mut self, session: u64, want: u32) -> Vec<(String, Range<u64>, u32)> {
        self.claims += 1;
        self.claim_again(session, want)
    }

    fn claim_again(&mut self, session: u64, want: u32) -> Vec<(String, Range<u64>, u32)> {
        let number = self.claims;
        match self.on(Event::Claimed { session, number, want }).as_slice() {
            [Action::Grant { leases, .. }] => {
                leases.iter().map(|lease| (lease.run.to_string(), lease.trials.clone(), lease.epoch)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn beat(&mut self, session: u64, held: Vec<Held>) -> Vec<Action> {
        self.on(Event::Beat { session, held })
    }

    fn end(&mut self, session: u64, trials: Range<u64>) -> Vec<Action> {
        self.on(Event::Ended { session, run: run("a"), trials: trials.collect() })
    }

    /// A worker that gets one trial and is gone.
    fn brings_down(&mut self, session: u64) -> Vec<Action> {
        self.join(session);
        assert_eq!(self.claim(session, 1).len(), 1);
        self.on(Event::Disconnected { session });
        self.wait(3.0)
    }
}

fn a(trials: Range<u64>, epoch: u32) -> (String, Range<u64>, u32) {
    ("a".to_owned(), trials, epoch)
}

#[test]
fn the_same_claim_gets_the_same_grant_and_a_new_one_the_next() {
    let mut desk = Desk::new(10, 1);
    assert_eq!(desk.claim(1, 4), [a(0..4, 1)]);
    assert_eq!(desk.claim_again(1, 4), [a(0..4, 1)]);
    assert_eq!(desk.claim(1, 4), [a(4..8, 1)]);
    let old = desk.on(Event::Claimed { session: 1, number: 1, want: 4 });
    assert_eq!(old, [], "a claim that was followed by another is answered no more");
    assert_eq!(desk.claim(1, 4), [a(8..10, 1)]);
    assert_eq!(desk.claim(1, 4), []);
}

#[test]
fn workers_share_what_is_left_at_the_end() {
    let mut desk = Desk::new(100, 2);
    assert_eq!(desk.claim(1, 1_000), [a(0..25, 1)], "of 100 for two workers");
    assert_eq!(desk.claim(2, 10), [a(25..35, 1)], "never more than was asked for");
    let mut last = 0;
    for turn in 0.. {
        let lent = desk.claim(1 + turn % 2, 1_000);
        let Some((_, trials, _)) = lent.first() else { break };
        last = trials.end - trials.start;
    }
    assert_eq!(last, 1, "the last trials go one by one");
}

#[test]
fn runs_take_turns() {
    let mut desk = Desk::new(100, 1);
    desk.start("b", 3, Recovered::default());
    let lent: Vec<String> =
        (0..5).flat_map(|_| desk.claim(1, 2)).map(|(run, trials, _)| format!("{run}{trials:?}")).collect();
    assert_eq!(lent, ["a0..2", "b0..2", "a2..4", "b2..3", "a4..5", "a5..7"], "and one fills what the other lacks");
}

#[test]
fn a_closed_stream_costs_three_seconds_and_silence_thirty() {
    for (closed, seconds, over) in [(true, 2.5, false), (true, 3.0, true), (false, 29.5, false), (false, 30.0, true)] {
        let mut desk = Desk::new(4, 1);
        desk.claim(1, 4);
        if closed {
            desk.on(Event::Disconnected { session: 1 });
        }
        let ended = desk.wait(seconds).iter().any(|action| matches!(action, Action::EndSession { .. }));
        assert_eq!(ended, over, "closed: {closed}, {seconds} s");
        desk.join(2);
        assert_eq!(desk.claim(2, 4), if over { vec![a(0..4, 2)] } else { vec![] });
    }
}

#[test]
fn a_worker_that_comes_back_in_time_keeps_what_it_holds() {
    let mut desk = Desk::new(4, 1);
    desk.claim(1, 4);
    desk.on(Event::Disconnected { session: 1 });
    desk.wait(2.5);
    desk.reconnect(1);
    assert_eq!(desk.wait(29.0), []);
    assert_eq!(desk.beat(1, vec![held("a", 0..4, 1)]), [Action::Renew { session: 1 }]);
    assert_eq!(desk.wait(29.0), []);
}

#[test]
fn what_no_beat_lists_is_returned_and_what_is_not_lent_is_fenced() {
    let mut desk = Desk::new(10, 1);
    desk.claim(1, 6);
    desk.wait(29.0);
    let listed = vec![held("a", 0..2, 1), held("a", 4..9, 1), held("a", 5..6, 7), held("x", 0..u64::MAX, 1)];
    let fenced = vec![held("a", 6..9, 1), held("a", 5..6, 7), held("x", 0..u64::MAX, 1)];
    let heard = desk.beat(1, listed.clone());
    assert_eq!(heard, [Action::Renew { session: 1 }, Action::Fence { session: 1, trials: fenced }]);
    desk.wait(1.0);
    let heard = desk.beat(1, vec![held("a", 0..2, 1), held("a", 4..6, 1)]);
    let lease = Lease { id: lease_id(1, 1, 0), run: run("a"), trials: 2..4, epoch: 1, session: 1 };
    assert_eq!(
        heard,
        [Action::Renew { session: 1 }, Action::Release { session: 1, leases: vec![lease], begun: false }]
    );
    assert_eq!(desk.claim(1, 10), [a(2..4, 1), a(6..10, 1)], "returned first, and not counted as lost");
}

#[test]
fn what_is_given_back_is_not_lost() {
    let mut desk = Desk::new(8, 1);
    desk.claim(1, 8);
    let given = vec![held("a", 2..4, 1), held("a", 6..20, 1), held("a", 0..1, 9), held("x", 0..9, 1)];
    let released = desk.on(Event::Released { session: 1, trials: given, begun: false });
    let lease = |trials| Lease { id: lease_id(1, 1, 0), run: run("a"), trials, epoch: 1, session: 1 };
    assert_eq!(released, [Action::Release { session: 1, leases: vec![lease(2..4), lease(6..8)], begun: false }]);
    assert_eq!(desk.claim(1, 8), [a(2..4, 1), a(6..8, 1)]);
    let left = desk.on(Event::Left { session: 1 });
    assert!(matches!(
        left.as_slice(),
        [Action::Release { .. }, Action::EndSession { solo: false, reason: "left", .. }]
    ));
    assert_eq!(desk.scheduler.lost_attempts(&run("a")), 0);
    assert_eq!(desk.scheduler.lent(&run("a")), 0);
}

#[test]
fn lost_trials_go_first_grouped_by_epoch() {
    let mut desk = Desk::new(10, 1);
    desk.claim(1, 6);
    desk.end(1, 1..2);
    desk.on(Event::Disconnected { session: 1 });
    let lost = desk.wait(3.0);
    assert_eq!(lost, [Action::EndSession { session: 1, reason: "stream closed", solo: false }]);
    desk.join(2);
    assert_eq!(desk.claim(2, 3), [a(0..1, 2), a(2..4, 2)]);
    assert_eq!(desk.claim(2, 10), [a(4..6, 2), a(6..10, 1)]);
    assert_eq!(desk.scheduler.lost_attempts(&run("a")), 5);
}

#[test]
fn a_trial_that_was_lost_twice_is_played_alone() {
    let mut desk = Desk::new(6, 1);
    for session in 1..=2 {
        desk.join(session);
        assert_eq!(desk.claim(session, 2).len(), 1);
        desk.on(Event::Disconnected { session });
        desk.wait(3.0);
    }
    desk.join(3);
    assert_eq!(desk.claim(3, 9), [a(0..1, 3)], "one of the two, and nothing besides");
    assert_eq!(desk.claim(3, 9), [], "until it is done");
    desk.join(4);
    assert_eq!(desk.claim(4, 9), [a(1..2, 3)]);
    desk.end(3, 0..1);
    assert_eq!(desk.claim(3, 2), [a(2..3, 1)]);
}

#[test]
fn a_busy_worker_is_emptied_for_a_trial_that_must_be_alone() {
    let mut desk = Desk::new(9, 2);
    assert_eq!(desk.claim(1, 1), [a(0..1, 1)]);
    assert_eq!(desk.claim(2, 2), [a(1..3, 1)]);
    for session in [1, 3] {
        desk.join(session);
        desk.on(Event::Disconnected { session });
        desk.beat(2, vec![held("a", 1..3, 1)]);
        desk.wait(3.0);
        if session == 1 {
            desk.join(3);
            assert_eq!(desk.claim(3, 1), [a(0..1, 2)]);
        }
    }
    assert_eq!(desk.claim(2, 2), [], "it holds two others");
    desk.end(2, 1..2);
    assert_eq!(desk.claim(2, 2), [], "it holds one other");
    desk.end(2, 2..3);
    assert_eq!(desk.claim(2, 2), [a(0..1, 3)]);
}

#[test]
fn a_trial_that_brings_down_workers_is_poisoned_after_three_times_alone() {
    let mut desk = Desk::new(1, 0);
    let ended = |session, solo| Action::EndSession { session, reason: "stream closed", solo };
    for session in 1..=2 {
        assert_eq!(desk.brings_down(session), [ended(session, false)], "it only happened to be alone");
    }
    for session in 3..=4 {
        assert_eq!(desk.brings_down(session), [ended(session, true)]);
    }
    let poison = Action::Poison { run: run("a"), trial: 0, epoch: 6 };
    assert_eq!(desk.brings_down(5), [ended(5, true), poison]);
    desk.join(6);
    assert_eq!(desk.claim(6, 1), [], "it is not played again");
    let over = desk.end(99, 0..1);
    assert_eq!(over, [Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 5 }]);
}

#[test]
fn company_never_poisons() {
    let mut desk = Desk::new(2, 0);
    for session in 1..=2 {
        desk.join(session);
        desk.claim(session, 2);
        desk.on(Event::Disconnected { session });
        let lost = desk.wait(3.0);
        assert_eq!(lost, [Action::EndSession { session, reason: "stream closed", solo: false }]);
    }
    // Three more losses, each alone, are needed.
    assert_eq!(desk.brings_down(3).len(), 1);
    assert_eq!(desk.brings_down(4).len(), 1);
    let last = desk.brings_down(5);
    assert!(matches!(last.as_slice(), [_, Action::Poison { epoch: 6, .. }]), "{last:?}");
}

#[test]
fn a_drained_run_lends_nothing_more_and_can_go_on() {
    let mut desk = Desk::new(6, 1);
    desk.claim(1, 2);
    let stopped = desk.on(Event::RunStopped { run: run("a"), drain: true });
    let stop = [Action::Stop { session: 1, run: run("a"), drain: true }];
    assert_eq!(stopped, stop);
    assert_eq!(desk.claim(1, 2), []);
    desk.on(Event::Disconnected { session: 1 });
    assert_eq!(desk.reconnect(1), stop, "the order may have been lost with the stream");
    assert_eq!(desk.end(1, 0..1), []);
    let over = desk.on(Event::Released { session: 1, trials: vec![held("a", 1..2, 1)], begun: false });
    let finish = Action::Finish { run: run("a"), state: RunState::Interrupted, lost_attempts: 0 };
    assert!(matches!(over.as_slice(), [Action::Release { .. }, last] if *last == finish), "{over:?}");
    let done = Recovered { done: std::iter::once(0..1).collect(), ..Recovered::default() };
    desk.start("a", 6, done);
    assert_eq!(desk.claim(1, 9), [a(1..6, 1)]);
}

#[test]
fn a_drain_can_be_taken_back() {
    let mut desk = Desk::new(6, 1);
    desk.claim(1, 2);
    desk.on(Event::RunStopped { run: run("a"), drain: true });
    desk.start("a", 6, Recovered::default());
    assert_eq!(desk.claim(1, 9), [a(2..6, 1)]);
}

#[test]
fn a_cancelled_run_takes_everything_back_at_once() {
    let mut desk = Desk::new(6, 2);
    desk.claim(1, 2);
    let cancelled = desk.on(Event::RunStopped { run: run("a"), drain: false });
    let lease = Lease { id: lease_id(1, 1, 0), run: run("a"), trials: 0..2, epoch: 1, session: 1 };
    let finish = Action::Finish { run: run("a"), state: RunState::Cancelled, lost_attempts: 0 };
    assert_eq!(
        cancelled,
        [
            Action::Stop { session: 1, run: run("a"), drain: false },
            Action::Release { session: 1, leases: vec![lease], begun: false },
            finish
        ]
    );
    assert_eq!(desk.end(1, 0..1), [], "late results change nothing");
    assert_eq!(desk.claim(2, 9), []);
    assert_eq!(desk.wait(31.0).len(), 2, "sessions live and end as ever");
}

#[test]
fn a_run_is_over_when_every_trial_is() {
    let mut desk = Desk::new(3, 1);
    desk.claim(1, 3);
    assert_eq!(desk.end(1, 0..2), []);
    let finish = |lost_attempts| Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts };
    assert_eq!(desk.end(1, 2..3), [finish(0)]);
    let all = Recovered { done: std::iter::once(0..3).collect(), lost_attempts: 4, ..Recovered::default() };
    assert_eq!(desk.start("a", 3, all), [finish(4)]);
    assert_eq!(desk.start("a", 0, Recovered::default()), [finish(0)]);
}

#[test]
fn a_restart_goes_on_where_the_store_is() {
    let lease =
        |session, claim, trials| Lease { id: lease_id(session, claim, 0), run: run("a"), trials, epoch: 1, session };
    let recovered = Recovered {
        done: vec![0..2, 5..6],
        attempts: vec![(2, 1), (3, 2), (4, 3), (5, 1)],
        losses: vec![(2, 1), (3, 2), (4, 3)],
        solo_losses: vec![(4, 3)],
        leases: vec![lease(7, 1, 6..8), lease(7, 3, 8..10), lease(9, 1, 10..12)],
        lost_attempts: 7,
        ..Recovered::default()
    };
    let mut desk = Desk::new(0, 0);
    let started = desk.start("a", 14, recovered);
    assert_eq!(started, [Action::Poison { run: run("a"), trial: 4, epoch: 4 }], "the last process had no time for it");
    assert_eq!(desk.scheduler.lent(&run("a")), 7);
    desk.wait(5.0);
    desk.reconnect(7);
    desk.claims = 3;
    assert_eq!(desk.claim_again(7, 5), [a(8..10, 1)], "the grant that may not have arrived is sent again");
    desk.wait(24.5);
    let over = desk.wait(0.5);
    let ended = Action::EndSession { session: 9, reason: "no beat in time", solo: false };
    assert_eq!(over, [ended], "who does not come back is given up");
    desk.join(11);
    assert_eq!(desk.claim(11, 1), [a(3..4, 3)], "alone");
    desk.end(11, 3..4);
    assert_eq!(desk.claim(7, 9), [a(2..3, 2), a(10..11, 2)], "shared between two");
    assert_eq!(desk.claim(11, 9), [a(11..12, 2)]);
}

#[test]
fn a_coordinator_that_overslept_blames_nobody() {
    let mut desk = Desk::new(4, 1);
    desk.claim(1, 4);
    desk.wait(10.0);
    desk.now += Duration::from_secs(3_600);
    assert_eq!(desk.on(Event::Tick), []);
    assert_eq!(desk.wait(19.5), []);
    assert_eq!(desk.wait(0.5).len(), 1, "but its own time goes on");
}

#[test]
fn a_run_is_lent_to_workers_that_know_all_its_agents() {
    let mut desk = Desk::new(4, 0);
    let both = agents(&["mock", "other"]);
    desk.on(Event::RunStarted { run: run("b"), planned: 6, agents: both, recovered: Recovered::default() });
    let waiting = |desk: &Desk| desk.scheduler.waiting_for(&run("b"));
    assert_eq!(waiting(&desk), None, "nobody is connected, and that is said elsewhere");
    desk.join_knowing(1, &["mock"]);
    desk.join_knowing(2, &[]);
    assert_eq!(desk.claim(2, 9), []);
    assert_eq!(desk.claim(1, 1), [a(0..1, 1)]);
    assert_eq!(desk.claim(1, 9), [a(1..2, 1)], "a share of what it can play");
    assert_eq!(waiting(&desk).as_deref(), Some("no connected worker knows the agent `other`"));
    assert_eq!(desk.scheduler.waiting_for(&run("a")), None);
    desk.join_knowing(3, &["other", "third"]);
    assert_eq!(desk.claim(3, 9), []);
    assert_eq!(waiting(&desk).as_deref(), Some("no connected worker knows all of the agents `mock`, `other`"));
    desk.join_knowing(4, &["mock", "other", "third"]);
    assert_eq!(waiting(&desk), None);
    assert_eq!(desk.claim(4, 1), [("b".to_owned(), 0..1, 1)]);
    desk.on(Event::Disconnected { session: 4 });
    for session in 1..=2 {
        desk.on(Event::Disconnected { session });
    }
    assert_eq!(waiting(&desk).as_deref(), Some("no connected worker knows the agent `mock`"));
    desk.on(Event::RunStopped { run: run("b"), drain: true });
    assert_eq!(waiting(&desk), None, "a run that is drained waits for nobody");
}

#[test]
fn a_worker_that_comes_back_may_know_other_agents() {
    let mut desk = Desk::new(4, 1);
    assert_eq!(desk.claim(1, 1), [a(0..1, 1)]);
    desk.on(Event::Disconnected { session: 1 });
    desk.on(Event::Connected { session: 1, agents: agents(&["other"]) });
    assert_eq!(desk.claim(1, 1), [], "what it holds stays its own, and more it does not get");
    assert_eq!(desk.scheduler.lent(&run("a")), 1);
}

#[test]
fn only_who_can_play_a_trial_alone_is_emptied_for_it() {
    let mut desk = Desk::new(1, 0);
    let other = agents(&["other"]);
    desk.on(Event::RunStarted { run: run("b"), planned: 9, agents: other, recovered: Recovered::default() });
    for session in 1..=2 {
        desk.brings_down(session);
    }
    desk.join_knowing(3, &["other"]);
    desk.join_knowing(4, &["mock", "other"]);
    assert_eq!(desk.claim(3, 2), [("b".to_owned(), 0..2, 1)], "it goes on beside the trial that waits");
    assert_eq!(desk.claim(4, 2), [a(0..1, 3)]);
    desk.on(Event::Disconnected { session: 4 });
    desk.beat(3, vec![held("b", 0..2, 1)]);
    desk.wait(3.0);
    desk.join_knowing(5, &["mock", "other"]);
    desk.join_knowing(6, &["mock", "other"]);
    assert_eq!(desk.claim(5, 1), [a(0..1, 4)]);
    assert_eq!(desk.claim(6, 1), [("b".to_owned(), 2..3, 1)]);
    desk.on(Event::Disconnected { session: 5 });
    desk.wait(3.0);
    assert_eq!(desk.claim(6, 1), [], "it is emptied");
    assert_eq!(desk.claim(3, 1), [("b".to_owned(), 3..4, 1)], "which is no affair of one that cannot play it");
    assert_eq!(desk.claim(6, 1), [], "and changes nothing");
    desk.on(Event::Ended { session: 6, run: run("b"), trials: vec![2] });
    assert_eq!(desk.claim(6, 1), [a(0..1, 5)]);
}

#[test]
fn what_was_begun_and_given_up_is_lent_with_another_epoch_and_without_suspicion() {
    let mut desk = Desk::new(2, 0);
    for epoch in 1..=4 {
        let session = u64::from(epoch);
        desk.join(session);
        assert_eq!(desk.claim(session, 2), [a(0..2, epoch)], "and never alone");
        let released = desk.on(Event::Released { session, trials: vec![held("a", 0..2, epoch)], begun: true });
        assert!(matches!(released.as_slice(), [Action::Release { begun: true, .. }]), "{released:?}");
        desk.on(Event::Left { session });
    }
    assert_eq!(desk.scheduler.lost_attempts(&run("a")), 8);
}

#[test]
fn what_is_played_again_goes_last_and_keeps_the_run_open() {
    let mut desk = Desk::new(4, 1);
    assert_eq!(desk.claim(1, 2), [a(0..2, 1)]);
    let again = |trials: Range<u64>| Event::Again { session: 1, run: run("a"), trials: trials.collect() };
    assert_eq!(desk.on(again(0..2)), []);
    assert_eq!(desk.scheduler.lent(&run("a")), 0);
    assert_eq!(desk.claim(1, 9), [a(2..4, 1), a(0..2, 2)]);
    assert_eq!(desk.end(1, 2..4), []);
    assert_eq!(desk.on(again(1..2)), []);
    assert_eq!(desk.end(1, 0..1), []);
    assert_eq!(desk.claim(1, 9), [a(1..2, 3)]);
    let finish = Action::Finish { run: run("a"), state: RunState::Finished, lost_attempts: 0 };
    assert_eq!(desk.end(1, 1..2), [finish]);
}

#[test]
fn a_restart_adopts_no_attempt_that_has_ended() {
    let lease = Lease { id: lease_id(7, 1, 0), run: run("a"), trials: 0..4, epoch: 1, session: 7 };
    let recovered = Recovered {
        done: std::iter::once(0..1).collect(),
        attempts: vec![(2, 1)],
        leases: vec![lease],
        ..Recovered::default()
    };
    let mut desk = Desk::new(0, 0);
    assert_eq!(desk.start("a", 4, recovered), []);
    assert_eq!(desk.scheduler.lent(&run("a")), 2, "1 and 3 are being played, 2 has ended and waits to be played again");
    desk.join(8);
    assert_eq!(desk.claim(8, 9), [a(2..3, 2)]);
}
