//! Reads SQLite through a read-only connection, with an authorizer that allows nothing but reading.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rusqlite::{
    Batch, Connection, OpenFlags, Row, Statement,
    config::DbConfig,
    fallible_iterator::FallibleIterator as _,
    hooks::{AuthAction, AuthContext, Authorization},
    types::ValueRef,
};
use scenario::ids::seed_of;
use serde_json::Value;

use super::{
    super::{
        error::Error,
        sqlite::{STEPS, Stop, uri},
    },
    limits::MOST_ROWS,
};

/// Dropping the future interrupts the running statement.
pub(super) async fn rows(address: &str, sql: &str, parameters: &[Value]) -> Result<Vec<Vec<Value>>, Error> {
    let (sql, parameters) = (sql.to_owned(), parameters.to_vec());
    reading(address, move |connection| {
        let mut batch = Batch::new(connection, &sql);
        let mut statement = batch.next().map_err(refused)?.ok_or(Error::NoStatement)?;
        if batch.next().map_err(refused)?.is_some() {
            return Err(Error::SeveralStatements);
        }
        let expected = statement.parameter_count();
        if expected != parameters.len() {
            return Err(Error::Parameters { expected, found: parameters.len() });
        }
        for (index, value) in parameters.iter().enumerate() {
            bind(&mut statement, index + 1, value).map_err(Error::SqliteQuery)?;
        }
        let columns = statement.column_count();
        let mut found = statement.raw_query();
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(refused)? {
            if rows.len() == MOST_ROWS {
                return Err(Error::ManyRows(MOST_ROWS));
            }
            rows.push((0..columns).map(|column| value(row, column)).collect::<Result<_, _>>()?);
        }
        Ok(rows)
    })
    .await
}

pub(super) async fn digest(address: &str, table: &str) -> Result<String, Error> {
    let sql = format!("SELECT * FROM {table}");
    reading(address, move |connection| {
        let mut statement = connection.prepare(&sql).map_err(refused)?;
        let columns = statement.column_count();
        let mut found = statement.raw_query();
        let (mut count, mut sum) = (0_u64, 0_u64);
        while let Some(row) = found.next().map_err(refused)? {
            let cells = (0..columns).map(|column| cell(row, column)).collect::<Result<Vec<_>, _>>()?;
            let parts: Vec<&[u8]> = cells.iter().map(Vec::as_slice).collect();
            count += 1;
            // A sum does not depend on the order of the rows.
            sum = sum.wrapping_add(seed_of(&parts));
        }
        Ok(format!("{count}:{sum}"))
    })
    .await
}

async fn reading<T: Send + 'static>(
    address: &str,
    look: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let uri = uri(address)?;
    let stop = Arc::new(AtomicBool::new(false));
    let _stops_when_dropped = Stop(Arc::clone(&stop));
    let work = move || {
        let connection = open(&uri, stop).map_err(Error::OpenSqlite)?;
        look(&connection)
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Stopped)?
}

fn open(uri: &str, stop: Arc<AtomicBool>) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.progress_handler(STEPS, Some(move || stop.load(Ordering::Relaxed)))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    let authorize = |asked: AuthContext<'_>| match asked.action {
        AuthAction::Function { function_name } if function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Deny
        }
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Function { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    };
    connection.authorizer(Some(authorize))?;
    Ok(connection)
}

/// Errors that only a statement that writes can cause.
fn refused(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::AuthorizationForStatementDenied | rusqlite::ErrorCode::ReadOnly) => Error::NotReading,
        // A function that is refused is an error like any other.
        _ if error.to_string().contains("not authorized") => Error::NotReading,
        _ => Error::SqliteQuery(error),
    }
}

fn bind(statement: &mut Statement<'_>, index: usize, value: &Value) -> Result<(), rusqlite::Error> {
    match value {
        Value::Null => statement.raw_bind_parameter(index, rusqlite::types::Null),
        Value::Bool(truth) => statement.raw_bind_parameter(index, truth),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => statement.raw_bind_parameter(index, whole),
            None => statement.raw_bind_parameter(index, number.as_f64()),
        },
        Value::String(text) => statement.raw_bind_parameter(index, text),
        other => statement.raw_bind_parameter(index, other.to_string()),
    }
}

fn value(row: &Row<'_>, column: usize) -> Result<Value, Error> {
    Ok(match row.get_ref(column).map_err(Error::SqliteQuery)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(whole) => whole.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
    })
}

/// The value with its type, so that 1 and `1` differ.
fn cell(row: &Row<'_>, column: usize) -> Result<Vec<u8>, Error> {
    let (kind, bytes) = match row.get_ref(column).map_err(Error::SqliteQuery)? {
        ValueRef::Null => (b'n', Vec::new()),
        ValueRef::Integer(whole) => (b'i', whole.to_le_bytes().to_vec()),
        ValueRef::Real(number) => (b'r', number.to_le_bytes().to_vec()),
        ValueRef::Text(text) => (b't', text.to_vec()),
        ValueRef::Blob(bytes) => (b'b', bytes.to_vec()),
    };
    Ok([&[kind], bytes.as_slice()].concat())
}
