//! Why a database cannot be seeded, and at which statement.

use std::{fmt, time::Duration};

/// No error shows an address: it may hold a password.
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
    Statement { file: String, place: StatementPlace, source: sqlx::Error },
    #[error("run {file}, {place}: {source}")]
    Sqlite { file: String, place: StatementPlace, source: rusqlite::Error },
    #[error(
        "run {file}, {place}: {what} is refused, as SQL of a scenario may reach no file and no program; only a worker \
         with `--allow-exec=host` runs it"
    )]
    Refused { file: String, place: StatementPlace, what: String },
    #[error(
        "run {file}, {place}: {what} is refused, as the role of this connection may reach the server's files and \
         programs; use a role without such rights, or a worker with `--allow-exec=host`"
    )]
    RefusedToRole { file: String, place: StatementPlace, what: String },
    #[error("run the query: {0}")]
    Query(#[source] sqlx::Error),
    #[error("run the query: {0}")]
    SqliteQuery(#[source] rusqlite::Error),
    #[error("run the query: it does more than read")]
    NotReading,
    #[error("run the query: it has more than one statement")]
    SeveralStatements,
    #[error("run the query: it has no statement")]
    NoStatement,
    #[error("run the query: it has {expected} parameters, and {found} are given")]
    Parameters { expected: usize, found: usize },
    #[error("read the rows: there are more than {0}")]
    ManyRows(usize),
    #[error("read the column {column}: it has the type {kind}; cast it to text in the query")]
    ColumnType { column: String, kind: String },
    #[error(
        "run the query: {0} is refused, as the role of this connection may reach the server's files and programs; use a \
         role without such rights"
    )]
    QueryRefusedToRole(String),
    #[error("finish the query within {} s", .0.as_secs())]
    SlowQuery(Duration),
    #[error("run its files: the thread stopped")]
    Stopped,
    #[error("finish within {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// Where in a file a statement failed, as exactly as the database reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementPlace {
    /// From 1.
    pub statement: u64,
    /// From 1; SQLite does not report it.
    pub line: Option<usize>,
}

impl fmt::Display for StatementPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "statement {}", self.statement)?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}
