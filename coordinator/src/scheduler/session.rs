//! What one worker's session holds, and until when it is believed to live.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use scenario::RunId;
use store::Lease;

use super::{Held, run::Run};

/// A grant has at most this many leases, so that their index fits its bits of an id.
pub(super) const MOST_LEASES: usize = 1 << INDEX_BITS;
const INDEX_BITS: u32 = 8;
const CLAIM_BITS: u32 = 32;

/// Unique without asking the store: no session uses the number of a claim twice.
pub(crate) fn lease_id(session: u64, claim: u64, index: u64) -> u64 {
    session << (CLAIM_BITS + INDEX_BITS) | claim << INDEX_BITS | index
}

fn claim_of(lease: u64) -> u64 {
    (lease >> INDEX_BITS) & ((1 << CLAIM_BITS) - 1)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// Joined, or known from before a restart: it has until its deadline.
    Awaited,
    Open,
    Closed {
        at: Duration,
    },
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) stream: Stream,
    /// It is over then unless it beats.
    pub(super) deadline: Duration,
    /// Agents that the worker knows; none before its first stream.
    pub(super) agents: BTreeSet<String>,
    pub(super) last_claim: u64,
    pub(super) last_grant: Vec<Lease>,
    held: BTreeMap<RunId, BTreeMap<u64, HeldTrial>>,
}

#[derive(Debug, Clone, Copy)]
struct HeldTrial {
    lease: u64,
    epoch: u32,
    /// When it was lent or last listed in a beat.
    seen: Duration,
}

impl Session {
    pub(super) fn new(deadline: Duration) -> Self {
        Self {
            stream: Stream::Awaited,
            deadline,
            agents: BTreeSet::new(),
            last_claim: 0,
            last_grant: Vec::new(),
            held: BTreeMap::new(),
        }
    }

    pub(super) fn hold(&mut self, lease: &Lease, trial: u64, now: Duration) {
        let held = HeldTrial { lease: lease.id, epoch: lease.epoch, seen: now };
        self.held.entry(lease.run.clone()).or_default().insert(trial, held);
    }

    /// A lease of before a restart tells which claim was answered last.
    pub(super) fn remember(&mut self, lease: &Lease) {
        let claim = claim_of(lease.id);
        if claim > self.last_claim {
            self.last_claim = claim;
            self.last_grant.clear();
        }
        if claim == self.last_claim {
            self.last_grant.push(lease.clone());
        }
    }

    pub(super) fn can_play(&self, run: &Run) -> bool {
        run.agents.is_subset(&self.agents)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn count(&self) -> u64 {
        self.held.values().map(|trials| trials.len() as u64).sum()
    }

    pub(super) fn by_run(&self) -> Vec<(RunId, u64)> {
        self.held.iter().map(|(run, trials)| (run.clone(), trials.len() as u64)).collect()
    }

    pub(super) fn holds_any_of(&self, run: &RunId) -> bool {
        self.held.contains_key(run)
    }

    /// What it holds, if that is a single trial.
    pub(super) fn only_trial(&self) -> Option<(&RunId, u64)> {
        let (run, trials) = self.held.first_key_value().filter(|_| self.held.len() == 1)?;
        let (trial, _) = trials.first_key_value().filter(|_| trials.len() == 1)?;
        Some((run, *trial))
    }

    /// Marks what it holds of the listed trials as seen, and returns those that it does not hold.
    pub(super) fn see(&mut self, listed: &Held, now: Duration) -> Vec<Held> {
        let mut strangers = Vec::new();
        let mut stranger = |first: u64, end: u64| {
            if first < end {
                strangers.push(Held { run: listed.run.clone(), trials: first..end, epoch: listed.epoch });
            }
        };
        let mut first = listed.trials.start;
        if let Some(trials) = self.held.get_mut(&listed.run).filter(|_| !listed.trials.is_empty()) {
            for (trial, held) in trials.range_mut(listed.trials.clone()) {
                if held.epoch == listed.epoch {
                    held.seen = now;
                    stranger(first, *trial);
                    first = trial + 1;
                }
            }
        }
        stranger(first, listed.trials.end);
        strangers
    }

    /// Takes out what was not seen for this long.
    pub(super) fn take_unseen(&mut self, session: u64, unseen: Duration, now: Duration) -> Vec<Lease> {
        self.take_where(session, |_, _, held| held.seen + unseen <= now)
    }

    /// Takes out what it holds of these.
    pub(super) fn take(&mut self, session: u64, given: &Held) -> Vec<Lease> {
        self.take_where(session, |run, trial, held| {
            *run == given.run && held.epoch == given.epoch && given.trials.contains(&trial)
        })
    }

    pub(super) fn take_all(&mut self, session: u64) -> Vec<Lease> {
        self.take_where(session, |_, _, _| true)
    }

    pub(super) fn drop_run(&mut self, run: &RunId, session: u64) -> Vec<Lease> {
        self.last_grant.retain(|lease| lease.run != *run);
        self.take_where(session, |of, _, _| of == run)
    }

    pub(super) fn forget(&mut self, run: &RunId, trial: u64) {
        if let Some(trials) = self.held.get_mut(run) {
            trials.remove(&trial);
            if trials.is_empty() {
                self.held.remove(run);
            }
        }
    }

    pub(super) fn postpone(&mut self, by: Duration) {
        self.deadline += by;
        if let Stream::Closed { at } = &mut self.stream {
            *at += by;
        }
        for held in self.held.values_mut().flat_map(BTreeMap::values_mut) {
            held.seen += by;
        }
    }

    /// Why it is over, if it is.
    pub(super) fn over(&self, now: Duration, closed_stream: Duration) -> Option<&'static str> {
        match self.stream {
            _ if self.deadline <= now => Some("no beat in time"),
            Stream::Closed { at } if at + closed_stream <= now => Some("stream closed"),
            _ => None,
        }
    }

    /// Takes out what fits, as the fewest leases.
    fn take_where(&mut self, session: u64, mut fits: impl FnMut(&RunId, u64, &HeldTrial) -> bool) -> Vec<Lease> {
        let mut taken: Vec<Lease> = Vec::new();
        for (run, trials) in &mut self.held {
            trials.retain(|trial, held| {
                if !fits(run, *trial, held) {
                    return true;
                }
                match taken.last_mut() {
                    Some(last) if last.id == held.lease && last.trials.end == *trial && last.run == *run => {
                        last.trials.end += 1;
                    }
                    _ => taken.push(Lease {
                        id: held.lease,
                        run: run.clone(),
                        trials: *trial..*trial + 1,
                        epoch: held.epoch,
                        session,
                    }),
                }
                false
            });
        }
        self.held.retain(|_, trials| !trials.is_empty());
        taken
    }
}
