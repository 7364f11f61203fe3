//! The right to write: one coordinator has it, for as long as it renews it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{PgConnection, PgPool, query, query_scalar};
use tokio::task::JoinHandle;

use crate::Error;

/// After so long without a renewal another coordinator may take over, by the clock of the database.
pub(super) const TTL: Duration = Duration::from_secs(10);
const BETWEEN_RENEWALS: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Duty {
    epoch: i64,
    /// Another coordinator has taken over.
    lost: Arc<AtomicBool>,
    renewing: JoinHandle<()>,
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
        let renewing = tokio::spawn(renew(pool.clone(), epoch, Arc::clone(&lost)));
        Ok(Self { epoch, lost, renewing })
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

/// Until another coordinator has taken over. A server that does not answer changes nothing: the next renewal may succeed.
async fn renew(pool: PgPool, epoch: i64, lost: Arc<AtomicBool>) {
    let mut renewals = tokio::time::interval(BETWEEN_RENEWALS);
    renewals.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        renewals.tick().await;
        let renewed = query(
            "update duty set lease_until = clock_timestamp() + make_interval(secs => $2)
             where name = 'coordinator' and epoch = $1",
        )
        .bind(epoch)
        .bind(TTL.as_secs_f64())
        .execute(&pool)
        .await;
        match renewed {
            Ok(done) if done.rows_affected() == 0 => return lost.store(true, Ordering::Relaxed),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "failed to renew the duty of the coordinator"),
        }
    }
}
