//! Errors of PostgreSQL as errors of the store.

use sqlx::postgres::PgDatabaseError;

use crate::Error;

/// By SQLSTATE: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
pub(super) fn refusal(error: &PgDatabaseError) -> Error {
    let says = || format!("PostgreSQL: {}", error.message());
    match error.code() {
        // It stops, starts, or has ended the connection; the same statement can succeed later. Deadlocks and conflicts of
        // serialisation roll back completely.
        "57P01" | "57P02" | "57P03" | "57P05" | "53300" | "40001" | "40P01" => Error::Unavailable(says()),
        code if code.starts_with("08") => Error::Unavailable(says()),
        // No disk, no memory, a read-only server, no right to write.
        "25006" | "42501" | "58030" | "28P01" | "28000" | "3D000" => Error::Unwritable(says()),
        code if code.starts_with("53") => Error::Unwritable(says()),
        _ => Error::Failed(says()),
    }
}
