//! A coordinator's connection to a database that another one may hold.

use sqlx::PgPool;

use super::{
    Postgres,
    duty::{self, Duty},
    open, schema,
    server::Server,
};
use crate::{Error, Holder};

#[derive(Debug, Clone)]
pub struct Candidate {
    pool: PgPool,
}

impl Candidate {
    /// Connects to the database at `address`, and changes nothing there. [`Error::Version`] if a newer gabfest made its tables.
    pub async fn connect(address: &str) -> Result<Self, Error> {
        Ok(Self { pool: open::connect(address).await? })
    }

    /// Who holds the store; `None` if nobody ever did.
    pub async fn look(&self) -> Result<Option<Holder>, Error> {
        duty::look(&self.pool).await
    }

    /// Takes the store over if it is free, and brings its tables to this version. `name` and `address` tell others who holds it,
    /// and where. [`Error::InUse`] if another coordinator holds it, [`Error::Version`] if this program cannot use it.
    pub async fn take(&self, name: &str, address: &str) -> Result<Postgres, Error> {
        if !open::has_tables(&self.pool).await? {
            open::migrate(&self.pool).await?;
        }
        schema::of(&self.pool).await?;
        let duty = Duty::take(&self.pool, name).await?;
        // Only now: an older holder used the tables as they were.
        open::migrate(&self.pool).await?;
        duty.advertise(&self.pool, address).await?;
        Ok(Postgres { server: Server { pool: self.pool.clone(), duty } })
    }
}
