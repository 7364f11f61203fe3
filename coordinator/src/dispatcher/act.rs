//! Carries out the actions of the scheduler in order. If the store fails, it stops everything.

use std::{collections::VecDeque, time::Duration};

use record::{
    Failure, FailureKind, Trial, Verdict,
    call::Spend,
    decision::{self, Decided},
    summary::RunState,
};
use scenario::{Digest, RunId};
use store::{Commit, EndedTrial, Lease, Moved, SegmentRow, Store};
use telemetry::trace::Played;
use tokio::time::Instant;

use super::{
    Dispatcher,
    active::{Active, Fleet},
    command::{Granted, Order},
    days::Days,
    early_stop::Player,
    endpoints::Endpoints,
    roster::Roster,
    shares::Shares,
};
use crate::{
    Reclaim,
    aggregate::{self, Which},
    scheduler::{Action, Event, Scheduler, lease_id},
};

impl<S: Store> Dispatcher<S> {
    pub(super) async fn hear(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.scheduler.on(event, self.now()) {
                match self.act(action).await {
                    Ok(following) => events.extend(following),
                    Err(error) => return self.store_failed(&error).await,
                }
            }
        }
    }

    pub(super) fn publish(&mut self, id: &RunId) {
        let workers = u32::try_from(self.scheduler.connected()).unwrap_or(u32::MAX);
        let waiting_for = self.scheduler.waiting_for(id);
        let paused = self.runs.get(id).is_some_and(|run| run.is_running() && run.paused_at().is_some());
        let pause = paused.then(|| format!("the run is paused, and `gabfest resume {id}` lets it continue"));
        let (running, load_elapsed) = (self.scheduler.leased(id), self.scheduler.load_elapsed(id));
        let closed = self.endpoints.closed().filter(|_| running > 0);
        let waiting_for = pause.or(waiting_for).or(closed);
        let fleet = Fleet { workers, running, waiting_for, paused, load_elapsed };
        if let Some(run) = self.runs.get_mut(id) {
            run.lost_attempts = run.lost_attempts.max(self.scheduler.lost_attempts(id));
            run.publish(fleet, self.clock.now());
        }
        self.show_queue(id);
    }

    /// The scheduler's state may differ from the store's now. Workers drop their trials; everything that was acknowledged is
    /// stored, and a resume starts from there.
    pub(super) async fn store_failed(&mut self, error: &store::Error) {
        if matches!(error, store::Error::TakenOver) {
            return self.replaced();
        }
        let trouble = error.to_string();
        tracing::error!(error = trouble, "store failed; runs are interrupted");
        let running: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.is_running()).map(|(id, _)| id.clone()).collect();
        for session in self.links.sessions() {
            for run in &running {
                self.links.send(session, Order::Stop { run: run.clone(), drain: false });
            }
            self.links.dismiss(session, &trouble);
        }
        self.forget_workers();
        for id in running {
            let at = self.clock.now();
            // If even this cannot be written, the run stays `running` in the store and is resumed as such.
            let stopped = Decided::Stopped { reason: trouble.clone(), objective: None };
            let _ = self.decide(&id, None, stopped, Moved::default()).await;
            match self.store.set_state(&id, RunState::Interrupted, Some(at)).await {
                // It goes on elsewhere. Its watchers' streams close here, and they find it there.
                Err(store::Error::TakenOver) => drop(self.runs.remove(&id)),
                _ => self.end(&id, RunState::Interrupted, at, Some(trouble.clone())),
            }
        }
    }

    /// Another coordinator is in charge: the sessions and their trials go on there, where workers and watchers find them once their
    /// streams here are closed.
    fn replaced(&mut self) {
        tracing::warn!("another coordinator has taken over: workers and watchers find it there");
        self.replaced = true;
        self.links.clear();
        self.runs.retain(|_, run| !run.is_running());
        self.forget_workers();
    }

    fn forget_workers(&mut self) {
        self.scheduler = Scheduler::new(self.config.timing);
        let keeps = self.config.reclaim == Reclaim::AfterTtl;
        (self.roster, self.shares, self.days) = (Roster::default(), Shares::new(keeps), Days::default());
        self.shares.keep_quiet(self.now() + self.config.timing.closed_stream);
        self.endpoints = Endpoints::default();
        self.own = None;
    }

    pub(super) fn now(&self) -> Duration {
        Instant::now().duration_since(self.began)
    }

    /// Carries out one action. Returns the event that follows from it.
    async fn act(&mut self, action: Action) -> Result<Option<Event>, store::Error> {
        let at = self.clock.now();
        match action {
            Action::BeginLoad { run, after } => {
                let began_at = at.saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
                self.store.set_load_began(&run, began_at).await?;
                let slots = self.scheduler.slots_for(&run);
                if let Some(run) = self.runs.get_mut(&run) {
                    run.load_began(began_at);
                    run.begins_with(slots);
                }
            }
            Action::Grant { session, claim, leases, new } => {
                if new && !leases.is_empty() {
                    fail::fail_point!("grant-unstored");
                    self.store.grant(&leases, at).await?;
                    fail::fail_point!("grant-unsent");
                    self.observers.metrics.granted(trials_of(&leases));
                }
                self.send_grant(session, claim, leases);
            }
            Action::Release { session, leases, begun } => {
                self.store.release(session, &leases, begun, at).await?;
                if begun {
                    self.observers.metrics.lost(trials_of(&leases));
                }
            }
            Action::Begin { session, leases } => self.links.begin(session, leases),
            Action::EndSession { session, reason, proof, begun } => {
                fail::fail_point!("session-end-unstored");
                let lost = self.store.end_session(session, reason, proof, &begun, at).await?;
                fail::fail_point!("session-end-stored");
                self.observers.metrics.lost(begun_of(&lost));
                self.shares.over(session);
                self.days.over(session);
                self.endpoints.over(session, self.now());
                for limit in self.endpoints.names() {
                    self.tell_learned(&limit);
                }
                self.leaves_money(session);
                match (self.roster.over(session), trials_of(&lost)) {
                    (worker, trials @ 1..) => {
                        tracing::warn!(session, worker, trials, reason, "worker lost; its trials are played again");
                    }
                    (worker, 0) => tracing::info!(session, worker, reason, "session ended"),
                }
                self.links.dismiss(session, reason);
            }
            Action::Poison { run, trial, epoch } => return self.poison(run, trial, epoch, at).await,
            Action::Finish { run, state, lost_attempts } => {
                let (mut tally, mut trouble) = (None, None);
                let is_open = |active: &&Active| state != RunState::Finished || active.deciding.is_some();
                if let Some(active) = self.runs.get(&run).filter(is_open) {
                    // Trials that wait for a retry count as they have ended.
                    let nothing = aggregate::nothing(&active.row, &active.plan, &active.decisions);
                    let all = aggregate::tally(&*self.store, &run, Which::Ended, nothing).await;
                    tally = Some(all.map_err(failed)?);
                }
                let mut at = at;
                if let Some(tally) = tally.as_ref().filter(|_| state == RunState::Finished) {
                    at = self.conclude(&run, tally.total.ended()).await?.unwrap_or(at);
                }
                fail::fail_point!("run-end-unstored");
                self.store.set_state(&run, state, Some(at)).await?;
                fail::fail_point!("run-end-stored");
                if let Some(run) = self.runs.get_mut(&run) {
                    run.lost_attempts = lost_attempts;
                    // A budget that is used up is no trouble: the report says so, and resuming goes on.
                    let is_broke = decision::is_out_of_money(&run.decisions);
                    trouble = run.hopeless.clone().filter(|_| state == RunState::Interrupted && !is_broke);
                    if let Some(tally) = tally {
                        run.tally = tally;
                    }
                }
                self.end(&run, state, at, trouble);
            }
            Action::Fence { session, trials } => self.links.send(session, Order::Fenced { trials }),
            Action::Renew { session } => {
                fail::fail_point!("heartbeat-unanswered");
                let (ttl, heard) = (self.config.timing.session_ttl, self.heard);
                self.links.send(session, Order::Renewed { ttl, heard });
            }
            Action::Quarantine { session, broken, of } => {
                let worker = self.roster.name(session);
                tracing::warn!(
                    session,
                    worker,
                    broken,
                    of,
                    "worker quarantined: it breaks far more trials than others"
                );
            }
            Action::Trust { session } => {
                tracing::info!(session, worker = self.roster.name(session), "the quarantine of a worker is over");
            }
            Action::Stop { session, run, drain } => self.links.send(session, Order::Stop { run, drain }),
            Action::TakeBack { session, run, trials } => self.links.send(session, Order::TakeBack { run, trials }),
        }
        Ok(None)
    }

    fn send_grant(&mut self, session: u64, claim: u64, leases: Vec<Lease>) {
        for lease in &leases {
            self.joins_money(session, &lease.run);
        }
        let granted = |lease: Lease| {
            let run = self.runs.get(&lease.run)?;
            let (plan, rates) = (run.row.plan_digest.clone(), run.rates_of(lease.trials.start));
            let began = self.scheduler.load_began(&lease.run);
            let budget = run.money.is_some();
            Some(Granted { lease, plan, began, rates, budget })
        };
        let leases = leases.into_iter().filter_map(granted).collect();
        let timing = self.config.timing;
        let full = self.scheduler.waits_for_slots(session);
        let (retry, heard) = (if full { timing.slot_retry } else { timing.claim_retry }, self.heard);
        self.links.send(session, Order::Grant { claim, leases, retry, heard });
    }

    /// Ends a poisoned trial as a worker would: in a session, with a lease.
    async fn poison(&mut self, run: RunId, number: u64, epoch: u32, at: i64) -> Result<Option<Event>, store::Error> {
        let Some(planned) = self.runs.get(&run).and_then(|run| run.plan.trial(number)) else { return Ok(None) };
        tracing::warn!(%run, trial = number, "trial is poisoned");
        // No secret has this digest, so no worker can open a stream for the session.
        let nobodys = Digest::new("");
        let (session, sequence) = match self.own {
            Some((session, sequence)) => (session, sequence + 1),
            None => (self.store.open_session("coordinator", &nobodys, at).await?, 1),
        };
        let trials = number..number + 1;
        let lease =
            Lease { id: lease_id(session, sequence, 0), run: run.clone(), trials, epoch, session, begun: number };
        self.store.grant(&[lease], at).await?;
        let message = "workers that played this trial alone were lost again and again, while no other worker was";
        let failure = Failure::new(FailureKind::Poisoned, message);
        let trial = Trial::unplayed(&planned, epoch, Verdict::Error, failure);
        let segment = SegmentRow { pieces: Vec::new(), turns: 0, spend: Spend::default() };
        let ended = vec![EndedTrial { trial, pieces: Vec::new(), kept: true }];
        let commit = Commit {
            session,
            sequence,
            run: run.clone(),
            segment,
            ended,
            replays: 0,
            begun: Vec::new(),
            account: None,
        };
        let asked = Instant::now();
        let committed = self.store.commit(&commit, at).await?;
        self.observers.metrics.committed(asked.elapsed());
        self.own = Some((session, sequence));
        let by = Player { session, of: self.scheduler.players(&run) };
        if let Some(run) = self.runs.get_mut(&run).filter(|_| committed.counted.contains(&number)) {
            for EndedTrial { trial, .. } in &commit.ended {
                run.count(trial, committed.past(number), by, &self.observers);
                if let Some(case) = run.plan.case(trial.case) {
                    // No worker exports it as a trace.
                    let began_micros = u64::try_from(at).unwrap_or(0).saturating_mul(1_000);
                    let (id, suite) = (&commit.run, run.row.name.as_str());
                    let (turns, calls, conversations) = (&[], &[], &[]);
                    let played =
                        Played { run: id, suite, case: &case, began_micros, trial, turns, calls, conversations };
                    self.observers.traces.unplayed(&played);
                }
            }
        }
        Ok(Some(Event::Ended { session, run, trials: committed.counted }))
    }
}

/// Of a store that was read.
fn failed(error: aggregate::Error) -> store::Error {
    match error {
        aggregate::Error::Store(error) => error,
        other => store::Error::Failed(other.to_string()),
    }
}

/// How many of the trials had begun.
pub(super) fn begun_of(leases: &[Lease]) -> u64 {
    leases.iter().map(Lease::begun_trials).sum()
}

pub(super) fn trials_of(leases: &[Lease]) -> u64 {
    leases.iter().map(|lease| lease.trials.end - lease.trials.start).sum()
}
