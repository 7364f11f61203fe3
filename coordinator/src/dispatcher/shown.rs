//! What those who look on are shown: the fleet, the queue, and the numbers of runs that have ended.

use std::{collections::BTreeSet, sync::Arc};

use record::{Summary, Tally, summary::RunState};
use scenario::{Plan, RunId};
use store::{RunRow, Store};
use telemetry::{
    metrics::{Fleet, Queue},
    trace::EndedRun,
};

use super::{Dispatcher, Error};
use crate::aggregate::{self, Which};

/// Suites whose last run is shown again after a restart: each is read from its first trial to its last.
const MOST_SUITES: usize = 50;

impl<S: Store> Dispatcher<S> {
    pub(super) fn show_fleet(&self) {
        if !self.observers.metrics.is_on() {
            return;
        }
        let mut fleet = Fleet { workers: self.scheduler.connected() as u64, ..Fleet::default() };
        for (session, slots) in self.links.slots() {
            // What a worker holds beyond its slots waits there.
            let busy = self.scheduler.held(session).min(slots);
            fleet.busy_slots += busy;
            fleet.free_slots += slots - busy;
        }
        self.observers.metrics.fleet(fleet);
    }

    pub(super) fn show_queue(&self, id: &RunId) {
        let Some(run) = self.runs.get(id).filter(|_| self.observers.metrics.is_on()) else { return };
        let queue = Queue {
            started_at: run.row.started_at,
            running: run.is_running(),
            planned: run.row.planned,
            lent: self.scheduler.leased(id),
            done: run.tally.total.ended(),
        };
        self.observers.metrics.queue(&run.row.name, queue);
    }

    /// The run has ended just now. Its numbers are found out beside everything else, from what the store has.
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
                    Err(error) => tracing::warn!(run = %row.id, %error, "metrics lack a run of before"),
                }
            }
        });
        Ok(())
    }
}

async fn before(store: &impl Store, row: &RunRow) -> Result<Option<(Summary, i64)>, aggregate::Error> {
    let plan = aggregate::plan(store, &row.plan_digest).await?;
    let tally = aggregate::tally(store, &row.id, Which::Ended, aggregate::nothing(&plan)).await?;
    Ok(numbers(store, row, &plan, &tally).await)
}

/// As its report has them, and when it ended in Unix milliseconds.
async fn numbers(store: &impl Store, row: &RunRow, plan: &Plan, tally: &Tally) -> Option<(Summary, i64)> {
    let ended_at = row.ended_at?;
    match aggregate::finish(store, row, plan, tally).await {
        Ok(summary) => Some((summary, ended_at)),
        Err(error) => {
            tracing::warn!(run = %row.id, %error, "the numbers of an ended run cannot be shown");
            None
        }
    }
}
