//! The tables of the history, and their version.

use sqlx::{SqliteConnection, query, query_as};

/// "gabh": tells a history from any other SQLite file.
const APPLICATION_ID: i64 = 0x6761_6268;
/// The version that this program writes. A later one adds its statements to [`steps`].
const VERSION: i64 = 2;
/// The first version that keeps failures.
pub(crate) const WITH_FAILURES: i64 = 2;

const NEWER: &str = "was written by a newer gabfest\nhint: use that version, or another file with --history FILE";
const OTHER: &str = "is not a history of gabfest\nhint: name another file with --history FILE";

/// Why a file is not a history that this program can use.
#[derive(Debug)]
pub(crate) enum Refusal {
    Foreign(&'static str),
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        // 26: "file is not a database".
        match error.as_database_error().and_then(|refused| refused.code()).as_deref() {
            Some("26") => Self::Foreign(OTHER),
            _ => Self::Failed(error),
        }
    }
}

/// Checks that the file is a history of this version or an earlier one. Returns its version; 0 for an empty file.
pub(crate) async fn check(connection: &mut SqliteConnection) -> Result<i64, Refusal> {
    // One statement sees one state of the file, also while another process makes its tables.
    let (application, version, tables): (i64, i64, i64) = query_as(
        "select (select application_id from pragma_application_id), (select user_version from pragma_user_version),
             count(*) from sqlite_schema",
    )
    .fetch_one(connection)
    .await?;
    match (application, version) {
        (APPLICATION_ID, 0..=VERSION) => Ok(version),
        (APPLICATION_ID, _) => Err(Refusal::Foreign(NEWER)),
        (0, 0) if tables == 0 => Ok(0),
        _ => Err(Refusal::Foreign(OTHER)),
    }
}

/// Brings the file to this version, in one transaction. Of two processes, the second finds it done.
pub(crate) async fn migrate(connection: &mut SqliteConnection) -> Result<(), Refusal> {
    if check(connection).await? == VERSION {
        return Ok(());
    }
    query("begin immediate").execute(&mut *connection).await?;
    let done = steps(connection).await;
    let end = if done.is_ok() { "commit" } else { "rollback" };
    query(end).execute(connection).await?;
    done
}

async fn steps(connection: &mut SqliteConnection) -> Result<(), Refusal> {
    // Another process may have been first.
    let version = check(connection).await?;
    for (of, statements) in [(1, &VERSION_1[..]), (2, &VERSION_2[..])] {
        for statement in statements.iter().filter(|_| version < of) {
            query(*statement).execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// `facts` and `figures` hold the whole row as JSON; the other columns are for queries.
const VERSION_1: [&str; 5] = [
    "create table run (
         id text primary key not null,
         name text not null,
         -- RFC 3339, UTC.
         started_at text not null,
         state text not null,
         verdict text not null,
         exit_code integer not null,
         facts text not null
     ) strict",
    "create table cell (
         run text not null references run (id) on delete cascade,
         place integer not null,
         scenario text not null,
         persona text,
         agent text not null,
         planned integer not null,
         passed integer not null,
         failed integer not null,
         figures text not null,
         primary key (run, place)
     ) strict, without rowid",
    "create index run_by_start on run (started_at, id)",
    "pragma application_id = 1734435432",
    "pragma user_version = 1",
];

/// The failures of each run. Runs that are there already have none: their facts say that they are not known.
const VERSION_2: [&str; 3] = [
    "create table failure (
         run text not null references run (id) on delete cascade,
         place integer not null,
         signature text not null,
         agent text not null,
         trials integer not null,
         facts text not null,
         primary key (run, place)
     ) strict, without rowid",
    "create index failure_by_signature on failure (signature)",
    "pragma user_version = 2",
];
