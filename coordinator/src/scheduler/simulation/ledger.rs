//! The invariants, checked independently of the scheduler and the store.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use scenario::RunId;
use store::Lease;

type Key = (RunId, u64);

/// A loss counts against a trial only if no worker was lost during this time before it.
const CALM: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The session that a trial is leased to, the epoch, and since when.
    owners: BTreeMap<Key, (u64, u32, Duration)>,
    /// Attempts that were lost with their workers, whether they had begun or not.
    losses: BTreeMap<Key, u32>,
    /// Lost attempts that had begun.
    begun_losses: BTreeMap<Key, u32>,
    /// The same since the trial last ended: (begun, all).
    suspicion: BTreeMap<Key, (u32, u32)>,
    /// Attempts that their workers gave up in peace.
    given_up: BTreeMap<Key, u32>,
    /// Attempts that ended and needed another attempt.
    replayed: BTreeMap<Key, u32>,
    /// As many of them since the run was resumed.
    replays: BTreeMap<Key, u32>,
    proofs: BTreeMap<Key, u32>,
    /// When workers were lost, or may have been lost unseen.
    unrest: Vec<Duration>,
    done: BTreeSet<Key>,
    pub(super) planned: BTreeMap<RunId, u64>,
    pub(super) poisoned: BTreeSet<Key>,
    /// Which situations came up.
    pub(super) events: BTreeSet<&'static str>,
    pub(super) history: Option<Vec<String>>,
    pub(super) finished_at: Duration,
}

impl Ledger {
    pub(super) fn granted(&mut self, lease: &Lease, now: Duration) -> Result<(), String> {
        for trial in lease.trials.clone() {
            let key = (lease.run.clone(), trial);
            if self.done.contains(&key) {
                return Err(format!("{key:?} was leased although it is done"));
            }
            let count = |of: &BTreeMap<Key, u32>| of.get(&key).copied().unwrap_or(0);
            let begun = count(&self.losses) + count(&self.given_up) + count(&self.replayed);
            if lease.epoch != begun + 1 {
                return Err(format!("{key:?} was leased with epoch {} after {begun} attempts", lease.epoch));
            }
            if let Some(owner) = self.owners.insert(key.clone(), (lease.session, lease.epoch, now)) {
                return Err(format!("{key:?} was leased to session {} and {owner:?}", lease.session));
            }
        }
        Ok(())
    }

    /// After a whole grant: suspects are alone, and no healthy trial waits behind them.
    pub(super) fn check_company(&mut self, session: u64) -> Result<(), String> {
        let held: Vec<&Key> = self.of_session(session).collect();
        let suspects = held.iter().filter(|key| self.is_suspect(key)).count();
        if suspects == 0 {
            return Ok(());
        }
        let Some((run, _)) = held.first().copied().cloned() else { return Ok(()) };
        if suspects != held.len() || held.iter().any(|(of, _)| *of != run) {
            return Err(format!("session {session} holds {suspects} suspects among {held:?}"));
        }
        let waits = |trial: &u64| {
            let key = (run.clone(), *trial);
            !self.done.contains(&key) && !self.owners.contains_key(&key) && !self.is_suspect(&key)
        };
        let planned = self.planned.get(&run).copied().unwrap_or(0);
        if let Some(healthy) = (0..planned).find(waits) {
            return Err(format!("suspects of {run} were leased while trial {healthy} waited"));
        }
        self.events.insert("suspects");
        Ok(())
    }

    fn of_session(&self, session: u64) -> impl Iterator<Item = &Key> {
        self.owners.iter().filter(move |(_, (owner, ..))| *owner == session).map(|(key, _)| key)
    }

    /// The trials of a run that are leased.
    pub(super) fn leased_of(&self, run: &RunId) -> Vec<Key> {
        self.owners.keys().filter(|(of, _)| of == run).cloned().collect()
    }

    fn is_suspect(&self, key: &Key) -> bool {
        self.suspicion.get(key).is_some_and(|(begun, all)| *begun >= 2 || *all >= 4)
    }

    fn take(&mut self, key: &Key, session: u64, epoch: u32) -> Result<(), String> {
        match self.owners.remove(key) {
            Some((owner, of, _)) if (owner, of) == (session, epoch) => Ok(()),
            other => Err(format!("{key:?} of session {session} and epoch {epoch} was leased to {other:?}")),
        }
    }

    pub(super) fn released(&mut self, leases: &[Lease], begun: bool) -> Result<(), String> {
        for lease in leases {
            for trial in lease.trials.clone() {
                let key = (lease.run.clone(), trial);
                self.take(&key, lease.session, lease.epoch)?;
                *self.given_up.entry(key).or_default() += u32::from(begun);
            }
        }
        Ok(())
    }

