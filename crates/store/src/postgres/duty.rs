//! The right to write: one coordinator has it, for as long as it renews it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{ConnectOptions as _, PgConnection, PgPool, query, query_as, query_scalar};
use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use crate::Error;

/// After so long without a renewal another coordinator may take over, by the clock of the database. With the time between two
/// looks of the others and the start of the next holder it stays below 5 s.
pub(super) const TTL: Duration = Duration::from_secs(3);
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

/// How firmly the holder holds the store, by the clock of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Held,
    /// It has not renewed it in time.
    Expired,
    /// It has given it up.
    Released,
}

#[derive(Debug)]
pub(super) struct Duty {
    epoch: i64,
    /// Another coordinator has taken over.
    lost: Arc<AtomicBool>,
    renewed: Arc<Mutex<Instant>>,
    renewing: JoinHandle<()>,
}

/// `None`: nobody has ever held it.
pub(super) async fn look(pool: &PgPool) -> Result<Option<Holder>, Error> {
    if !super::open::has_tables(pool).await? {
        return Ok(None);
    }
    // An older schema has no address.
    let row: Option<(String, Option<String>, i64, bool, bool)> = query_as(
        "select holder, to_jsonb(duty) ->> 'address', epoch, lease_until < clock_timestamp(), lease_until = '-infinity'
         from duty where name = 'coordinator'",
    )
    .fetch_optional(pool)
    .await?;
    Ok(row.map(|(name, address, epoch, is_over, is_released)| {
        let hold = match (is_over, is_released) {
            (_, true) => Hold::Released,
            (true, _) => Hold::Expired,
            _ => Hold::Held,
        };
        Holder { name, address: address.unwrap_or_default(), epoch, hold }
    }))
}

impl Duty {
    /// [`Error::InUse`] with the name of the holder if another coordinator has it.
    pub(super) async fn take(pool: &PgPool, holder: &str) -> Result<Self, Error> {
        // Two coordinators that start at once wait for each other at the row.
        let epoch: Option<i64> = query_scalar(
            "insert into duty (name, holder, epoch, lease_until)
             values ('coordinator', $1, 1, clock_timestamp() + make_interval(secs => $2))
             on conflict (name) do update set
                 holder = excluded.holder, epoch = duty.epoch + 1,
                 lease_until = clock_timestamp() + make_interval(secs => $2)
             where duty.lease_until < clock_timestamp()
             returning epoch",
        )
        .bind(holder)
        .bind(TTL.as_secs_f64())
        .fetch_optional(pool)
        .await?;
        let Some(epoch) = epoch else {
            let holder: Option<String> =
                query_scalar("select holder from duty where name = 'coordinator'").fetch_optional(pool).await?;
            return Err(Error::InUse(format!("the store of coordinator {}", holder.unwrap_or_default())));
        };
        let lost = Arc::new(AtomicBool::new(false));
        let renewed = Arc::new(Mutex::new(Instant::now()));
        let renewing = tokio::spawn(renew(pool.clone(), epoch, Arc::clone(&lost), Arc::clone(&renewed)));
        Ok(Self { epoch, lost, renewed, renewing })
    }

    /// Says where others reach the holder.
    pub(super) async fn advertise(&self, pool: &PgPool, address: &str) -> Result<(), Error> {
        query("update duty set address = $2 where name = 'coordinator' and epoch = $1")
            .bind(self.epoch)
            .bind(address)
            .execute(pool)
            .await?;
        Ok(())
    }

    /// How long ago it was renewed. Beyond [`TTL`] another coordinator may have taken over.
    pub(super) fn silent_for(&self) -> Duration {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Of a reader: nothing can be written.
    pub(super) fn none() -> Self {
        let (lost, renewed) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(Instant::now())));
        Self { epoch: 0, lost, renewed, renewing: tokio::spawn(async {}) }
    }

    /// Keeps others from taking over before this transaction ends.
    pub(super) async fn hold(&self, writing: &mut PgConnection) -> Result<(), Error> {
        self.check()?;
        let held: Option<i32> = query_scalar("select 1 from duty where name = 'coordinator' and epoch = $1 for share")
            .bind(self.epoch)
            .fetch_optional(writing)
            .await?;
        if held.is_none() {
            self.lost.store(true, Ordering::Relaxed);
        }
        self.check()
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        match self.lost.load(Ordering::Relaxed) {
            true => Err(Error::Gone("another coordinator has taken over".to_owned())),
            false => Ok(()),
        }
    }

    /// Gives it up.
    pub(super) async fn release(&self, pool: &PgPool) -> Result<(), Error> {
        self.renewing.abort();
        self.lost.store(true, Ordering::Relaxed);
        query("update duty set lease_until = '-infinity' where name = 'coordinator' and epoch = $1")
            .bind(self.epoch)
            .execute(pool)
            .await?;
        Ok(())
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

/// Until another coordinator has taken over. A server that does not answer changes nothing: the next renewal may succeed. It
/// has a connection of its own, so that it never waits for readers.
async fn renew(pool: PgPool, epoch: i64, lost: Arc<AtomicBool>, renewed: Arc<Mutex<Instant>>) {
    let mut renewals = interval(BETWEEN_RENEWALS);
    renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut open: Option<PgConnection> = None;
    loop {
        renewals.tick().await;
        // The time before the statement: the database counts from a later one.
        let asked = Instant::now();
        match timeout(RENEWED_WITHIN, once(&pool, open.take(), epoch)).await {
            Ok(Ok((_, 0))) => return lost.store(true, Ordering::Relaxed),
            Ok(Ok((connection, _))) => {
                *renewed.lock().unwrap_or_else(PoisonError::into_inner) = asked;
                open = Some(connection);
            }
            Ok(Err(error)) => tracing::warn!(%error, "failed to renew the duty of the coordinator"),
            Err(_) => tracing::warn!("the store does not renew the duty of the coordinator in time"),
        }
    }
}

/// Returns how many rows it renewed: 0 if the duty has another epoch or was given up. A renewal on its way to the server outlives
/// its task, and must not take back what was given up meanwhile.
async fn once(pool: &PgPool, open: Option<PgConnection>, epoch: i64) -> Result<(PgConnection, u64), sqlx::Error> {
    let mut connection = match open {
        Some(connection) => connection,
        None => pool.connect_options().connect().await?,
    };
    let renewed = query(
        "update duty set lease_until = clock_timestamp() + make_interval(secs => $2)
         where name = 'coordinator' and epoch = $1 and lease_until > '-infinity'",
    )
    .bind(epoch)
    .bind(TTL.as_secs_f64())
    .execute(&mut connection)
    .await?;
    Ok((connection, renewed.rows_affected()))
}
