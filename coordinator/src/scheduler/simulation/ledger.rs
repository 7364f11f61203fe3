//! What must hold, kept independently of the scheduler and of the store.

use std::collections::{BTreeMap, BTreeSet};

use scenario::RunId;
use store::Lease;

type Key = (RunId, u64);

#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The session that a trial is lent to, and the epoch.
    owners: BTreeMap<Key, (u64, u32)>,
    losses: BTreeMap<Key, u32>,
    /// Attempts that their workers gave up in peace.
    given_up: BTreeMap<Key, u32>,
    /// Attempts that ended and were to be followed by another.
    replayed: BTreeMap<Key, u32>,
    /// As many of them since the run was resumed.
    replays: BTreeMap<Key, u32>,
    solo_losses: BTreeMap<Key, u32>,
    done: BTreeSet<Key>,
    pub(super) poisoned: BTreeSet<Key>,
    /// Which situations came up.
    pub(super) events: BTreeSet<&'static str>,
    pub(super) history: Option<Vec<String>>,
}

impl Ledger {
    pub(super) fn granted(&mut self, lease: &Lease) -> Result<(), String> {
        for trial in lease.trials.clone() {
            let key = (lease.run.clone(), trial);
            if self.done.contains(&key) {
                return Err(format!("{key:?} was lent although it is done"));
            }
            let count = |of: &BTreeMap<Key, u32>| of.get(&key).copied().unwrap_or(0);
            let losses = count(&self.losses);
            let begun = losses + count(&self.given_up) + count(&self.replayed);
            if lease.epoch != begun + 1 {
                return Err(format!("{key:?} was lent with epoch {} after {begun} attempts", lease.epoch));
            }
            if let Some(owner) = self.owners.insert(key.clone(), (lease.session, lease.epoch)) {
                return Err(format!("{key:?} was lent to session {} and {owner:?}", lease.session));
            }
            if losses >= 2 {
                self.events.insert("solo grant");
                let held = self.owners.values().filter(|(session, _)| *session == lease.session).count();
                if held != 1 {
                    return Err(format!("{key:?} must be played alone, and its worker holds {held}"));
                }
            }
        }
        Ok(())
    }

    pub(super) fn released(&mut self, leases: &[Lease], begun: bool) -> Result<(), String> {
        for lease in leases {
            for trial in lease.trials.clone() {
                let owner = self.owners.remove(&(lease.run.clone(), trial));
                if owner != Some((lease.session, lease.epoch)) {
                    return Err(format!("trial {trial} of {lease:?} was released by {owner:?}"));
                }
                *self.given_up.entry((lease.run.clone(), trial)).or_default() += u32::from(begun);
            }
        }
        Ok(())
    }

    /// What the store says that a session lost is what it held.
    pub(super) fn lost(&mut self, session: u64, solo: bool, leases: &[Lease]) -> Result<(), String> {
        let held: BTreeSet<Key> =
            self.owners.iter().filter(|(_, (owner, _))| *owner == session).map(|(key, _)| key.clone()).collect();
        let lost: BTreeSet<Key> =
            leases.iter().flat_map(|lease| lease.trials.clone().map(|trial| (lease.run.clone(), trial))).collect();
        if held != lost || (solo && !self.plays_solo(session)) {
            return Err(format!("session {session} held {held:?} and lost {lost:?}, solo: {solo}"));
        }
        for key in lost {
            self.events.insert("lost");
            self.owners.remove(&key);
            *self.losses.entry(key.clone()).or_default() += 1;
            *self.solo_losses.entry(key).or_default() += u32::from(solo);
        }
        Ok(())
    }

    pub(super) fn counted(&mut self, run: &RunId, trial: u64, session: u64, epoch: u32) -> Result<(), String> {
        let key = (run.clone(), trial);
        let owner = self.owners.remove(&key);
        if owner != Some((session, epoch)) {
            return Err(format!("{key:?} was counted for session {session} and epoch {epoch}, lent to {owner:?}"));
        }
        if !self.done.insert(key.clone()) {
            return Err(format!("{key:?} was counted twice"));
        }
        Ok(())
    }

    /// It ended, was kept, and is to be played again.
    pub(super) fn ended_for_now(&mut self, run: &RunId, trial: u64, session: u64, epoch: u32) -> Result<(), String> {
        let key = (run.clone(), trial);
        let owner = self.owners.remove(&key);
        if owner != Some((session, epoch)) {
            return Err(format!("{key:?} ended for session {session} and epoch {epoch}, lent to {owner:?}"));
        }
        self.events.insert("replayed");
        *self.replayed.entry(key.clone()).or_default() += 1;
        let replays = self.replays.entry(key).or_default();
        *replays += 1;
        if *replays > 2 {
            return Err(format!("trial {trial} of {run} is to be played again {replays} times"));
        }
        Ok(())
    }

    /// Trials may be played again as often as before.
    pub(super) fn resumed(&mut self, run: &RunId) {
        self.replays.retain(|(of, _), _| of != run);
    }

    pub(super) fn replayed(&self, run: &RunId) -> u64 {
        self.replayed.iter().filter(|((of, _), _)| of == run).map(|(_, count)| u64::from(*count)).sum()
    }

    pub(super) fn poisoned(&mut self, run: &RunId, trial: u64) -> Result<(), String> {
        let key = (run.clone(), trial);
        if self.solo_losses.get(&key).copied().unwrap_or(0) < 3 {
            return Err(format!("{key:?} was poisoned too early"));
        }
        self.events.insert("poisoned");
        self.poisoned.insert(key);
        Ok(())
    }

    pub(super) fn poison_counted(&mut self, run: &RunId, trial: u64) -> Result<(), String> {
        let key = (run.clone(), trial);
        if self.owners.contains_key(&key) || !self.done.insert(key.clone()) {
            return Err(format!("{key:?} is lent or done, and was ended as poisoned"));
        }
        Ok(())
    }

    /// Whether all that the session holds is a trial that was lost so often that it is played alone.
    pub(super) fn plays_solo(&self, session: u64) -> bool {
        let mut held = self.owners.iter().filter(|(_, (owner, _))| *owner == session);
        match (held.next(), held.next()) {
            (Some((key, _)), None) => self.losses.get(key).is_some_and(|losses| *losses >= 2),
            _ => false,
        }
    }

    pub(super) fn done(&self, run: &RunId) -> u64 {
        self.done.iter().filter(|(of, _)| of == run).count() as u64
    }

    pub(super) fn lost_attempts(&self, run: &RunId) -> u64 {
        let attempts = self.losses.iter().chain(&self.given_up);
        attempts.filter(|((of, _), _)| of == run).map(|(_, losses)| u64::from(*losses)).sum()
    }
}
