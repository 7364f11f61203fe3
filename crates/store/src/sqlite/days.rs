//! Requests a day. A run of one machine has a store of its own, so the count may be in another file, which such runs share.

use std::{path::PathBuf, time::Duration};

use sqlx::{
    ConnectOptions, Connection as _, SqliteConnection, query, query_scalar,
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};

use super::writer::Writing;
use crate::{
    Error,
    days::{self, Drawn, KEPT_DAYS},
    values::{bound, natural},
};

/// The table of the migration, for files that are no store.
const TABLE: &str = "create table if not exists day_requests (
    limit_name text not null, day integer not null, requests integer not null, primary key (limit_name, day)
) without rowid";
/// How long a process waits for another one that counts.
const PATIENCE: Duration = Duration::from_secs(10);

/// Draws in the store itself.
pub(super) async fn draw(mut writing: Writing<'_>, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
    let drawn = change(&mut writing.connection, limit, day, most, ask).await?;
    writing.commit().await?;
    Ok(drawn)
}

/// Draws in a file that many processes share. The connection is opened each time: draws are rare.
pub(super) async fn draw_in(path: &PathBuf, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
    if let Some(folder) = path.parent() {
        let shown = folder.display();
        tokio::fs::create_dir_all(folder).await.map_err(|error| Error::Unwritable(format!("{shown}: {error}")))?;
    }
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(PATIENCE)
        .disable_statement_logging()
        .connect()
        .await?;
    query("begin immediate").execute(&mut connection).await?;
    query(TABLE).execute(&mut connection).await?;
    // An error drops the connection, which rolls back.
    let drawn = change(&mut connection, limit, day, most, ask).await?;
    query("commit").execute(&mut connection).await?;
    connection.close().await?;
    Ok(drawn)
}

async fn change(connection: &mut SqliteConnection, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
    let given: Option<i64> = query_scalar("select requests from day_requests where limit_name = ?1 and day = ?2")
        .bind(limit)
        .bind(day)
        .fetch_optional(&mut *connection)
        .await?;
    let (given, drawn) = days::draw(natural(given.unwrap_or(0))?, most, ask);
    query(
        "insert into day_requests (limit_name, day, requests) values (?1, ?2, ?3)
         on conflict do update set requests = excluded.requests",
    )
    .bind(limit)
    .bind(day)
    .bind(bound(given))
    .execute(&mut *connection)
    .await?;
    query("delete from day_requests where day < ?1").bind(day - KEPT_DAYS).execute(connection).await?;
    Ok(drawn)
}
