//! The right to write: of several coordinators one has it, for as long as it renews it.
//!
//! The row with the duty is the engine's; each write checks it in its own transaction. This file has what is the same for every
//! engine: who holds it, the traits by which a coordinator takes and keeps it, and its renewal.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use crate::{Error, Store};

/// After so long without a renewal another coordinator may take over, by the clock of the store. With the time between two
/// looks of the others and the start of the next holder it stays below 5 s.
pub const TTL: Duration = Duration::from_secs(3);
/// Several fit into the TTL, so that one that fails or waits costs nothing.
const BETWEEN_RENEWALS: Duration = Duration::from_millis(500);
const RENEWED_WITHIN: Duration = Duration::from_secs(2);

/// The coordinator that holds the store, or held it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub name: String,
    /// Where others reach it, as a URL; empty if it named no address.
    pub address: String,
    /// Grows with each change of the holder.
    pub epoch: i64,
    /// How another may take over.
    pub hold: Hold,
}

/// How firmly the holder holds the store, by the clock of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Held,
    /// It has not renewed it in time.
    Expired,
    /// It has given it up.
    Released,
}

/// A coordinator's way to a store that another one may hold.
pub trait Contender: Send + Sync {
    type Store: Held;

    /// Who holds the store; `None` if nobody ever did.
    fn look(&self) -> impl Future<Output = Result<Option<Holder>, Error>> + Send;

    /// Takes the store over if it is free. `name` and `address` tell others who holds it, and where. [`Error::InUse`] if another
    /// coordinator holds it.
    fn take(&self, name: &str, address: &str) -> impl Future<Output = Result<Self::Store, Error>> + Send;
}

/// A store as the coordinator in charge has it. If another one took it over, each write is [`Error::TakenOver`].
pub trait Held: Store {
    /// How long ago the hold was renewed; beyond [`TTL`] another coordinator may have taken over. `None`: nobody else can.
    fn silent_for(&self) -> Option<Duration>;

    /// Lets the next coordinator take the store at once, instead of after the holder's silence. Later writes are refused.
    fn hand_over(&self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Extends a hold.
pub trait Renew: Send + 'static {
    /// By [`TTL`] from now, by the clock of the store. `false`: the duty has another epoch, or was given up.
    fn renew(&mut self) -> impl Future<Output = Result<bool, Error>> + Send;
}

/// The time in charge, renewed until another coordinator has taken over.
#[derive(Debug)]
pub struct Term {
    /// Another coordinator has taken over.
    lost: Arc<AtomicBool>,
    renewed: Arc<Mutex<Instant>>,
    renewing: JoinHandle<()>,
}

impl Term {
    /// The duty was just taken.
    pub fn begin(renewal: impl Renew) -> Self {
        let lost = Arc::new(AtomicBool::new(false));
        let renewed = Arc::new(Mutex::new(Instant::now()));
        let renewing = tokio::spawn(keep_renewing(renewal, Arc::clone(&lost), Arc::clone(&renewed)));
        Self { lost, renewed, renewing }
    }

    /// Of a reader: nothing can be written.
    #[must_use]
    pub fn over() -> Self {
        let (lost, renewed) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(Instant::now())));
        Self { lost, renewed, renewing: tokio::spawn(async {}) }
    }

    /// How long ago it was renewed.
    #[must_use]
    pub fn silent_for(&self) -> Duration {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// The store has another holder.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// [`Error::TakenOver`] if it is over.
    pub fn check(&self) -> Result<(), Error> {
        match self.lost.load(Ordering::Relaxed) {
            true => Err(Error::TakenOver),
            false => Ok(()),
        }
    }

    /// It is given up.
    pub fn end(&self) {
        self.renewing.abort();
        self.lose();
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

/// Of a try to take a store that `holder` holds.
pub(crate) fn held_by(holder: &str) -> Error {
    Error::InUse(format!("the store of coordinator {holder}"))
}

/// Until another coordinator has taken over. A store that does not answer changes nothing: the next renewal may succeed.
async fn keep_renewing(mut renewal: impl Renew, lost: Arc<AtomicBool>, renewed: Arc<Mutex<Instant>>) {
    let mut renewals = interval(BETWEEN_RENEWALS);
    renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        renewals.tick().await;
        // The time before the statement: the store counts from a later one.
        let asked = Instant::now();
        match timeout(RENEWED_WITHIN, renewal.renew()).await {
            Ok(Ok(false)) => return lost.store(true, Ordering::Relaxed),
            Ok(Ok(true)) => *renewed.lock().unwrap_or_else(PoisonError::into_inner) = asked,
            Ok(Err(error)) => tracing::warn!(%error, "failed to renew the duty of the coordinator"),
            Err(_) => tracing::warn!("the store does not renew the duty of the coordinator in time"),
        }
    }
}
