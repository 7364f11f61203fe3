//! Errors of sqlx as errors of the store.

mod postgres;
mod sqlite;

use sqlx::{migrate::MigrateError, postgres::PgDatabaseError};

use crate::Error;

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(refused) => match refused.try_downcast_ref::<PgDatabaseError>() {
                Some(refused) => postgres::refusal(refused),
                None => sqlite::refusal(refused.as_ref()),
            },
            // The server is away. SQLite has no such errors: its files are opened, not reached.
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => {
                Self::Unavailable(error.to_string())
            }
            sqlx::Error::Protocol(_) => Self::Unavailable(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// `versions`: of the schema, and the newest that this program knows.
pub(crate) fn newer(versions: Option<(i64, i64)>) -> Error {
    let versions = versions.map(|(found, known)| format!(" (its schema is {found}, this gabfest knows up to {known})"));
    let versions = versions.unwrap_or_default();
    Error::Version(format!("was made by a newer gabfest{versions}: use that one, or restore a backup of this version"))
}

/// Why the schema could not be migrated.
pub(crate) fn of_migration(error: MigrateError) -> Error {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        MigrateError::VersionMissing(_) | MigrateError::VersionTooOld(..) => newer(None),
        MigrateError::VersionMismatch(_) => {
            Error::Version("was made by a gabfest of another line: use that one, or another folder".to_owned())
        }
        MigrateError::Dirty(_) => {
            Error::Version("was left half changed by an upgrade that broke off: restore a backup".to_owned())
        }
        other => Error::Version(format!("cannot be brought to this version: {other}")),
    }
}
