//! Errors of SQLite as errors of the store.

use sqlx::migrate::MigrateError;

use crate::Error;

// Primary result codes, the low byte of the extended ones: https://www.sqlite.org/rescode.html
const READONLY: i32 = 8;
const IOERR: i32 = 10;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let Some(refused) = error.as_database_error() else { return Self::Failed(error.to_string()) };
        let code = refused.code().and_then(|code| code.parse::<i32>().ok());
        match code.map(|code| code & 0xff) {
            Some(READONLY | IOERR | FULL | CANTOPEN) => Self::Unwritable(refused.message().to_owned()),
            _ => Self::Failed(refused.message().to_owned()),
        }
    }
}

/// Why the schema could not be migrated.
pub(super) fn of_migration(error: MigrateError) -> Error {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        MigrateError::VersionMissing(_) | MigrateError::VersionTooOld(..) => {
            Error::Version("was made by a newer gabfest: use that one, or restore a backup of this version".to_owned())
        }
        MigrateError::VersionMismatch(_) => {
            Error::Version("was made by a gabfest of another line: use that one, or another folder".to_owned())
        }
        MigrateError::Dirty(_) => {
            Error::Version("was left half changed by an upgrade that broke off: restore a backup".to_owned())
        }
        other => Error::Version(format!("cannot be brought to this version: {other}")),
    }
}
