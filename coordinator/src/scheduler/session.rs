//! One worker's session: the trials that it holds, and until when it is taken to live.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use scenario::RunId;
use store::Lease;

use super::{
    Held,
    conduct::Conduct,
    run::{Run, Unended},
    unrest::Loss,
};

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
    /// Joined, or known from before a restart. It has until its deadline.
    Awaited,
    Open,
    Closed {
        at: Duration,
    },
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) stream: Stream,
    /// The session is over then, unless a heartbeat comes.
    pub(super) deadline: Duration,
    /// Agents that the worker has configured; none before its first stream.
    pub(super) agents: BTreeSet<String>,
    /// Trials at once; 0 before its first stream.
    pub(super) slots: u32,
    pub(super) last_claim: u64,
    pub(super) last_grant: Vec<Lease>,
    /// The group of suspects that it holds.
    pub(super) suspects: Option<SuspectLease>,
    pub(super) conduct: Conduct,
    held: BTreeMap<RunId, BTreeMap<u64, HeldTrial>>,
}

/// A leased group of suspects.
#[derive(Debug, Clone)]
pub(super) struct SuspectLease {
    pub(super) at: Duration,
    /// The losses of the group before.
    pub(super) lost_with: Vec<Loss>,
    /// It is one trial.
    pub(super) single: bool,
}

#[derive(Debug, Clone, Copy)]
struct HeldTrial {
    lease: u64,
    epoch: u32,
    /// As far as the worker said.
    begun: bool,
    /// Leased before a restart or on an earlier stream, and not listed since: it may have begun without this coordinator's
    /// knowledge, as what the worker said of it may be lost.
    unsure: bool,
    /// It is taken back then, unless a heartbeat lists it.
    list_by: Duration,
}

impl Session {
    pub(super) fn new(deadline: Duration) -> Self {
        Self {
            stream: Stream::Awaited,
            deadline,
            agents: BTreeSet::new(),
            slots: 0,
            last_claim: 0,
            last_grant: Vec::new(),
            suspects: None,
            conduct: Conduct::default(),
            held: BTreeMap::new(),
        }
    }

    pub(super) fn hold(&mut self, lease: &Lease, trial: u64, list_by: Duration) {
        let held =
            HeldTrial { lease: lease.id, epoch: lease.epoch, begun: trial < lease.begun, unsure: false, list_by };
        self.held.entry(lease.run.clone()).or_default().insert(trial, held);
    }

    /// A lease from before a restart. Its id says which claim was answered last.
    pub(super) fn remember(&mut self, lease: &Lease) {
        let claim = claim_of(lease.id);
        if claim > self.last_claim {
            self.last_claim = claim;
            self.last_grant.clear();
        }
        if claim == self.last_claim {
            self.last_grant.push(lease.clone());
        }
        let held = self.held.get_mut(&lease.run).into_iter().flat_map(|trials| trials.range_mut(lease.trials.clone()));
        held.for_each(|(_, held)| held.unsure = true);
    }

    pub(super) fn is_open(&self) -> bool {
        self.stream == Stream::Open
    }

