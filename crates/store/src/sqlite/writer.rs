//! The only connection that writes.
//!
//! It is not a pool and does not use sqlx's transactions. SQLite may roll back by itself when the disk is full; sqlx would
//! still assume an open transaction, and the connection could never begin another. Here a transaction that does not end,
//! because of an error or a dropped future, takes its connection with it, and the next one opens a new connection.

use sqlx::{ConnectOptions, Connection, SqliteConnection, query, sqlite::SqliteConnectOptions};
use tokio::sync::{Mutex, MutexGuard};

use super::file_identity::FileIdentity;
use crate::Error;

#[derive(Debug)]
pub(super) struct Writer {
    options: SqliteConnectOptions,
    file: FileIdentity,
    /// `None` after a failed transaction.
    idle: Mutex<Option<SqliteConnection>>,
}

/// An open transaction.
#[derive(Debug)]
pub(super) struct Writing<'a> {
    pub(super) connection: SqliteConnection,
    idle: MutexGuard<'a, Option<SqliteConnection>>,
}

impl Writer {
    pub(super) fn new(options: SqliteConnectOptions, connection: SqliteConnection, file: FileIdentity) -> Self {
        Self { options, file, idle: Mutex::new(Some(connection)) }
    }

    /// Whether the file is still at its path.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.file.check()
    }

    pub(super) async fn begin(&self) -> Result<Writing<'_>, Error> {
        self.check()?;
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

    /// Ends a transaction without changes.
    pub(super) async fn roll_back(self) -> Result<(), Error> {
        self.end("rollback").await
    }

    async fn end(mut self, statement: &'static str) -> Result<(), Error> {
        query(statement).execute(&mut self.connection).await?;
        *self.idle = Some(self.connection);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use record::summary::RunState;
    use scenario::{Digest, RunId};

    use super::*;
    use crate::{RunRow, Sqlite, Store};

    #[tokio::test]
    async fn a_full_file_is_reported_and_the_writer_continues() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("gabfest.db")).await.unwrap();
        let run = RunRow {
            id: RunId::new("run"),
            name: "run".into(),
            plan_digest: Digest::new("digest"),
            seed: 1,
            planned: 1,
            state: RunState::Running,
            started_at: 1,
            ended_at: None,
            version: "0".into(),
            exhausted: false,
            max_cost: None,
            preflight: record::call::Spend::default(),
        };
        // As on a full disk, SQLite rolls this back itself, without the caller's knowledge.
        let mut writing = store.writer.begin().await.unwrap();
        query("pragma max_page_count = 30").execute(&mut writing.connection).await.unwrap();
        writing.commit().await.unwrap();
        let refusal = store.create_run(&run, &[7; 1 << 20]).await.unwrap_err();
        assert!(matches!(&refusal, Error::Unwritable(reason) if reason.contains("full")), "{refusal}");
        assert_eq!(store.run(&run.id).await.unwrap(), None);

        // The next connection has no such limit.
        store.create_run(&run, &[7; 1 << 20]).await.unwrap();
        assert_eq!(store.run(&run.id).await.unwrap(), Some(run));
    }
}
