//! One run's money in one process, without clock and waiting: what came in, what is reserved, what was charged, and what
//! goes back.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use super::UsedUp;

/// With this many of the dearest calls for each trial, a purse need not ask often.
const CALLS_AHEAD: i64 = 4;

/// What a purse says to the coordinator. All amounts are nano-dollars. Sums only grow, so an old statement changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statement {
    /// All that was given back.
    pub returned: i64,
    /// All that calls cost, or may have cost.
    pub charged: i64,
    /// Reserved for calls in flight.
    pub reserved: i64,
    /// The sum of all that came in, as the process wants it to be.
    pub wanted: i64,
    /// Without this much more, no waiting call can start; 0: none waits.
    pub need: i64,
    /// The most that one call of the run reserved so far.
    pub dearest: i64,
    /// Trials that the process plays now.
    pub running: u64,
}

/// What the coordinator says about a run's money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Funds {
    /// All that it gave to this process, in nano-dollars.
    pub granted: i64,
    /// Nothing new starts, and money that no call needs goes back.
    pub short: bool,
    /// There is no more, so waiting calls fail.
    pub used_up: bool,
}

/// What becomes of a waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Waits,
    Given,
    Refused,
}

/// The rank of the trial, and the number of the call.
pub(super) type Ticket = (u64, u64);

#[derive(Debug)]
pub(super) struct Purse {
    /// Of this purse and no other in the process.
    id: u64,
    funds: Funds,
    returned: i64,
    charged: i64,
    reserved: i64,
    dearest: i64,
    /// What each waiting call needs, and its fate: by the rank of its trial, and in the order in which calls came.
    waiting: BTreeMap<Ticket, (i64, Fate)>,
    tickets: u64,
    /// Trials in the order of their first calls: the first ones finish first when the money is short.
    ranks: BTreeMap<String, u64>,
    /// Held trials, and those of them that run.
    trials: u64,
    running: u64,
    said: Option<Statement>,
    /// What was free when money last came in.
    topped_up: i64,
}

