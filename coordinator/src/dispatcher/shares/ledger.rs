//! Who may use which part of one limit, and never more than the whole in sum.
//!
//! A worker has no part when its stream begins. A part shrinks first; what it frees goes to others once the worker has confirmed
//! its smaller part, or once its session is over. So workers never have more than the whole, whatever is lost or late.

use std::collections::BTreeMap;

use super::fair::{Want, divide};

/// All of a rate, in the unit of [`Share::part`].
pub(crate) const WHOLE: u32 = 1_000_000_000;
/// Of a rate, how much is worth a message, and how much may be out of place.
const STEP: u64 = WHOLE as u64 / 100;
/// A twentieth of a limit is kept for workers that come.
const KEPT: u64 = 20;

/// What a worker may use of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Share {
    /// Of requests and tokens a minute, in billionths.
    pub(crate) part: u32,
    /// Calls at the same time, if the limit has a fixed number of them.
    pub(crate) calls: u32,
}

/// What a worker says that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Demand {
    /// Of requests and tokens a minute, in billionths.
    pub(crate) part: u32,
    /// In flight and waiting.
    pub(crate) calls: u32,
    /// The limit of calls at the same time; 0: none.
    pub(crate) concurrency: u32,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    holders: BTreeMap<u64, Holder>,
    concurrency: u32,
}

#[derive(Debug)]
struct Holder {
    weight: u64,
    /// It has an open stream.
    connected: bool,
    demand: Demand,
    /// What it last confirmed.
    taken: Share,
    /// What it was sent and has not confirmed.
    sent: Option<Share>,
}

/// The two things that a limit divides: rates, and calls at the same time.
const THINGS: [usize; 2] = [0, 1];

impl Share {
    const NONE: Self = Self { part: 0, calls: 0 };

    fn amounts(self) -> [u64; 2] {
        [self.part.into(), self.calls.into()]
    }

    fn of(amounts: [u64; 2]) -> Self {
        let [part, calls] = amounts.map(|amount| u32::try_from(amount).unwrap_or(u32::MAX));
        Self { part, calls }
    }
}

impl Holder {
    /// The most that it may be using now.
    fn used(&self) -> [u64; 2] {
        let (taken, sent) = (self.taken.amounts(), self.sent.unwrap_or(Share::NONE).amounts());
        THINGS.map(|thing| taken[thing].max(sent[thing]))
    }
}

impl Holder {
    fn needs(&self, thing: usize) -> u64 {
        [self.demand.part, self.demand.calls][thing].into()
    }
}

impl Ledger {
    pub(super) fn hear(&mut self, session: u64, slots: u32, demand: Demand) {
        self.concurrency = demand.concurrency;
        let weight = u64::from(slots.max(1));
        let new = || Holder { weight, connected: true, demand, taken: Share::NONE, sent: None };
        self.holders.entry(session).or_insert_with(new).demand = demand;
    }

    pub(super) fn closed(&mut self, session: u64) {
        if let Some(holder) = self.holders.get_mut(&session) {
            holder.connected = false;
        }
    }

    pub(super) fn over(&mut self, session: u64) {
        self.holders.remove(&session);
    }

    pub(super) fn taken(&mut self, session: u64, share: Share) {
        if let Some(holder) = self.holders.get_mut(&session)
            && holder.sent == Some(share)
        {
            holder.taken = share;
            holder.sent = None;
        }
    }

    /// What each worker should have, so that those that play share the limit by what they need.
    fn targets(&self, plays: &impl Fn(u64) -> bool, whole: [u64; 2]) -> BTreeMap<u64, [u64; 2]> {
        let playing: Vec<(u64, &Holder)> = self
            .holders
            .iter()
            .filter(|(session, holder)| holder.connected && plays(**session))
            .map(|(session, holder)| (*session, holder))
            .collect();
        let count = playing.len() as u64;
        // Each worker that plays can begin a call at once.
        let floors = [whole[0] / KEPT / count.max(1), 1];
        let parts = THINGS.map(|thing| {
            let want = |(_, holder): &(u64, &Holder)| Want {
                weight: holder.weight,
                amount: holder.needs(thing).max(floors[thing]),
            };
            let wants: Vec<Want> = playing.iter().map(want).collect();
            divide(whole[thing], &wants)
        });
        let at_least = u64::from(self.concurrency > 0);
        playing
            .iter()
            .enumerate()
            // With more workers than calls, each may have one; otherwise some would never play.
            .map(|(index, (session, _))| (*session, [parts[0][index], parts[1][index].max(at_least)]))
            .collect()
    }

    /// The shares to send now. `keeps`: a part stays free for workers that come.
    pub(super) fn balance(&mut self, plays: &impl Fn(u64) -> bool, keeps: bool) -> Vec<(u64, Share)> {
        let all = [u64::from(WHOLE), self.concurrency.into()];
        let whole = if keeps { all.map(|amount| amount - amount / KEPT) } else { all };
        let targets = self.targets(plays, whole);
        if targets.is_empty() {
            // Between runs it stays as it is.
            return Vec::new();
        }
        let mut used = THINGS.map(|thing| self.holders.values().map(|holder| holder.used()[thing]).sum::<u64>());
        let target = |session: &u64| targets.get(session).copied().unwrap_or_default();
        // A part out of place is taken back if somebody lacks what it needs, or if too little is kept.
        let shrinks = THINGS.map(|thing| {
            let lacking = |(session, holder): (&u64, &Holder)| {
                let needed = target(session)[thing].min(holder.needs(thing));
                needed.saturating_sub(holder.used()[thing])
            };
            let lacking: u64 = self.holders.iter().map(lacking).sum();
            let free = whole[thing].saturating_sub(used[thing]);
            lacking > free + [STEP, 0][thing] || used[thing] > whole[thing]
        });
        let mut sent = Vec::new();
        for (session, holder) in self.holders.iter_mut().filter(|(_, holder)| holder.connected && holder.sent.is_none())
        {
            let (wanted, taken) = (target(session), holder.taken.amounts());
            let is_new = holder.taken == Share::NONE;
            let next = THINGS.map(|thing| {
                let (wanted, taken) = (wanted[thing], taken[thing]);
                if wanted <= taken {
                    let is_far = taken - wanted > [STEP / 10, 0][thing] || wanted == 0;
                    return if shrinks[thing] && is_far { wanted } else { taken };
                }
                let limit = if is_new { all[thing] } else { whole[thing] };
                let must_have = thing == 1 && taken == 0 && self.concurrency > 0;
                let free = limit.saturating_sub(used[thing]).max(u64::from(must_have));
                let grown = taken + (wanted - taken).min(free);
                let is_worth_it = is_new || grown == wanted || grown - taken >= [STEP, 1][thing];
                if is_worth_it { grown } else { taken }
            });
            if next != taken {
                THINGS
                    .into_iter()
                    .for_each(|thing| used[thing] = used[thing] - taken[thing] + taken[thing].max(next[thing]));
                holder.sent = Some(Share::of(next));
                sent.push((*session, Share::of(next)));
            }
        }
        sent
    }
}
