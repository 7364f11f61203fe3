//! Reading PostgreSQL: one prepared statement in a transaction that only reads.

use std::str::FromStr as _;

use futures_util::TryStreamExt as _;
use serde_json::Value;
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Executor as _, PgConnection, Postgres, Row as _,
    Type, TypeInfo as _,
    postgres::{PgArguments, PgConnectOptions, PgRow},
    query::Query,
};

use super::{
    super::{error::Error, postgres::refused_to_role},
    limits::MOST_ROWS,
};

/// The server ends slower statements itself, even after the connection is lost.
const BEGIN: &str = "BEGIN TRANSACTION READ ONLY; SET LOCAL statement_timeout = 5000; SET LOCAL lock_timeout = 5000";

pub(super) async fn rows(
    address: &str,
    sql: &str,
    parameters: &[Value],
    trusted: bool,
) -> Result<Vec<Vec<Value>>, Error> {
    let mut connection = connect(address).await?;
    if !trusted && let Some((_, what)) = refused_to_role(&mut connection, sql).await? {
        return Err(Error::QueryRefusedToRole(what));
    }
    begin(&mut connection).await?;
    let mut rows = Vec::new();
    {
        // A prepared statement is one statement: the server refuses a second.
        let mut query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        for parameter in parameters {
            query = bind(query, parameter);
        }
        let mut found = query.fetch(&mut connection);
        while let Some(row) = found.try_next().await.map_err(refused)? {
            if rows.len() == MOST_ROWS {
                return Err(Error::ManyRows(MOST_ROWS));
            }
            rows.push((0..row.len()).map(|column| value(&row, column)).collect::<Result<_, _>>()?);
        }
    }
    end(connection).await?;
    Ok(rows)
}

pub(super) async fn digest(address: &str, table: &str) -> Result<String, Error> {
    let mut connection = connect(address).await?;
    begin(&mut connection).await?;
    // A sum does not depend on the order of the rows.
    let sql = format!(
        "SELECT count(*)::text || ':' || coalesce(sum(('x' || substr(md5(t::text), 1, 15))::bit(60)::bigint)::text, '') \
         FROM {table} AS t"
    );
    let digest = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.map_err(refused)?;
    end(connection).await?;
    Ok(digest)
}

async fn connect(address: &str) -> Result<PgConnection, Error> {
    let options = PgConnectOptions::from_str(address).map_err(Error::Address)?.disable_statement_logging();
    options.connect().await.map_err(Error::Connect)
}

async fn begin(connection: &mut PgConnection) -> Result<(), Error> {
    connection.execute(sqlx::raw_sql(BEGIN)).await.map(drop).map_err(Error::Query)
}

async fn end(mut connection: PgConnection) -> Result<(), Error> {
    connection.execute(sqlx::raw_sql("ROLLBACK")).await.map_err(Error::Query)?;
    connection.close().await.map_err(Error::Connect)
}

/// 25006: `read_only_sql_transaction`.
fn refused(error: sqlx::Error) -> Error {
    match error.as_database_error().and_then(|error| error.code()) {
        Some(code) if code == "25006" => Error::NotReading,
        // 42601 is a syntax error, with the server's message.
        _ if error.to_string().contains("multiple commands into a prepared statement") => Error::SeveralStatements,
        _ => Error::Query(error),
    }
}

type Asked<'q> = Query<'q, Postgres, PgArguments>;

fn bind<'q>(query: Asked<'q>, value: &Value) -> Asked<'q> {
    match value {
        Value::Null => query.bind(None::<String>),
        Value::Bool(truth) => query.bind(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => query.bind(whole),
            None => query.bind(number.as_f64()),
        },
        Value::String(text) => query.bind(text.clone()),
        other => query.bind(other.to_string()),
    }
}

fn value(row: &PgRow, column: usize) -> Result<Value, Error> {
    fn read<'r, T>(row: &'r PgRow, column: usize) -> Result<Value, Error>
    where
        T: sqlx::Decode<'r, Postgres> + Type<Postgres> + Into<Value>,
    {
        let found: Option<T> = row.try_get(column).map_err(Error::Query)?;
        Ok(found.map_or(Value::Null, Into::into))
    }
    let about = row.column(column);
    match about.type_info().name() {
        "BOOL" => read::<bool>(row, column),
        "INT2" => read::<i16>(row, column),
        "INT4" => read::<i32>(row, column),
        "INT8" => read::<i64>(row, column),
        "FLOAT4" => read::<f32>(row, column),
        "FLOAT8" => read::<f64>(row, column),
        "TEXT" | "VARCHAR" | "CHAR" | "NAME" => read::<String>(row, column),
        kind => Err(Error::ColumnType { column: about.name().to_owned(), kind: kind.to_owned() }),
    }
}
