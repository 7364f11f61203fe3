//! Reading a state from a database: one statement that only reads, and digests of tables.

mod limits;
mod postgres;
mod sqlite;

use serde_json::Value;

use self::limits::TIME;
use super::{Engine, error::Error};

/// The rows of one statement. `trusted`: it may read whatever the role of the connection may read. It never writes.
pub(crate) async fn rows(
    address: &str,
    sql: &str,
    parameters: &[Value],
    trusted: bool,
) -> Result<Vec<Vec<Value>>, Error> {
    let looking = async {
        match Engine::of(address)? {
            Engine::Sqlite => sqlite::rows(address, sql, parameters).await,
            Engine::Postgres => postgres::rows(address, sql, parameters, trusted).await,
        }
    };
    tokio::time::timeout(TIME, looking).await.map_err(|_| Error::SlowQuery(TIME))?
}

/// A digest of the rows of a table, in any order.
pub(crate) async fn digest(address: &str, table: &str) -> Result<String, Error> {
    let looking = async {
        match Engine::of(address)? {
            Engine::Sqlite => sqlite::digest(address, &quoted(table)).await,
            Engine::Postgres => postgres::digest(address, &quoted(table)).await,
        }
    };
    tokio::time::timeout(TIME, looking).await.map_err(|_| Error::SlowQuery(TIME))?
}

/// `shop.customers` as `"shop"."customers"`, the quoting of both databases.
fn quoted(table: &str) -> String {
    let parts: Vec<String> = table.split('.').map(|part| format!("\"{}\"", part.trim().replace('"', "\"\""))).collect();
    parts.join(".")
}

#[cfg(test)]
mod tests;
