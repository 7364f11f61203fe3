//! Who gets how much of a run's money: slices for workers, without clock, store and network.
//!
//! All that a worker got counts as spent until it gives it back. While there is plenty, each worker gets a small part of
//! what is left, ahead of its need. Once it is short, workers start nothing, give back what no call needs, and get only
//! what their next call needs; so what runs can finish. The money is used up when a call that waits cannot be paid and
//! no worker holds any more of it.

use std::collections::BTreeMap;

use record::Usd;
use store::{Account, Ledger, Slice};

/// For calls to come, each worker holds about this part of what is left for each worker, unless one call needs more.
const PARTS: i64 = 16;
/// So many of the dearest calls for each worker have to be left before new conversations start.
const CALLS_KEPT: i64 = 2;

/// What a worker says about its slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Word {
    pub(crate) account: Account,
    /// Reserved for calls in flight.
    pub(crate) reserved: i64,
    /// The sum of all that it got, as it wants it to be.
    pub(crate) wanted: i64,
    /// Without this much more, no call that waits can start; 0: none waits.
    pub(crate) need: i64,
    /// The most that one call reserved so far.
    pub(crate) dearest: i64,
    /// Conversations that it plays.
    pub(crate) running: u64,
}

/// What a worker hears about its slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Funds {
    pub(crate) granted: i64,
    pub(crate) short: bool,
    pub(crate) used_up: bool,
}

/// A worker is to get so much in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) session: u64,
    pub(crate) granted: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Plenty,
    Short,
    UsedUp,
}

#[derive(Debug)]
pub(crate) struct Allocator {
    max_cost: i64,
    /// What counts as spent and belongs to no living session.
    closed: i64,
    held: BTreeMap<u64, Held>,
    mood: Mood,
    dearest: i64,
}

#[derive(Debug, Default)]
struct Held {
    slice: Slice,
    word: Word,
    /// What the worker was told on its stream.
    told: Option<Funds>,
    connected: bool,
}

impl Held {
    /// What may still be spent or come back.
    fn outstanding(&self) -> i64 {
        self.slice.reserved().0
    }

    /// For calls to come.
    fn unused(&self) -> i64 {
        self.outstanding().saturating_sub(self.word.reserved).max(0)
    }

    fn asks(&self) -> bool {
        self.connected && self.word.wanted > self.slice.granted.0
    }
}

impl Allocator {
    /// `None`: the run has no budget.
    pub(crate) fn new(ledger: &Ledger) -> Option<Self> {
        let max_cost = ledger.max_cost?.0;
        let (open, over): (Vec<&Slice>, Vec<&Slice>) = ledger.slices.iter().partition(|slice| slice.open);
        let closed = over.into_iter().fold(ledger.besides, |sum, slice| sum + slice.taken()).0;
        let held = open.into_iter().map(|slice| (slice.session, Held { slice: *slice, ..Held::default() })).collect();
        Some(Self { max_cost, closed, held, mood: Mood::Plenty, dearest: 0 })
    }

    /// It was found to be used up before a restart.
    pub(crate) fn use_up(&mut self) {
        self.mood = Mood::UsedUp;
    }

    /// The budget is larger now.
    pub(crate) fn raise(&mut self, max_cost: i64) {
        self.max_cost = self.max_cost.max(max_cost);
    }

    /// The run continues: there may be enough again.
    pub(crate) fn resume(&mut self) {
        self.mood = Mood::Plenty;
    }

    pub(crate) fn max_cost(&self) -> Usd {
        Usd(self.max_cost)
    }

    pub(crate) fn taken(&self) -> Usd {
        self.held.values().fold(Usd(self.closed), |sum, held| sum + held.slice.taken())
    }

    /// Held by workers, for calls in flight and calls to come.
    pub(crate) fn reserved(&self) -> Usd {
        self.held.values().map(|held| held.slice.reserved()).sum()
    }

    fn left(&self) -> i64 {
        self.max_cost.saturating_sub(self.taken().0).max(0)
    }

    /// The worker has a stream and may play the run.
    pub(crate) fn joins(&mut self, session: u64) {
        let held = self.held.entry(session).or_default();
        held.slice = Slice { session, open: true, ..held.slice };
        held.connected = true;
    }

    /// The worker has a new stream: what it was told on the last one may be lost.
    pub(crate) fn returns(&mut self, session: u64) {
        if let Some(held) = self.held.get_mut(&session) {
            (held.connected, held.told) = (true, None);
        }
    }

