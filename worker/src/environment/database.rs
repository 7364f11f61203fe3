//! Filling a database before a trial: SQL files, run in order against SQLite or PostgreSQL.

use std::{str::FromStr as _, time::Duration};

use futures_util::{TryStreamExt as _, stream::BoxStream};
use scenario::Seeding;
use secrecy::ExposeSecret as _;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _,
    postgres::{PgConnectOptions, PgDatabaseError, PgErrorPosition},
    sqlite::SqliteConnectOptions,
};

/// For one connection with all its files.
const TIME: Duration = Duration::from_secs(60);

/// No address is ever shown: it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("resolve its address: {0}")]
    Reference(#[source] llm::key::Error),
    #[error("read its address: it begins with neither sqlite: nor postgres: nor postgresql:")]
    Scheme,
    #[error("read its address: {0}")]
    Address(#[source] sqlx::Error),
    #[error("connect: {0}")]
    Connect(#[source] sqlx::Error),
    #[error("run {file}, {place}: {source}")]
    Statement { file: String, place: Place, source: sqlx::Error },
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

/// Runs the files of one seeding in order; the first statement that fails ends it.
pub(super) async fn seed(address: &str, seeding: &Seeding) -> Result<(), Error> {
    tokio::time::timeout(TIME, connect_and_run(address, seeding)).await.map_err(|_| Error::TimedOut)?
}

async fn connect_and_run(address: &str, seeding: &Seeding) -> Result<(), Error> {
    match address.split_once(':').map(|(scheme, _)| scheme) {
        Some("sqlite") => {
            let options = SqliteConnectOptions::from_str(address).map_err(Error::Address)?;
            let options = options.create_if_missing(true).disable_statement_logging();
            let mut connection = options.connect().await.map_err(Error::Connect)?;
            for (file, sql) in &seeding.files {
                let done = connection.fetch_many(sqlx::raw_sql(AssertSqlSafe(sql.clone())));
                run(file, sql, done).await?;
            }
            connection.close().await.map_err(Error::Connect)
        }
        Some("postgres" | "postgresql") => {
            let options = PgConnectOptions::from_str(address).map_err(Error::Address)?.disable_statement_logging();
            let mut connection = options.connect().await.map_err(Error::Connect)?;
            for (file, sql) in &seeding.files {
                let done = connection.fetch_many(sqlx::raw_sql(AssertSqlSafe(sql.clone())));
                run(file, sql, done).await?;
            }
            connection.close().await.map_err(Error::Connect)
        }
        _ => Err(Error::Scheme),
    }
}

/// Counts the statements that are done, to name the one that is not.
async fn run<D, R>(
    file: &str,
    sql: &str,
    mut results: BoxStream<'_, Result<sqlx::Either<D, R>, sqlx::Error>>,
) -> Result<(), Error> {
    let mut done = 0;
    loop {
        match results.try_next().await {
            Ok(Some(sqlx::Either::Left(_))) => done += 1,
            Ok(Some(sqlx::Either::Right(_))) => {}
            Ok(None) => return Ok(()),
            Err(source) => {
                let place = Place { statement: done + 1, line: line_of(&source, sql) };
                return Err(Error::Statement { file: file.to_owned(), place, source });
            }
        }
    }
}

/// PostgreSQL gives the character, from 1, in what it was sent.
fn line_of(error: &sqlx::Error, sql: &str) -> Option<usize> {
    let error = error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()?;
    match error.position()? {
        PgErrorPosition::Original(character) => {
            Some(1 + sql.chars().take(character.saturating_sub(1)).filter(|&character| character == '\n').count())
        }
        PgErrorPosition::Internal { .. } => None,
    }
}

#[cfg(test)]
mod tests;
