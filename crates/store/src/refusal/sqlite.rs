//! Errors of SQLite as errors of the store.

use sqlx::error::DatabaseError;

use crate::Error;

// Primary result codes, the low byte of the extended ones: https://www.sqlite.org/rescode.html
const READONLY: i32 = 8;
const IOERR: i32 = 10;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;

pub(super) fn refusal(error: &dyn DatabaseError) -> Error {
    let code = error.code().and_then(|code| code.parse::<i32>().ok());
    match code.map(|code| code & 0xff) {
        Some(READONLY | IOERR | FULL | CANTOPEN) => Error::Unwritable(error.message().to_owned()),
        _ => Error::Failed(error.message().to_owned()),
    }
}
