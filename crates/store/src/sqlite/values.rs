//! Numbers and JSON as SQLite stores them.

use crate::Error;

/// SQLite's integers have a sign. A larger number is a mistake of its sender.
pub(super) fn integer(number: u64) -> Result<i64, Error> {
    i64::try_from(number).map_err(|_| Error::Failed(format!("{number} is not a number that can be kept")))
}

/// A bound of a query: no stored number is larger.
pub(super) fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A stored number. Only a damaged store has one that does not fit.
pub(super) fn natural<T: TryFrom<i64>>(integer: i64) -> Result<T, Error> {
    T::try_from(integer).map_err(|_| Error::Failed(format!("{integer} where a natural number is kept")))
}

pub(super) fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Failed(error.to_string()))
}