impl Purse {
    pub(super) fn new() -> Self {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            funds: Funds::default(),
            returned: 0,
            charged: 0,
            reserved: 0,
            dearest: 0,
            waiting: BTreeMap::new(),
            tickets: 0,
            ranks: BTreeMap::new(),
            trials: 0,
            running: 0,
            said: None,
            topped_up: 0,
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn is_short(&self) -> bool {
        self.funds.short || self.funds.used_up
    }

    fn free(&self) -> i64 {
        self.funds.granted - self.returned - self.charged - self.reserved
    }

    /// Takes money for a call at once, if there is enough.
    pub(super) fn take(&mut self, trial: &str, nanos: i64) -> Result<bool, UsedUp> {
        self.dearest = self.dearest.max(nanos);
        if nanos == 0 {
            return Ok(true);
        }
        // Short money goes to the first trial first.
        let rank = self.rank(trial);
        let first = |(ticket, (_, fate)): (&Ticket, &(i64, Fate))| *fate == Fate::Waits && ticket.0 < rank;
        let is_enough = self.free() >= nanos && !(self.funds.short && self.waiting.iter().any(first));
        if is_enough {
            self.reserved += nanos;
        } else if self.funds.used_up {
            return Err(UsedUp);
        }
        Ok(is_enough)
    }

    fn rank(&mut self, trial: &str) -> u64 {
        if let Some(rank) = self.ranks.get(trial) {
            return *rank;
        }
        self.tickets += 1;
        self.ranks.insert(trial.to_owned(), self.tickets);
        self.tickets
    }

    /// The call waits for money. Returns its ticket.
    pub(super) fn wait(&mut self, trial: &str, nanos: i64) -> Ticket {
        let rank = self.rank(trial);
        self.tickets += 1;
        self.waiting.insert((rank, self.tickets), (nanos, Fate::Waits));
        (rank, self.tickets)
    }

    /// A waiting call asks. Once it has an answer, its ticket is gone.
    pub(super) fn fate(&mut self, ticket: Ticket) -> Fate {
        let fate = self.waiting.get(&ticket).map_or(Fate::Refused, |(_, fate)| *fate);
        if fate != Fate::Waits {
            self.waiting.remove(&ticket);
        }
        fate
    }

    /// The call does not wait any more.
    pub(super) fn give_up(&mut self, ticket: Ticket) {
        if let Some((nanos, Fate::Given)) = self.waiting.remove(&ticket) {
            self.settle(nanos, 0);
        }
    }

    pub(super) fn settle(&mut self, reserved: i64, cost: i64) {
        self.reserved -= reserved;
        self.charged = self.charged.saturating_add(cost);
        self.serve();
    }

    pub(super) fn fund(&mut self, funds: Funds) {
        // Money that was given is never taken back: what is not needed is returned.
        self.funds = Funds { granted: funds.granted.max(self.funds.granted), ..funds };
        self.serve();
        self.topped_up = self.free();
        if funds.used_up {
            for (_, fate) in self.waiting.values_mut().filter(|(_, fate)| *fate == Fate::Waits) {
                *fate = Fate::Refused;
            }
        }
    }

    /// Gives free money to waiting calls, the first one first. If it is short, the first one gets all that it needs before
    /// others get any.
    fn serve(&mut self) {
        let mut free = self.free();
        for (nanos, fate) in self.waiting.values_mut().filter(|(_, fate)| *fate == Fate::Waits) {
            if *nanos <= free {
                free -= *nanos;
                self.reserved += *nanos;
                *fate = Fate::Given;
            } else if self.funds.short {
                return;
            }
        }
    }

    pub(super) fn hold(&mut self, trials: u64, running: u64) {
        (self.trials, self.running) = (trials, running);
        if running == 0 {
            self.ranks.clear();
        }
    }

    /// A trial makes no more calls.
    pub(super) fn hold_less(&mut self, trial: &str) {
        self.ranks.remove(trial);
        self.trials = self.trials.saturating_sub(1);
        self.running = self.running.saturating_sub(1);
    }

    pub(super) fn holds_money(&self) -> bool {
        self.funds.granted > self.returned + self.charged
    }

    fn waits(&self) -> impl Iterator<Item = i64> {
        self.waiting.values().filter(|(_, fate)| *fate == Fate::Waits).map(|(nanos, _)| *nanos)
    }

    /// What nobody here needs: all that is free, once the money is short or nothing runs.
    fn unneeded(&self) -> i64 {
        let idle = self.trials == 0 && self.waiting.is_empty();
        if self.is_short() || idle { self.free().max(0) } else { 0 }
    }

    fn wanted(&self) -> i64 {
        let waits: i64 = self.waits().fold(0, i64::saturating_add);
        let trials = i64::try_from(self.trials).unwrap_or(i64::MAX);
        let usual = trials.saturating_mul(self.dearest.saturating_mul(CALLS_AHEAD));
        let free = self.free() - self.unneeded();
        if self.is_short() {
            return self.funds.granted.saturating_add(self.need());
        }
        let more = if free < waits || free < usual / 2 { waits.max(usual) - free } else { 0 };
        self.funds.granted.saturating_add(more.max(0))
    }

    fn need(&self) -> i64 {
        let free = self.free() - self.unneeded();
        let next = if self.is_short() { self.waits().next() } else { self.waits().min() };
        next.map_or(0, |next| (next - free).max(1))
    }

    fn statement(&self) -> Statement {
        Statement {
            returned: self.returned + self.unneeded(),
            charged: self.charged,
            reserved: self.reserved,
            wanted: self.wanted(),
            need: self.need(),
            dearest: self.dearest,
            running: self.running,
        }
    }

    /// Whether the coordinator should hear of it before the next heartbeat.
    pub(super) fn has_news(&self) -> bool {
        let now = self.statement();
        let Some(said) = self.said else { return now != Statement::default() };
        // While there is less than it wants, each call makes it want more: it asks once half of what it got is used.
        let is_low = self.free() <= self.topped_up / 2;
        let asks = now.need != said.need || (is_low && now.wanted > said.wanted && now.wanted > self.funds.granted);
        // The coordinator waits for all money that comes back, and for the calls in flight.
        let parts = |of: Statement| (of.returned, of.reserved, of.charged, of.running);
        let returns = self.is_short() && parts(now) != parts(said);
        asks || returns || (self.trials == 0 && now.returned != said.returned)
    }

    /// Takes out what goes back, and says so.
    pub(super) fn say(&mut self) -> Statement {
        let statement = self.statement();
        self.returned = statement.returned;
        self.said = Some(statement);
        statement
    }

    pub(super) fn forget_said(&mut self) {
        self.said = None;
    }
}
