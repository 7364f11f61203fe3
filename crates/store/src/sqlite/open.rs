//! Opens the store: checks that the file is a store, that no other process has it open, and migrates its schema.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
    time::Duration,
};

use sqlx::{
    ConnectOptions, SqlSafeStr, SqliteConnection, SqlitePool,
    migrate::{Migration, MigrationType, Migrator},
    query, query_scalar,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous},
};

use super::{Sqlite, file_identity::FileIdentity, writer::Writer};
use crate::{Error, Schema};

/// Set by the first migration: "gabf".
const APPLICATION_ID: i64 = 0x6761_6266;
const READERS: u32 = 4;
/// How many pages of the log (16 MiB) are written back into the file at once. A page that several commits changed is
/// then written once.
const CHECKPOINT_PAGES: &str = "4096";

/// The connections of an open store, and its lock.
pub(super) struct Opened {
    pub(super) writer: Writer,
    pub(super) readers: SqlitePool,
    pub(super) lock: File,
}

pub(super) async fn open(path: &Path) -> Result<Opened, Error> {
    let lock = lock(path)?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .busy_timeout(Duration::from_secs(5))
        .thread_name(|_| Sqlite::THREAD.to_owned())
        .disable_statement_logging();
    let connection = prepare(&options).await.map_err(|error| named(path, error))?;
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        // Open connections keep working if the process has no free descriptor for another one.
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_lazy_with(options.clone().create_if_missing(false).read_only(true));
    Ok(Opened { writer: Writer::new(options, connection, FileIdentity::of(path)?), readers, lock })
}

/// The schema of a file, which is only read.
pub(super) async fn schema(path: &Path) -> Result<Schema, Error> {
    let unreadable = |error: std::io::Error| Error::Unwritable(format!("{}: {error}", path.display()));
    fs::metadata(path).map_err(unreadable)?;
    let options = SqliteConnectOptions::new().filename(path).read_only(true).disable_statement_logging();
    let read = async {
        let mut connection = options.connect().await?;
        whose(&mut connection).await?;
        let known: i64 = query_scalar("select count(*) from sqlite_schema where name = '_sqlx_migrations'")
            .fetch_one(&mut connection)
            .await?;
        let applied: Vec<i64> = match known {
            0 => Vec::new(),
            _ => query_scalar("select version from _sqlx_migrations where success").fetch_all(&mut connection).await?,
        };
        Schema::of(&migrations(), &applied)
    };
    read.await.map_err(|error| named(path, error))
}

/// Held as long as the file is open. The system releases it when the process dies.
fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let shown = Path::new(&name).display();
    let unwritable = |error: std::io::Error| Error::Unwritable(format!("{shown}: {error}"));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(&name).map_err(unwritable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse(path.display().to_string())),
        Err(TryLockError::Error(error)) => Err(unwritable(error)),
    }
}

/// The first connection, after checking that the file is a store and has this program's schema.
async fn prepare(options: &SqliteConnectOptions) -> Result<SqliteConnection, Error> {
    let mut connection = options.connect().await?;
    whose(&mut connection).await?;
    // Stored in the file, so it is set once and not by every connection.
    query("pragma journal_mode = wal").execute(&mut connection).await?;
    // One transaction for all: each alone would wait for the disk, and a file that is killed has all or none of them.
    query("begin immediate").execute(&mut connection).await?;
    migrations().run(&mut connection).await.map_err(crate::refusal::of_migration)?;
    query("commit").execute(&mut connection).await?;
    Ok(connection)
}

/// A file of another program must not become a store. A file with only the table of migrations is a store whose
/// creation an older gabfest did not end: the first migration sets the application id.
async fn whose(connection: &mut SqliteConnection) -> Result<(), Error> {
    let application: i64 = query_scalar("pragma application_id").fetch_one(&mut *connection).await?;
    let tables: i64 = query_scalar("select count(*) from sqlite_schema where tbl_name <> '_sqlx_migrations'")
        .fetch_one(connection)
        .await?;
    match (application, tables) {
        (APPLICATION_ID, _) | (0, 0) => Ok(()),
        _ => Err(Error::Version("belongs to another program".to_owned())),
    }
}

fn named(path: &Path, error: Error) -> Error {
    let name = path.display();
    match error {
        Error::Unwritable(reason) => Error::Unwritable(format!("{name}: {reason}")),
        Error::Version(reason) => Error::Version(format!("{name} {reason}")),
        Error::Failed(reason) => Error::Failed(format!("{name}: {reason}")),
        other => other,
    }
}

fn migrations() -> Migrator {
    let migration = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), true)
    };
    Migrator::with_migrations(vec![
        migration(1, "runs", include_str!("../../migrations/sqlite/1_runs.sql")),
        migration(2, "pieces", include_str!("../../migrations/sqlite/2_pieces.sql")),
        migration(3, "throttling", include_str!("../../migrations/sqlite/3_throttling.sql")),
        migration(4, "replays", include_str!("../../migrations/sqlite/4_replays.sql")),
        migration(5, "preflight", include_str!("../../migrations/sqlite/5_preflight.sql")),
        migration(6, "sessions", include_str!("../../migrations/sqlite/6_sessions.sql")),
        migration(7, "pasts", include_str!("../../migrations/sqlite/7_pasts.sql")),
        migration(8, "token_kinds", include_str!("../../migrations/sqlite/8_token_kinds.sql")),
        migration(9, "loads", include_str!("../../migrations/sqlite/9_loads.sql")),
        migration(10, "decisions", include_str!("../../migrations/sqlite/10_decisions.sql")),
        migration(11, "money", include_str!("../../migrations/sqlite/11_money.sql")),
        migration(12, "days", include_str!("../../migrations/sqlite/12_days.sql")),
        migration(13, "exports", include_str!("../../migrations/sqlite/13_exports.sql")),
        migration(14, "join_tokens", include_str!("../../migrations/sqlite/14_join_tokens.sql")),
        migration(15, "replayed", include_str!("../../migrations/sqlite/15_replayed.sql")),
    ])
}
