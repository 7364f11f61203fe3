//! How runs start, resume and end.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use record::{Usd, decision::Decided, summary::RunState};
use scenario::{Plan, RunId};
use store::{Moved, Recovered, RunRow, Store};

use super::{
    Dispatcher, ENDED_KEPT, Error,
    act::begun_of,
    active::{Active, millis_between},
    allocator::Allocator,
    command::{Resumed, Snapshot},
    deciding::Deciding,
};
use crate::{
    Reclaim,
    aggregate::{self, Which},
    scheduler::Event,
};

impl<S: Store> Dispatcher<S> {
    /// Takes up the runs that were running when the last process ended.
    pub(crate) async fn recover(&mut self) -> Result<(), Error> {
        for row in self.store.runs().await? {
            if row.state == RunState::Running {
                match aggregate::plan(&*self.store, &row.plan_digest).await {
                    Ok(plan) => {
                        let id = row.id.clone();
                        fail::fail_point!("run-unrecovered");
                        self.start(row, Arc::new(plan)).await?;
                        fail::fail_point!("run-recovered");
                        // The charts of a load show it.
                        if let Some(run) = self.runs.get(&id).filter(|run| run.is_running() && run.load_has_begun()) {
                            // An interrupted load plays on from where it stood still.
                            let moved = if run.is_interrupted() { self.load_as_if_begun_at(&id) } else { None };
                            let moved = Moved { load_began_at: moved, ..Moved::default() };
                            self.decide(&id, None, Decided::Restarted, moved).await?;
                        }
                    }
                    Err(aggregate::Error::Store(error)) => return Err(error.into()),
                    // One run that cannot be played must not keep the others from it.
                    Err(error) => tracing::error!(run = %row.id, %error, "run cannot be taken up"),
                }
            }
        }
        self.show_runs_of_before().await?;
        Ok(())
    }

    pub(super) async fn submit(&mut self, row: RunRow, plan: Arc<Plan>, json: &[u8]) -> Result<(), Error> {
        fail::fail_point!("run-unstored");
        self.store.create_run(&row, json).await?;
        fail::fail_point!("run-stored");
        // It may be an earlier submission that has ended meanwhile.
        let stored = aggregate::row(&*self.store, &row.id).await?;
        if stored.state == RunState::Running && !self.runs.contains_key(&row.id) {
            self.start(stored, plan).await?;
        }
        Ok(())
    }

    pub(super) async fn resume(
        &mut self,
        run: &RunId,
        by: Option<&str>,
        failed: bool,
        max_cost: Option<Usd>,
    ) -> Result<Resumed, Error> {
        let mut row = aggregate::row(&*self.store, run).await?;
        if row.state == RunState::Cancelled {
            return Err(Error::NotResumable { run: run.clone(), state: row.state });
        }
        let decisions = self.store.recover(run).await?.decisions;
        if let Some(why) = Self::refuses_budget(&row, &decisions, max_cost) {
            // A store that failed may have kept a decision, and its watchers hear of it here.
            if let Some(active) = self.runs.get_mut(run).filter(|active| !active.is_running()) {
                active.decisions = decisions;
                self.publish(run);
            }
            return Err(Error::Refused(why));
        }
        let mut again = 0;
        if let Some(active) = self.runs.get(run).filter(|active| active.is_running()) {
            if failed {
                let hint = "what failed is played again when the run has ended";
                return Err(Error::Refused(format!("run {run} is being played: {hint}")));
            }
            active.refuses_first_budget(max_cost)?;
            // Resuming a run that is draining undoes the drain.
            let (replays, exhausted) = (active.plan.replays, active.row.exhausted);
            if let Some(max_cost) = max_cost {
                self.set_budget(run, by, max_cost).await?;
            }
            self.unpause(run, by).await?;
            if exhausted {
                self.store.resume(run, &[], replays).await?;
            }
            let Some(active) = self.runs.get_mut(run) else { return Err(Error::Stopped) };
            active.row.exhausted = false;
            active.money.iter_mut().for_each(Allocator::resume);
            let (work, agents, recovered) = (active.work(None, 0), active.agents(), Recovered::default());
            let silent = BTreeMap::new();
            self.hear(Event::RunStarted { run: run.clone(), work, agents, recovered: recovered.into(), silent }).await;
        } else {
            let numbers = aggregate::to_play_again(&*self.store, run, failed).await?;
            if row.state == RunState::Finished && numbers.is_empty() {
                return Ok(Resumed { planned: row.planned, done: row.planned, again });
            }
            let plan = match self.runs.get(run) {
                Some(active) => Arc::clone(&active.plan),
                None => Arc::new(aggregate::plan(&*self.store, &row.plan_digest).await?),
            };
            if let Some(max_cost) = max_cost {
                self.set_budget(run, by, max_cost).await?;
                row.max_cost = Some(max_cost);
            }
            // A load continues where it stopped: the time in between does not count.
            // What a decision left out may be played after all.
            let planned = plan.decide.and_then(|_| plan.planned());
            let moved = Moved { load_began_at: self.load_moved(&row).await?, planned, max_cost: None };
            self.decide(run, by, Decided::Resumed, moved).await?;
            row.planned = planned.unwrap_or(row.planned);
            self.unstarted.insert(run.clone());
            self.store.resume(run, &numbers, plan.replays).await?;
            (row.state, row.ended_at, row.exhausted) = (RunState::Running, None, false);
            again = numbers.len() as u64;
            self.start(row.clone(), plan).await?;
            self.unstarted.remove(run);
        }
        let done = self.runs.get(run).map_or(0, |run| run.tally.total.ended());
        Ok(Resumed { planned: row.planned, done, again })
    }

