//! A store under test, and how to close and open it again.

use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, sqlite::SqliteConnectOptions};
use store::{Fault, Memory, Postgres, Sqlite, Store};
use tempfile::TempDir;

pub(crate) trait Stand: Sized {
    type Store: Store;

    async fn new() -> Self;
    fn store(&self) -> &Self::Store;
    /// As after a restart of the process; the in-memory model has nothing to restore.
    async fn reopen(self) -> Self;
}

/// A store with tables, which a test can check and change.
pub(crate) trait Tables: Stand {
    /// The statement that adds a piece of no segment.
    const STRAY_PIECE: &'static str;

    /// Each fault, and where it is. Beside the store that has the tables open.
    async fn audit(&self) -> Vec<(&'static str, String)>;
    async fn change(&self, statement: &str);
    /// The statement that takes the last of two pieces from the first segment of a session.
    fn lose_piece(session: u64) -> String;
}

fn places(faults: Vec<Fault>) -> Vec<(&'static str, String)> {
    faults.into_iter().map(|fault| (fault.what, fault.place)).collect()
}

pub(crate) struct InMemory(Memory);

impl Stand for InMemory {
    type Store = Memory;

    async fn new() -> Self {
        Self(Memory::new())
    }

    fn store(&self) -> &Memory {
        &self.0
    }

    async fn reopen(self) -> Self {
        self
    }
}

pub(crate) struct OnDisk {
    store: Sqlite,
    folder: TempDir,
}

impl Stand for OnDisk {
    type Store = Sqlite;

    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("gabfest.db")).await.unwrap();
        Self { store, folder }
    }

    fn store(&self) -> &Sqlite {
        &self.store
    }

    /// Dropped, not closed: the files of a killed process must be enough.
    async fn reopen(self) -> Self {
        let Self { store, folder } = self;
        drop(store);
        let store = Sqlite::open(&folder.path().join("gabfest.db")).await.unwrap();
        Self { store, folder }
    }
}

impl Tables for OnDisk {
    const STRAY_PIECE: &'static str = "insert into piece (key, payload) select max(key) + 9, x'' from piece";

    async fn audit(&self) -> Vec<(&'static str, String)> {
        places(self.store.audit().await.unwrap())
    }

    async fn change(&self, statement: &str) {
        let options = SqliteConnectOptions::new().filename(self.folder.path().join("gabfest.db"));
        let mut connection = options.foreign_keys(false).connect().await.unwrap();
        let changed = sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
        assert!(changed.rows_affected() > 0, "{statement}");
        connection.close().await.unwrap();
    }

    fn lose_piece(session: u64) -> String {
        format!(
            "delete from piece where key = (
                 select first_piece + pieces - 1 from segment where session = {session} and sequence = 1)"
        )
    }
}

/// A schema of its own in the database that `GABFEST_POSTGRES` names.
pub(crate) struct OnServer {
    store: Postgres,
    address: String,
}

impl OnServer {
    /// The address of the server; without one its tests are skipped.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    pub(crate) fn server() -> Option<String> {
        let server = std::env::var("GABFEST_POSTGRES").ok();
        if server.is_none() {
            eprintln!("SKIPPED: a test on PostgreSQL, GABFEST_POSTGRES is not set");
        }
        server
    }

    /// The address of a new, empty schema.
    pub(crate) async fn schema(server: &str) -> String {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let schema = format!("store_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let mut connection = PgConnection::connect(server).await.unwrap();
        let create = format!("drop schema if exists {schema} cascade; create schema {schema}");
        sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let more = if server.contains('?') { '&' } else { '?' };
        format!("{server}{more}options[search_path]={schema}")
    }
}

/// As if the holder of the store had been silent for longer than its duty lasts.
pub(crate) async fn expire_duty(address: &str) {
    let mut connection = PgConnection::connect(address).await.unwrap();
    // With another epoch, so that a holder that is still there does not renew it in between.
    let expire = "update duty set epoch = epoch + 1, lease_until = clock_timestamp() - interval '1 second'";
    sqlx::query(expire).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

impl Stand for OnServer {
    type Store = Postgres;

    async fn new() -> Self {
        let address = Self::schema(&Self::server().unwrap()).await;
        let store = Postgres::open(&address, "test").await.unwrap();
        Self { store, address }
    }

    fn store(&self) -> &Postgres {
        &self.store
    }

    /// Dropped, not closed, as after a kill.
    async fn reopen(self) -> Self {
        let Self { store, address } = self;
        drop(store);
        expire_duty(&address).await;
        let store = Postgres::open(&address, "test").await.unwrap();
        Self { store, address }
    }
}

impl Tables for OnServer {
    const STRAY_PIECE: &'static str = "insert into piece (session, sequence, place, payload) values (50, 1, 0, '')";

    async fn audit(&self) -> Vec<(&'static str, String)> {
        places(Postgres::read(&self.address).await.unwrap().audit().await.unwrap())
    }

    async fn change(&self, statement: &str) {
        let mut connection = PgConnection::connect(&self.address).await.unwrap();
        let changed = sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
        assert!(changed.rows_affected() > 0, "{statement}");
        connection.close().await.unwrap();
    }

    fn lose_piece(session: u64) -> String {
        format!("delete from piece where session = {session} and sequence = 1 and place = 1")
    }
}
