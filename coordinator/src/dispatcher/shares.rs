//! The shares of all limits: by what workers need, and never more than the whole in sum.
//!
//! [`fair`] divides, and the [`ledger`] of each limit keeps to what is out.

mod fair;
mod ledger;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use self::ledger::Ledger;
pub(crate) use self::ledger::{Demand, Share, WHOLE};

#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// By limit.
    limits: BTreeMap<String, Ledger>,
    /// Of each open stream.
    slots: BTreeMap<u64, u32>,
    /// Until then, workers that have not reconnected may still use what they had.
    quiet_until: Duration,
    /// The workers that may; empty: nobody knows them.
    awaited: BTreeSet<u64>,
    /// A part of each limit stays free for workers that come.
    keeps: bool,
}

impl Shares {
    pub(crate) fn new(keeps: bool) -> Self {
        Self { keeps, ..Self::default() }
    }

    /// Gives nothing before `until`.
    pub(crate) fn keep_quiet(&mut self, until: Duration) {
        self.quiet_until = self.quiet_until.max(until);
        self.awaited.clear();
    }

    /// Gives nothing before all of these sessions are back or over, or before `until`, when they use nothing any more.
    pub(crate) fn wait_for(&mut self, sessions: impl IntoIterator<Item = u64>, until: Duration) {
        self.awaited.extend(sessions.into_iter().filter(|session| !self.slots.contains_key(session)));
        if !self.awaited.is_empty() {
            self.quiet_until = self.quiet_until.max(until);
        }
    }

    pub(crate) fn opened(&mut self, session: u64, slots: u32) {
        // It begins with nothing.
        self.limits.values_mut().for_each(|limit| limit.over(session));
        self.slots.insert(session, slots);
        self.is_back(session);
    }

    /// What the worker needs of a limit.
    pub(crate) fn hear(&mut self, session: u64, limit: &str, demand: Demand) {
        if let Some(slots) = self.slots.get(&session) {
            self.limits.entry(limit.to_owned()).or_default().hear(session, *slots, demand);
        }
    }

    /// The worker may still make calls for a moment: its share stays taken until the session ends or comes back.
    pub(crate) fn closed(&mut self, session: u64) {
        self.limits.values_mut().for_each(|limit| limit.closed(session));
    }

    pub(crate) fn over(&mut self, session: u64) {
        self.limits.values_mut().for_each(|limit| limit.over(session));
        self.slots.remove(&session);
        self.is_back(session);
    }

    /// The worker keeps to this share.
    pub(crate) fn taken(&mut self, session: u64, limit: &str, share: Share) {
        if let Some(limit) = self.limits.get_mut(limit) {
            limit.taken(session, share);
        }
    }

    /// The shares to send now.
    pub(crate) fn balance(&mut self, plays: impl Fn(u64) -> bool, now: Duration) -> Vec<(u64, String, Share)> {
        if now < self.quiet_until {
            return Vec::new();
        }
        let keeps = self.keeps;
        let mut sent = Vec::new();
        for (name, limit) in &mut self.limits {
            sent.extend(
                limit.balance(&plays, keeps).into_iter().map(|(session, share)| (session, name.clone(), share)),
            );
        }
        sent
    }

    fn is_back(&mut self, session: u64) {
        if self.awaited.remove(&session) && self.awaited.is_empty() {
            self.quiet_until = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod fleet_tests;
#[cfg(test)]
mod tests;