    pub(super) async fn cancel(&mut self, run: &RunId, by: Option<&str>, drain: bool) -> Result<RunState, Error> {
        if self.runs.get(run).is_some_and(Active::is_running) {
            if drain {
                self.stand_still(run, by, Decided::Interrupted).await?;
            }
            self.hear(Event::RunStopped { run: run.clone(), drain }).await;
        } else if aggregate::row(&*self.store, run).await?.state == RunState::Interrupted && !drain {
            let at = self.clock.now();
            self.store.set_state(run, RunState::Cancelled, Some(at)).await?;
            self.end(run, RunState::Cancelled, at, None);
        }
        match self.runs.get(run) {
            Some(active) => Ok(active.row.state),
            None => Ok(aggregate::row(&*self.store, run).await?.state),
        }
    }

    pub(super) fn snapshot(&self, run: &RunId) -> Option<Snapshot> {
        let run = self.runs.get(run)?;
        let suite = run.deciding.as_ref().map(|deciding| deciding.suite().clone());
        Some(Snapshot { row: run.row.clone(), plan: Arc::clone(&run.plan), tally: run.tally.clone(), suite })
    }

    /// The run has ended, and its end is stored.
    pub(super) fn end(&mut self, id: &RunId, state: RunState, at: i64, trouble: Option<String>) {
        let Some(run) = self.runs.get_mut(id) else { return };
        run.stop(state, at, trouble);
        self.publish(id);
        self.show_ended(id);
        tracing::info!(run = %id, ?state, "run ended");
        self.ended.retain(|ended| ended != id);
        self.ended.push_back(id.clone());
        if self.ended.len() > ENDED_KEPT
            && let Some(oldest) = self.ended.pop_front()
        {
            self.runs.remove(&oldest);
        }
    }

    async fn start(&mut self, row: RunRow, plan: Arc<Plan>) -> Result<(), Error> {
        let id = row.id.clone();
        let recovered = self.reclaimed(&id).await?;
        let nothing = aggregate::nothing(&row, &plan, &recovered.decisions);
        let tally = aggregate::tally(&*self.store, &id, Which::Done, nothing).await?;
        let spend = self.store.spend(&id).await?;
        let now = self.clock.now();
        // Its workers may still make calls for a moment, within the shares of the last coordinator.
        let unknown: BTreeSet<u64> =
            recovered.leases.iter().map(|lease| lease.session).filter(|one| !self.scheduler.knows(*one)).collect();
        self.shares.wait_for(unknown, self.began.elapsed() + self.config.timing.slice);
        let deciding = aggregate::suite(&*self.store, &id, &plan).await?.map(Deciding::of);
        let active = Active::new(row, plan, (tally, deciding), spend, &recovered, now);
        let load_now = active.load_now(now);
        let (work, agents) = (active.work(recovered.load_began_at, load_now), active.agents());
        let planned = active.row.planned;
        self.observers.metrics.suite(&active.row.name, active.plan.groups.iter().map(|group| group.name.as_str()));
        self.ended.retain(|ended| *ended != id);
        self.runs.insert(id.clone(), active);
        let silence = |(session, seen): &(u64, i64)| (*session, millis_between(*seen, now));
        let silent = recovered.seen.iter().map(silence).collect();
        let with_money: Vec<u64> = with_money(&recovered).filter(|session| !self.scheduler.knows(*session)).collect();
        self.hear(Event::RunStarted { run: id.clone(), work, agents, recovered: recovered.into(), silent }).await;
        // Their slices count as spent once they are over, so their time runs.
        for session in with_money {
            if !self.scheduler.knows(session) {
                self.hear(Event::Joined { session }).await;
            }
        }
        tracing::info!(run = %id, planned, "run started");
        self.obey_stored_decisions(&id).await;
        self.stop_what_is_decided(&id).await;
        Ok(())
    }

    /// Takes up runs whose resume failed half way. Otherwise they would be running for everybody, and nobody would play them.
    pub(super) async fn start_the_unstarted(&mut self) {
        for run in self.unstarted.clone() {
            match self.take_up(&run).await {
                Ok(()) => drop(self.unstarted.remove(&run)),
                // The store still fails.
                Err(Error::Read(aggregate::Error::Store(_))) => {}
                Err(error) => {
                    tracing::error!(%run, %error, "run cannot be taken up");
                    self.unstarted.remove(&run);
                }
            }
        }
    }

    async fn take_up(&mut self, run: &RunId) -> Result<(), Error> {
        let row = aggregate::row(&*self.store, run).await?;
        if row.state == RunState::Running && !self.runs.get(run).is_some_and(Active::is_running) {
            let plan = aggregate::plan(&*self.store, &row.plan_digest).await?;
            self.start(row, Arc::new(plan)).await?;
        }
        Ok(())
    }

    /// A run's state from the store, after ending the sessions that cannot come back.
    async fn reclaimed(&self, run: &RunId) -> Result<Recovered, store::Error> {
        let recovered = self.store.recover(run).await?;
        if self.config.reclaim == Reclaim::AfterTtl {
            return Ok(recovered);
        }
        let leasing = recovered.leases.iter().map(|lease| lease.session);
        let unknown: BTreeSet<u64> =
            leasing.chain(with_money(&recovered)).filter(|one| !self.scheduler.knows(*one)).collect();
        if unknown.is_empty() {
            return Ok(recovered);
        }
        for session in unknown {
            // No trial ended the process, so none becomes a suspect.
            let lost = self.store.end_session(session, "coordinator restarted", false, &[], self.clock.now()).await?;
            self.observers.metrics.lost(begun_of(&lost));
        }
        self.store.recover(run).await
    }
}

/// Living sessions that hold money of a run.
fn with_money(recovered: &Recovered) -> impl Iterator<Item = u64> {
    recovered.ledger.slices.iter().filter(|slice| slice.open).map(|slice| slice.session)
}