    /// Returns whether the worker gave something back, which has to be stored before others get it.
    pub(crate) fn hear(&mut self, session: u64, word: Word) -> bool {
        self.joins(session);
        self.dearest = self.dearest.max(word.dearest);
        let Some(held) = self.held.get_mut(&session) else { return false };
        let before = held.slice.returned;
        held.word = word;
        held.slice.hear(word.account);
        held.slice.returned > before
    }

    /// What the store keeps of a slice now.
    pub(crate) fn stored(&mut self, slice: Slice) {
        if let Some(held) = self.held.get_mut(&slice.session) {
            if (slice.granted.0 - held.slice.granted.0) >= held.word.need {
                held.word.need = 0;
            }
            held.slice = slice;
        }
    }

    /// A batch of the session is committed.
    pub(crate) fn settled(&mut self, session: u64, cost: Usd, account: Option<Account>) {
        if let (Some(held), Some(account)) = (self.held.get_mut(&session), account) {
            held.slice.settled += cost;
            let before = held.slice.charged.0;
            held.slice.hear(account);
            // What was charged is not reserved any more, which the worker says later.
            held.word.reserved = held.word.reserved.saturating_sub(held.slice.charged.0 - before).max(0);
        }
    }

    /// What the worker last said of its slice.
    pub(crate) fn account(&self, session: u64) -> Account {
        self.held.get(&session).map_or_else(Account::default, |held| held.word.account)
    }

    /// The session is over: all that it holds counts as spent.
    pub(crate) fn over(&mut self, session: u64) {
        if let Some(held) = self.held.remove(&session) {
            self.closed = self.closed.saturating_add(held.slice.taken().0);
        }
    }

    /// What workers get now. Each grant counts once [`Self::stored`] says so.
    pub(crate) fn grants(&mut self) -> Vec<Grant> {
        if self.mood == Mood::UsedUp {
            return Vec::new();
        }
        let mut left = self.left();
        let part = left / (PARTS * self.workers());
        let mut grants = Vec::new();
        for (session, held) in self.held.iter().filter(|(_, held)| held.asks()) {
            let (need, asked) = (held.word.need, held.word.wanted.saturating_sub(held.slice.granted.0));
            let room = part.saturating_sub(held.unused());
            let most = match self.mood {
                Mood::Short => need,
                // Not for each call: only when half of it is used.
                _ if need == 0 && room < part / 2 => 0,
                _ => asked.min(room.max(need)),
            };
            let more = if most > left { need } else { most };
            if more > 0 && more <= left {
                left -= more;
                grants.push(Grant { session: *session, granted: held.slice.granted.0 + more });
            }
        }
        grants
    }

    /// After the grants: whether the money is plenty, short or used up. Returns whether it is used up since now.
    pub(crate) fn judge(&mut self) -> bool {
        let kept = self.dearest.saturating_mul(CALLS_KEPT).saturating_mul(self.workers());
        let left = self.left();
        let unmet = self.held.values().any(|held| held.asks() && held.word.need > left);
        let outstanding = self.held.values().any(|held| held.outstanding() > 0);
        let running = self.held.values().any(|held| held.word.running > 0 || held.word.need > 0);
        self.mood = match self.mood {
            Mood::Plenty if unmet || left < kept => Mood::Short,
            Mood::Short if !outstanding && (unmet || (!running && left < kept)) => Mood::UsedUp,
            Mood::Short if !unmet && left >= kept.saturating_mul(2).max(1) => Mood::Plenty,
            Mood::Short if !unmet && !outstanding && !running && left >= kept => Mood::Plenty,
            _ => return false,
        };
        self.mood == Mood::UsedUp
    }

    /// What workers have to hear.
    pub(crate) fn news(&mut self) -> Vec<(u64, Funds)> {
        let (short, used_up) = (self.mood != Mood::Plenty, self.mood == Mood::UsedUp);
        let mut news = Vec::new();
        for (session, held) in self.held.iter_mut().filter(|(_, held)| held.connected) {
            let funds = Funds { granted: held.slice.granted.0, short, used_up };
            if held.told != Some(funds) {
                held.told = Some(funds);
                news.push((*session, funds));
            }
        }
        news
    }

    fn workers(&self) -> i64 {
        i64::try_from(self.held.len()).unwrap_or(i64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests;
