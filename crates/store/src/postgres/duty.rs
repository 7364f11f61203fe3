//! The row with the duty of the coordinator in charge.

use sqlx::{ConnectOptions as _, PgConnection, PgPool, query, query_as, query_scalar};

use crate::{
    Error,
    duty::{Hold, Holder, Renew, TTL, Term, held_by},
};

#[derive(Debug)]
pub(super) struct Duty {
    epoch: i64,
    term: Term,
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
            return Err(held_by(&holder.unwrap_or_default()));
        };
        Ok(Self { epoch, term: Term::begin(Renewal { pool: pool.clone(), epoch, open: None }) })
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

    pub(super) fn term(&self) -> &Term {
        &self.term
    }

    /// Of a reader: nothing can be written.
    pub(super) fn none() -> Self {
        Self { epoch: 0, term: Term::over() }
    }

    /// Keeps others from taking over before this transaction ends.
    pub(super) async fn hold(&self, writing: &mut PgConnection) -> Result<(), Error> {
        self.term.check()?;
        let held: Option<i32> = query_scalar("select 1 from duty where name = 'coordinator' and epoch = $1 for share")
            .bind(self.epoch)
            .fetch_optional(writing)
            .await?;
        if held.is_none() {
            self.term.lose();
        }
        self.term.check()
    }

    /// Gives it up.
    pub(super) async fn release(&self, pool: &PgPool) -> Result<(), Error> {
        self.term.end();
        query("update duty set lease_until = '-infinity' where name = 'coordinator' and epoch = $1")
            .bind(self.epoch)
            .execute(pool)
            .await?;
        Ok(())
    }
}

/// It has a connection of its own, so that it never waits for readers.
struct Renewal {
    pool: PgPool,
    epoch: i64,
    open: Option<PgConnection>,
}

impl Renew for Renewal {
    /// A renewal on its way to the server outlives its task, and must not take back what was given up meanwhile.
    async fn renew(&mut self) -> Result<bool, Error> {
        // A connection whose answer did not come is dropped.
        let mut connection = match self.open.take() {
            Some(connection) => connection,
            None => self.pool.connect_options().connect().await?,
        };
        let renewed = query(
            "update duty set lease_until = clock_timestamp() + make_interval(secs => $2)
             where name = 'coordinator' and epoch = $1 and lease_until > '-infinity'",
        )
        .bind(self.epoch)
        .bind(TTL.as_secs_f64())
        .execute(&mut connection)
        .await?;
        self.open = Some(connection);
        fail::fail_point!("duty-renewed");
        Ok(renewed.rows_affected() > 0)
    }
}
