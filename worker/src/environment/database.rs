//! Filling a database before a trial: SQL files, run in order against SQLite or PostgreSQL.
//!
//! Scenarios come from others. Their SQL fills the database that the operator named. It reads and writes no file and
//! runs no program, on no machine, unless the operator trusts scenarios like the worker itself.

mod postgres;
mod sql;
mod sqlite;
mod strict;

use std::time::Duration;

use scenario::Seeding;
use secrecy::ExposeSecret as _;

/// For one connection with all its files.
const TIME: Duration = Duration::from_secs(60);

/// No address is ever shown: it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("resolve its address: {0}")]
    Reference(#[source] llm::key::Error),
    #[error("read its address: it begins with neither sqlite: nor postgres: nor postgresql:")]
    Scheme,
    #[error("read its address: it has an option `{0}` that SQLite does not know")]
    Option(String),
    #[error("read its address: {0}")]
    Address(#[source] sqlx::Error),
    #[error("connect: {0}")]
    Connect(#[source] sqlx::Error),
    #[error("connect: {0}")]
    OpenSqlite(#[source] rusqlite::Error),
    #[error("run {file}, {place}: {source}")]
    Statement { file: String, place: Place, source: sqlx::Error },
    #[error("run {file}, {place}: {source}")]
    Sqlite { file: String, place: Place, source: rusqlite::Error },
    #[error(
        "run {file}, {place}: {what} is refused, as SQL of a scenario may reach no file and no program; only a worker \
         with `--allow-exec=host` runs it"
    )]
    Refused { file: String, place: Place, what: String },
    #[error(
        "run {file}, {place}: {what} is refused, as the role of this connection may reach the server's files and \
         programs; use a role without such rights, or a worker with `--allow-exec=host`"
    )]
    RefusedToRole { file: String, place: Place, what: String },
    #[error("run its files: the thread stopped")]
    Stopped,
    #[error("finish within {} s", TIME.as_secs())]
    TimedOut,
}

/// Where in a file a statement failed, as exactly as the database says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub statement: u64,
    /// From 1; SQLite does not tell.
    pub line: Option<usize>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "statement {}", self.statement)?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

/// The address that settings give: written out, or the name of the place that holds it (`env:NAME`, `file:PATH`).
/// From now on no sink shows it.
///
/// # Errors
/// When the variable or file cannot be read.
pub fn address(written: &str) -> Result<String, Error> {
    let address = match llm::key::KeyRef::parse(written) {
        Ok(place) => place.resolve().map_err(Error::Reference)?.expose_secret().to_owned(),
        Err(_) => written.to_owned(),
    };
    if let Some(password) = password_of(&address) {
        telemetry::register(&address);
        telemetry::register(password);
    }
    Ok(address)
}

/// Of `scheme://user:password@host/…`.
fn password_of(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let (user, _) = rest.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

/// Runs the files of one seeding in order; the first statement that fails ends it. What is `trusted` may do everything.
pub(super) async fn seed(address: &str, seeding: &Seeding, trusted: bool) -> Result<(), Error> {
    let filling = async {
        match address.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => sqlite::seed(address, seeding, trusted).await,
            Some("postgres" | "postgresql") => postgres::seed(address, seeding, trusted).await,
            _ => Err(Error::Scheme),
        }
    };
    tokio::time::timeout(TIME, filling).await.map_err(|_| Error::TimedOut)?
}

#[cfg(test)]
mod tests;
