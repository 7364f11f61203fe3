//! The one connection that writes.
//!
//! Not a pool and not sqlx's transactions: SQLite may roll back by itself when the disk is full, sqlx would go on
//! believing in the transaction, and the connection could never begin another. Here a transaction that is not
//! brought to its end, by an error or because its future was dropped, takes its connection with it.

use sqlx::{ConnectOptions, Connection, SqliteConnection, query, sqlite::SqliteConnectOptions};
use tokio::sync::{Mutex, MutexGuard};

use crate::Error;

#[derive(Debug)]
pub(super) struct Writer {
    options: SqliteConnectOptions,
    /// `None` after a transaction that failed.
    idle: Mutex<Option<SqliteConnection>>,
}

/// A transaction that is going on.
#[derive(Debug)]
pub(super) struct Writing<'a> {
    pub(super) connection: SqliteConnection,
    idle: MutexGuard<'a, Option<SqliteConnection>>,
}

impl Writer {
    pub(super) fn new(options: SqliteConnectOptions, connection: SqliteConnection) -> Self {
        Self { options, idle: Mutex::new(Some(connection)) }
    }

    pub(super) async fn begin(&self) -> Result<Writing<'_>, Error> {
        let mut idle = self.idle.lock().await;
        let mut connection = match idle.take() {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        query("begin immediate").execute(&mut connection).await?;
        Ok(Writing { connection, idle })
    }

    pub(super) async fn close(self) -> Result<(), Error> {
        match self.idle.into_inner() {
            Some(connection) => Ok(connection.close().await?),
            None => Ok(()),
        }
    }
}

impl Writing<'_> {
    pub(super) async fn commit(self) -> Result<(), Error> {
        self.end("commit").await
    }

    /// For a transaction that turned out to have nothing to write.
    pub(super) async fn roll_back(self) -> Result<(), Error> {
        self.end("rollback").await
    }

    async fn end(mut self, statement: &'static str) -> Result<(), Error> {
        query(statement).execute(&mut self.connection).await?;
        *self.idle = Some(self.connection);
        Ok(())
    }
}
