//! Names and versions of workers, for `gabfest workers` and for log lines.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::command::{Capacity, WorkerShown};
use crate::scheduler::Scheduler;

#[derive(Debug, Default)]
pub(super) struct Roster {
    workers: BTreeMap<u64, Worker>,
}

#[derive(Debug)]
struct Worker {
    name: String,
    version: String,
    slots: u32,
    heard_at: Instant,
}

impl Roster {
    pub(super) fn opened(&mut self, session: u64, worker: &Capacity, now: Instant) {
        let Capacity { slots, name, version, .. } = worker.clone();
        self.workers.insert(session, Worker { name, version, slots, heard_at: now });
    }

    pub(super) fn name(&self, session: u64) -> Option<&str> {
        self.workers.get(&session).map(|worker| worker.name.as_str())
    }

    pub(super) fn heard(&mut self, session: u64, now: Instant) {
        if let Some(worker) = self.workers.get_mut(&session) {
            worker.heard_at = now;
        }
    }

    /// Ends the session. Returns the worker's name, or `None` if it never opened a stream.
    pub(super) fn over(&mut self, session: u64) -> Option<String> {
        self.workers.remove(&session).map(|worker| worker.name)
    }

    pub(super) fn shown(&self, scheduler: &Scheduler, now: Instant) -> Vec<WorkerShown> {
        let shown = |(session, worker): (&u64, &Worker)| WorkerShown {
            session: *session,
            name: worker.name.clone(),
            version: worker.version.clone(),
            slots: worker.slots,
            silent: now.saturating_duration_since(worker.heard_at),
            playing: scheduler.held_by_run(*session),
            connected: scheduler.is_connected(*session),
            quarantined: scheduler.is_quarantined(*session),
            held_back: scheduler.is_held_back(*session),
        };
        self.workers.iter().map(shown).collect()
    }
}
