//! What observers see: the fleet, the queue, and the numbers of ended runs.

use std::{collections::BTreeSet, sync::Arc};

use record::{Summary, Tally, summary::RunState};
use scenario::{Plan, RunId};
use store::{RunRow, Store};
use telemetry::{
    metrics::{Fleet, Money, Queue, Waiting},
    trace::EndedRun,
};

use super::{Dispatcher, Error, WAITING_BYTES, load_progress};
use crate::aggregate::{self, Which};

/// How many suites show their last run after a restart. Each is read from its first trial to its last.
const MOST_SUITES: usize = 50;

impl<S: Store> Dispatcher<S> {
    pub(super) fn show_fleet(&self) {
        if !self.observers.metrics.is_on() {
            return;
        }
        let (workers, quarantined) = (self.scheduler.connected() as u64, self.scheduler.quarantined() as u64);
        let mut fleet = Fleet { workers, quarantined, ..Fleet::default() };
        for (session, slots) in self.links.slots() {
            // A worker queues what it holds beyond its slots.
            let busy = self.scheduler.held(session).min(slots);
            fleet.busy_slots += busy;
            fleet.free_slots += slots - busy;
        }
        self.observers.metrics.fleet(fleet);
    }

    /// What waits in the bounded queues. `commands`: for this dispatcher.
    pub(super) fn show_waiting(&self, commands: usize) {
        if self.observers.metrics.is_on() {
            let (batch_bytes, orders) = (WAITING_BYTES - self.room.available_permits(), self.links.most_waiting());
            let waiting = Waiting { commands: commands as u64, batch_bytes: batch_bytes as u64, orders: orders as u64 };
            self.observers.metrics.waiting(waiting);
        }
    }

    pub(super) fn show_queue(&self, id: &RunId) {
        let Some(run) = self.runs.get(id).filter(|_| self.observers.metrics.is_on()) else { return };
        let (leased, done) = (self.scheduler.leased(id), run.tally.total.ended());
        let queue = Queue {
            started_at: run.row.started_at,
            running: run.is_running(),
            paused: run.paused_at().is_some(),
            // A load that ends by time has no number of trials yet.
            planned: run.row.planned.max(leased + done),
            leased,
            done,
            load: run.tally.load.as_ref().map(|load| load_progress::of(load, self.scheduler.load_elapsed(id), leased)),
            money: run.money.as_ref().map(|money| Money {
                budget: money.max_cost(),
                spent: run.cost(),
                reserved: money.reserved(),
            }),
        };
        self.observers.metrics.queue(&run.row.name, queue);
    }

    /// Publishes the numbers of a run that has just ended. A separate task computes them from the store.
    pub(super) fn show_ended(&mut self, id: &RunId) {
        let Some(run) = self.runs.get(id).filter(|_| self.observers.want_summaries()) else { return };
        let (row, plan, tally) = (run.row.clone(), Arc::clone(&run.plan), run.tally.clone());
        let (store, observers) = (Arc::clone(&self.store), self.observers.clone());
        self.telling.spawn(async move {
            if let Some((summary, ended_at)) = numbers(&*store, &row, &plan, &tally).await {
                observers.metrics.ended(&summary, row.started_at, ended_at);
                let started_at = row.started_at;
                observers.traces.run(&EndedRun { summary: &summary, started_at, ended_at });
            }
        });
    }

    /// The last run of each suite that was not stopped half way, so that a restart takes no figures away.
    pub(super) async fn show_runs_of_before(&mut self) -> Result<(), Error> {
        if !self.observers.metrics.is_on() {
            return Ok(());
        }
        let mut suites = BTreeSet::new();
        let mut rows = self.store.runs().await?;
        rows.retain(|row| {
            let ended = row.state == RunState::Finished && row.ended_at.is_some();
            ended && suites.len() < MOST_SUITES && suites.insert(row.name.clone())
        });
        let (store, observers) = (Arc::clone(&self.store), self.observers.clone());
        self.telling.spawn(async move {
            for row in rows {
                match before(&*store, &row).await {
                    Ok(Some((summary, ended_at))) => {
                        let scenarios: BTreeSet<&str> =
                            summary.cases.iter().map(|case| case.scenario.as_str()).collect();
                        observers.metrics.suite(&row.name, scenarios);
                        observers.metrics.restored(&summary, row.started_at, ended_at);
                    }
                    Ok(None) => {}
                    Err(error) => tracing::warn!(run = %row.id, %error, "metrics lack an earlier run"),
                }
            }
        });
        Ok(())
    }
}

async fn before(store: &impl Store, row: &RunRow) -> Result<Option<(Summary, i64)>, aggregate::Error> {
    let plan = aggregate::plan(store, &row.plan_digest).await?;
    let nothing = aggregate::nothing(row, &plan, &store.recover(&row.id).await?.decisions);
    let tally = aggregate::tally(store, &row.id, Which::Ended, nothing).await?;
    Ok(numbers(store, row, &plan, &tally).await)
}

/// As its report has them, and when it ended in Unix milliseconds.
async fn numbers(store: &impl Store, row: &RunRow, plan: &Plan, tally: &Tally) -> Option<(Summary, i64)> {
    let ended_at = row.ended_at?;
    let finished = async {
        let suite = aggregate::suite(store, &row.id, plan).await?;
        aggregate::finish(store, row, plan, tally, suite.as_ref()).await
    };
    match finished.await {
        Ok(summary) => Some((summary, ended_at)),
        Err(error) => {
            tracing::warn!(run = %row.id, %error, "the numbers of an ended run cannot be shown");
            None
        }
    }
}
