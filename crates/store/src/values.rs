//! Numbers and JSON as databases store them.

use crate::Error;

/// The databases' integers have a sign. A larger number is a mistake of its sender.
pub(crate) fn integer(number: u64) -> Result<i64, Error> {
    i64::try_from(number).map_err(|_| Error::Failed(format!("{number} is not a number that can be kept")))
}

/// A bound of a query: no stored number is larger.
pub(crate) fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A stored number. Only a damaged store has one that does not fit.
pub(crate) fn natural<T: TryFrom<i64>>(integer: i64) -> Result<T, Error> {
    T::try_from(integer).map_err(|_| Error::Failed(format!("{integer} where a natural number is kept")))
}

pub(crate) fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Failed(error.to_string()))
}
