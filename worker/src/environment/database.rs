//! Seeds a database before a trial: runs SQL files in order against SQLite or PostgreSQL. [`query`] reads it at the end.
//!
//! Scenarios are not trusted. Their SQL changes the database that the operator named. It cannot read or write files or
//! run programs on any machine, unless the operator trusts scenarios as much as the worker itself.

mod error;
mod postgres;
pub(crate) mod query;
mod sql;
mod sqlite;
mod strict;

use std::time::Duration;

use scenario::Seeding;
use secrecy::ExposeSecret as _;

pub use self::error::{Error, StatementPlace};

/// The time limit of one connection for all its files.
const TIME: Duration = Duration::from_secs(60);

/// Resolves an address of the settings: written out, or the name of the place that holds it (`env:NAME`, `file:PATH`).
/// From now on it is redacted everywhere.
///
/// # Errors
/// The variable or file cannot be read.
pub fn address(written: &str) -> Result<String, Error> {
    let address = match llm::key::KeyRef::parse(written) {
        Ok(place) => place.resolve().map_err(Error::Reference)?.expose_secret().to_owned(),
        Err(_) => written.to_owned(),
    };
    if let Some(password) = password_of(&address) {
        redact::register(&address);
        redact::register(password);
    }
    Ok(address)
}

/// What is wrong with an address in the settings, unless a variable holds the address.
#[must_use]
pub fn fault(written: &str) -> Option<String> {
    let is_fine = llm::key::KeyRef::parse(written).is_ok() || Engine::of(written).is_ok();
    (!is_fine).then(|| "begins with neither sqlite: nor postgres: nor postgresql:".to_owned())
}

#[derive(Debug, Clone, Copy)]
enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    fn of(address: &str) -> Result<Self, Error> {
        match address.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => Ok(Self::Sqlite),
            Some("postgres" | "postgresql") => Ok(Self::Postgres),
            _ => Err(Error::Scheme),
        }
    }
}

/// The password in `scheme://user:password@host/…`.
fn password_of(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let (user, _) = rest.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

/// Runs the files of one seeding in order, until a statement fails. `trusted`: the SQL is not restricted.
pub(super) async fn seed(address: &str, seeding: &Seeding, trusted: bool) -> Result<(), Error> {
    let filling = async {
        match Engine::of(address)? {
            Engine::Sqlite => sqlite::seed(address, seeding, trusted).await,
            Engine::Postgres => postgres::seed(address, seeding, trusted).await,
        }
    };
    tokio::time::timeout(TIME, filling).await.map_err(|_| Error::TimedOut(TIME))?
}

#[cfg(test)]
mod tests;
