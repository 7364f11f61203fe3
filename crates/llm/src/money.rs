//! The money of runs: a call reserves the most that it can cost before it starts, and settles what it did cost.
//!
//! A process holds a [`Purse`] for each run with a budget. The coordinator puts money into it, and counts all of it as
//! spent until the process says otherwise. So the calls of all processes together can never cost more than the budget,
//! whichever process is killed. Calls of runs without a purse reserve nothing.

mod purse;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use self::purse::{Fate, Purse, Ticket};
pub use self::purse::{Funds, Statement};

/// The purses of one process, shared by all its endpoints.
#[derive(Debug, Default)]
pub struct Purses {
    purses: Mutex<BTreeMap<String, Purse>>,
    /// Wakes calls that wait for money.
    told: Notify,
    /// A purse has something to say to the coordinator.
    news: Notify,
}

/// The most that a call can cost, taken out of the purse. Once the call is sent, dropping it without settling it counts all
/// of it as spent: the call may have been charged.
#[derive(Debug)]
pub struct Reservation {
    purses: Arc<Purses>,
    run: String,
    /// Which purse; `None` once it is settled.
    purse: Option<u64>,
    nanos: i64,
    sent: bool,
}

/// The money of the run is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedUp;

impl Purses {
    /// From now on calls of the run need money. Opening it again changes nothing.
    pub fn open(&self, run: &str) {
        self.lock().entry(run.to_owned()).or_insert_with(Purse::new);
    }

    /// Whether calls of the run need money.
    #[must_use]
    pub fn has(&self, run: &str) -> bool {
        self.lock().contains_key(run)
    }

    /// Waits until the run has this much money, in nano-dollars, and takes it. `None`: the run has no budget.
    ///
    /// # Errors
    /// The money is used up.
    pub async fn reserve(self: &Arc<Self>, run: &str, trial: &str, nanos: i64) -> Result<Option<Reservation>, UsedUp> {
        let waiting = {
            let mut purses = self.lock();
            let Some(purse) = purses.get_mut(run) else { return Ok(None) };
            let reservation = Reservation {
                purses: Arc::clone(self),
                run: run.to_owned(),
                purse: Some(purse.id()),
                nanos: nanos.max(0),
                sent: false,
            };
            let taken = purse.take(trial, reservation.nanos);
            self.tell(purse);
            match taken {
                Ok(true) => return Ok(Some(reservation)),
                Ok(false) => {}
                Err(UsedUp) => {
                    drop(purses);
                    reservation.forget();
                    return Err(UsedUp);
                }
            }
            let ticket = purse.wait(trial, reservation.nanos);
            self.tell(purse);
            Waiting { reservation: Some(reservation), ticket }
        };
        waiting.end().await.map(Some)
    }

    /// The coordinator's word on the money of a run.
    pub fn fund(&self, run: &str, funds: Funds) {
        if let Some(purse) = self.lock().get_mut(run) {
            purse.fund(funds);
            self.tell(purse);
        }
        self.told.notify_waiters();
    }

    /// How many trials of each run this process holds, and how many of them run. Runs that are not listed have none.
    pub fn held(&self, trials: &BTreeMap<&str, (u64, u64)>) {
        for (run, purse) in &mut *self.lock() {
            let (held, running) = trials.get(run.as_str()).copied().unwrap_or_default();
            purse.hold(held, running);
            self.tell(purse);
        }
    }

    /// Whether there is no purse.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// A trial of the run made its last call.
    pub fn trial_over(&self, run: &str, trial: &str) {
        if let Some(purse) = self.lock().get_mut(run) {
            purse.hold_less(trial);
        }
    }

    /// Whether the money of the run is short: what runs may finish, and nothing else starts.
    #[must_use]
    pub fn is_short(&self, run: &str) -> bool {
        self.lock().get(run).is_some_and(Purse::is_short)
    }

    /// Returns once a purse has something new to say.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    /// What has changed since it was said.
    pub fn changed(&self) -> Vec<(String, Statement)> {
        let mut purses = self.lock();
        let changed = purses.iter_mut().filter(|(_, purse)| purse.has_news());
        changed.map(|(run, purse)| (run.clone(), purse.say())).collect()
    }

    /// What holds money, or has changed since it was said.
    pub fn all(&self) -> Vec<(String, Statement)> {
        let mut purses = self.lock();
        let all = purses.iter_mut().filter(|(_, purse)| purse.has_news() || purse.holds_money());
        all.map(|(run, purse)| (run.clone(), purse.say())).collect()
    }

    /// The purse of a run; `None`: it has no budget.
    pub fn of(&self, run: &str) -> Option<Statement> {
        self.lock().get_mut(run).map(Purse::say)
    }

    /// What was said may be lost: it is said again.
    pub fn say_again(&self) {
        self.lock().values_mut().for_each(Purse::forget_said);
        self.news.notify_one();
    }

    /// The session is over, and the coordinator counts its money as spent. Calls of that time settle nothing.
    pub fn forget(&self) {
        self.lock().clear();
        self.told.notify_waiters();
    }

    fn tell(&self, purse: &mut Purse) {
        if purse.has_news() {
            self.news.notify_one();
        }
    }

    /// Its numbers are consistent even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Purse>> {
        self.purses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// The call goes out now.
    pub fn sent(&mut self) {
        self.sent = true;
    }

    /// The call is over. `cost`: in nano-dollars; `None`: unknown, so all of it counts as spent.
    pub fn settle(self, cost: Option<i64>) {
        self.give_back(cost.unwrap_or(self.nanos));
        self.forget();
    }

    fn give_back(&self, cost: i64) {
        let mut purses = self.purses.lock();
        if let Some(purse) = purses.get_mut(&self.run).filter(|purse| Some(purse.id()) == self.purse) {
            purse.settle(self.nanos, cost.max(0));
            self.purses.tell(purse);
            drop(purses);
            self.purses.told.notify_waiters();
        }
    }

    /// Drops it without counting it as spent.
    fn forget(mut self) {
        self.purse = None;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.purse.is_some() {
            self.give_back(if self.sent { self.nanos } else { 0 });
        }
    }
}

/// A call that waits for money. Dropped, it takes nothing.
struct Waiting {
    reservation: Option<Reservation>,
    ticket: Ticket,
}

impl Waiting {
    async fn end(mut self) -> Result<Reservation, UsedUp> {
        loop {
            let Some(reservation) = &self.reservation else { return Err(UsedUp) };
            let purses = Arc::clone(&reservation.purses);
            let mut told = std::pin::pin!(purses.told.notified());
            // From here on no word is missed.
            told.as_mut().enable();
            let fate = {
                let mut purses = purses.lock();
                match purses.get_mut(&reservation.run).filter(|purse| Some(purse.id()) == reservation.purse) {
                    Some(purse) => purse.fate(self.ticket),
                    None => Fate::Refused,
                }
            };
            match fate {
                Fate::Given => return self.reservation.take().ok_or(UsedUp),
                Fate::Refused => {
                    self.reservation.take().into_iter().for_each(Reservation::forget);
                    return Err(UsedUp);
                }
                Fate::Waits => told.await,
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(reservation) = self.reservation.take() else { return };
        {
            let mut purses = reservation.purses.lock();
            if let Some(purse) = purses.get_mut(&reservation.run).filter(|purse| Some(purse.id()) == reservation.purse)
            {
                purse.give_up(self.ticket);
                reservation.purses.tell(purse);
            }
        }
        reservation.forget();
    }
}

#[cfg(test)]
mod tests;