    /// Connected, and not in quarantine.
    pub(super) fn takes_part(&self) -> bool {
        self.is_open() && !self.conduct.is_quarantined()
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

    /// One of the trials that it holds.
    pub(super) fn any_trial(&self) -> Option<(&RunId, u64)> {
        let (run, trials) = self.held.first_key_value()?;
        Some((run, *trials.first_key_value()?.0))
    }

    /// Marks these as begun. Returns those that are newly begun.
    pub(super) fn begin(&mut self, session: u64, said: &Held) -> Vec<Lease> {
        let mut begun: Vec<Lease> = Vec::new();
        let Some(trials) = self.held.get_mut(&said.run).filter(|_| !said.trials.is_empty()) else { return begun };
        for (trial, held) in trials.range_mut(said.trials.clone()) {
            if held.epoch == said.epoch && !held.begun {
                held.begun = true;
                add(&mut begun, &said.run, *trial, held, session);
            }
        }
        begun
    }

    /// The begun trials that the session holds.
    pub(super) fn begun(&self, session: u64) -> Vec<Lease> {
        let mut begun: Vec<Lease> = Vec::new();
        for (run, trials) in &self.held {
            trials
                .iter()
                .filter(|(_, held)| held.begun)
                .for_each(|(trial, held)| add(&mut begun, run, *trial, held, session));
        }
        begun
    }

    /// Everything is lost, by run.
    pub(super) fn lose_all(&mut self) -> BTreeMap<RunId, Vec<Unended>> {
        let lost = |(trial, held): (u64, HeldTrial)| Unended { trial, begun: held.begun };
        std::mem::take(&mut self.held)
            .into_iter()
            .map(|(run, trials)| (run, trials.into_iter().map(lost).collect()))
            .collect()
    }

    /// Each listed trial that it holds must be listed again by `list_by`. Returns those that it does not hold.
    pub(super) fn see(&mut self, listed: &Held, list_by: Duration) -> Vec<Held> {
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
                    (held.list_by, held.unsure) = (list_by, false);
                    stranger(first, *trial);
                    first = trial + 1;
                }
            }
        }
        stranger(first, listed.trials.end);
        strangers
    }

    /// Takes out trials that no heartbeat has listed in time: those that may have begun, and the others.
    pub(super) fn take_unlisted(&mut self, session: u64, now: Duration) -> (Vec<Lease>, Vec<Lease>) {
        let begun = self.take_where(session, |_, _, held| held.list_by <= now && (held.begun || held.unsure));
        (begun, self.take_where(session, |_, _, held| held.list_by <= now))
    }

    /// The worker has another stream.
    pub(super) fn doubt(&mut self) {
        self.held.values_mut().flat_map(BTreeMap::values_mut).for_each(|held| held.unsure = true);
    }

    /// A worker that reconnects must list what it holds by `list_by`.
    pub(super) fn must_list_by(&mut self, list_by: Duration) {
        for held in self.held.values_mut().flat_map(BTreeMap::values_mut) {
            held.list_by = held.list_by.min(list_by);
        }
    }

    /// The last grant is sent again. Returns what the session still holds of it: the rest may be another worker's by now.
    pub(super) fn send_again(&mut self, session: u64, list_by: Duration) -> Vec<Lease> {
        let mut leases = Vec::new();
        for lease in &self.last_grant {
            let Some(trials) = self.held.get_mut(&lease.run) else { continue };
            for (trial, held) in trials.range_mut(lease.trials.clone()).filter(|(_, held)| held.lease == lease.id) {
                held.list_by = list_by;
                add(&mut leases, &lease.run, *trial, held, session);
            }
        }
        leases
    }

    /// Whether it holds the first attempt of any of these trials. Even an attempt that counts as begun may wait: the agent may be out
    /// of reach, or the money short.
    pub(super) fn holds_first_attempt_of(&self, run: &RunId, trials: &Range<u64>) -> bool {
        let mut held = self.held.get(run).into_iter().flat_map(|held| held.range(trials.clone()));
        held.any(|(_, held)| held.epoch == 1)
    }

    /// Removes and returns what the session holds of these.
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
        self.conduct.postpone(by);
        if let Stream::Closed { at } = &mut self.stream {
            *at += by;
        }
        for held in self.held.values_mut().flat_map(BTreeMap::values_mut) {
            held.list_by += by;
        }
    }

    /// Why it is over, if it is.
    pub(super) fn over(&self, now: Duration, closed_stream: Duration) -> Option<&'static str> {
        match self.stream {
            _ if self.deadline <= now => Some("no heartbeat in time"),
            Stream::Closed { at } if at + closed_stream <= now => Some("stream closed"),
            _ => None,
        }
    }

    /// Removes and returns the trials that match, as the fewest leases.
    fn take_where(&mut self, session: u64, mut fits: impl FnMut(&RunId, u64, &HeldTrial) -> bool) -> Vec<Lease> {
        let mut taken: Vec<Lease> = Vec::new();
        for (run, trials) in &mut self.held {
            trials.retain(|trial, held| {
                if !fits(run, *trial, held) {
                    return true;
                }
                add(&mut taken, run, *trial, held, session);
                false
            });
        }
        self.held.retain(|_, trials| !trials.is_empty());
        taken
    }
}

/// Adds a trial to leases, ascending, as the fewest.
fn add(leases: &mut Vec<Lease>, run: &RunId, trial: u64, held: &HeldTrial, session: u64) {
    let begun = if held.begun { trial + 1 } else { trial };
    match leases.last_mut() {
        Some(last) if last.id == held.lease && last.trials.end == trial && last.run == *run => {
            last.trials.end += 1;
            if held.begun {
                last.begun = begun;
            }
        }
        _ => leases.push(Lease {
            id: held.lease,
            run: run.clone(),
            trials: trial..trial + 1,
            epoch: held.epoch,
            session,
            begun,
        }),
    }
}