    /// Checks that the store reports exactly what the session held as lost.
    pub(super) fn lost(&mut self, session: u64, proof: bool, leases: &[Lease], now: Duration) -> Result<(), String> {
        let held: BTreeSet<Key> = self.of_session(session).cloned().collect();
        let lost: BTreeSet<Key> =
            leases.iter().flat_map(|lease| lease.trials.clone().map(|trial| (lease.run.clone(), trial))).collect();
        if held != lost {
            return Err(format!("session {session} held {held:?} and lost {lost:?}"));
        }
        if proof {
            self.check_proof(&held)?;
        }
        for lease in leases {
            for trial in lease.trials.clone() {
                let (key, begun) = ((lease.run.clone(), trial), u32::from(trial < lease.begun));
                self.events.insert(if begun == 1 { "lost" } else { "lost before it began" });
                self.owners.remove(&key);
                *self.losses.entry(key.clone()).or_default() += 1;
                *self.begun_losses.entry(key.clone()).or_default() += begun;
                let (of_begun, all) = self.suspicion.entry(key.clone()).or_default();
                (*of_begun, *all) = (*of_begun + begun, *all + 1);
                *self.proofs.entry(key).or_default() += u32::from(proof);
            }
        }
        self.unrest.push(now);
        Ok(())
    }

    /// One suspect, and no other worker was lost for a while before it was leased, nor since.
    fn check_proof(&self, held: &BTreeSet<Key>) -> Result<(), String> {
        let (Some(key), 1) = (held.first(), held.len()) else {
            return Err(format!("{held:?} were lost together, and that is a proof"));
        };
        let since = self.owners.get(key).map(|(.., since)| *since).unwrap_or_default();
        match self.unrest.last() {
            Some(last) if *last + CALM > since => {
                Err(format!("{key:?} of {since:?} is marked as the cause after {last:?}"))
            }
            _ if !self.is_suspect(key) => Err(format!("{key:?} is not a suspect, and marked as the cause")),
            _ => Ok(()),
        }
    }

    /// After a restart, losses before it are unknown.
    pub(super) fn restarted(&mut self, now: Duration) {
        self.unrest.push(now);
    }

    pub(super) fn counted(&mut self, run: &RunId, trial: u64, session: u64, epoch: u32) -> Result<(), String> {
        let key = (run.clone(), trial);
        self.take(&key, session, epoch)?;
        if !self.done.insert(key.clone()) {
            return Err(format!("{key:?} was counted twice"));
        }
        Ok(())
    }

    /// It ended, was stored, and will be played again.
    pub(super) fn ended_for_now(&mut self, run: &RunId, trial: u64, session: u64, epoch: u32) -> Result<(), String> {
        let key = (run.clone(), trial);
        self.take(&key, session, epoch)?;
        self.events.insert("replayed");
        self.suspicion.remove(&key);
        self.proofs.remove(&key);
        *self.replayed.entry(key.clone()).or_default() += 1;
        let replays = self.replays.entry(key).or_default();
        *replays += 1;
        if *replays > 2 {
            return Err(format!("trial {trial} of {run} is to be played again {replays} times"));
        }
        Ok(())
    }

    /// Resets how often trials may be retried.
    pub(super) fn resumed(&mut self, run: &RunId) {
        self.replays.retain(|(of, _), _| of != run);
    }

    pub(super) fn replayed(&self, run: &RunId) -> u64 {
        self.replayed.iter().filter(|((of, _), _)| of == run).map(|(_, count)| u64::from(*count)).sum()
    }

    pub(super) fn poisoned(&mut self, run: &RunId, trial: u64) -> Result<(), String> {
        let key = (run.clone(), trial);
        if self.proofs.get(&key).copied().unwrap_or(0) < 3 {
            return Err(format!("{key:?} was poisoned too early"));
        }
        self.events.insert("poisoned");
        self.poisoned.insert(key);
        Ok(())
    }

    pub(super) fn poison_counted(&mut self, run: &RunId, trial: u64) -> Result<(), String> {
        let key = (run.clone(), trial);
        if self.owners.contains_key(&key) || !self.done.insert(key.clone()) {
            return Err(format!("{key:?} is leased or done, and was ended as poisoned"));
        }
        Ok(())
    }

    pub(super) fn done(&self, run: &RunId) -> u64 {
        self.done.iter().filter(|(of, _)| of == run).count() as u64
    }

    /// How many lost attempts had begun.
    pub(super) fn lost_attempts(&self, run: &RunId) -> u64 {
        let attempts = self.begun_losses.iter().chain(&self.given_up);
        attempts.filter(|((of, _), _)| of == run).map(|(_, losses)| u64::from(*losses)).sum()
    }
}
