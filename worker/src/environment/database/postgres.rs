//! Seeds a PostgreSQL database. The permissions of the role keep a scenario's SQL away from files and programs. If the
//! role has such permissions, the SQL is checked first ([`strict`]).

use std::str::FromStr as _;

use futures_util::{TryStreamExt as _, stream::BoxStream};
use scenario::Seeding;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Either, Executor as _, PgConnection,
    postgres::{PgConnectOptions, PgDatabaseError, PgErrorPosition, PgQueryResult, PgRow},
};

use super::{
    error::{Error, StatementPlace},
    strict,
};

/// Superusers, members of PostgreSQL's three roles for files and programs, roles that may become one of them, and
/// before PostgreSQL 16 roles that may grant themselves one.
const PRIVILEGED: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_roles r \
    WHERE pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER') AND (r.rolsuper \
    OR r.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program') \
    OR (r.rolcreaterole AND pg_catalog.current_setting('server_version_num')::int < 160000)))";

/// Settings with which the server reads SQL as [`super::sql`] does. No schema or operator of a scenario can change what
/// `SHOW` returns.
const PARSER_SETTINGS: [(&str, &str); 2] =
    [("SHOW standard_conforming_strings", "on"), ("SHOW client_encoding", "UTF8")];

pub(super) async fn seed(address: &str, seeding: &Seeding, trusted: bool) -> Result<(), Error> {
    let options = PgConnectOptions::from_str(address).map_err(Error::Address)?.disable_statement_logging();
    let mut connection = options.connect().await.map_err(Error::Connect)?;
    let strict = !trusted && is_mighty(&mut connection).await?;
    for (file, sql) in &seeding.files {
        if strict && let Some((place, what)) = refused_here(&mut connection, sql).await? {
            return Err(Error::RefusedToRole { file: file.clone(), place, what });
        }
        let done = connection.fetch_many(sqlx::raw_sql(AssertSqlSafe(sql.clone())));
        run(file, sql, done).await?;
    }
    connection.close().await.map_err(Error::Connect)
}

/// The part of the SQL that must not run, if the role may reach the server's files and programs.
pub(super) async fn refused_to_role(
    connection: &mut PgConnection,
    sql: &str,
) -> Result<Option<(StatementPlace, String)>, Error> {
    if is_mighty(connection).await? { refused_here(connection, sql).await } else { Ok(None) }
}

async fn is_mighty(connection: &mut PgConnection) -> Result<bool, Error> {
    sqlx::query_scalar(PRIVILEGED).fetch_one(connection).await.map_err(Error::Connect)
}

async fn refused_here(connection: &mut PgConnection, sql: &str) -> Result<Option<(StatementPlace, String)>, Error> {
    Ok(match strict::check(sql) {
        Ok(()) if has_known_parser_settings(connection).await? => None,
        Ok(()) => Some((
            StatementPlace { statement: 1, line: None },
            "another `standard_conforming_strings` or `client_encoding`".to_owned(),
        )),
        Err(refused) => Some((refused.place, refused.what)),
    })
}

async fn has_known_parser_settings(connection: &mut PgConnection) -> Result<bool, Error> {
    for (question, expected) in PARSER_SETTINGS {
        let found: String = sqlx::query_scalar(question).fetch_one(&mut *connection).await.map_err(Error::Connect)?;
        if found != expected {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Counts finished statements, to name the one that failed.
async fn run(
    file: &str,
    sql: &str,
    mut results: BoxStream<'_, Result<Either<PgQueryResult, PgRow>, sqlx::Error>>,
) -> Result<(), Error> {
    let mut done = 0;
    loop {
        match results.try_next().await {
            Ok(Some(Either::Left(_))) => done += 1,
            Ok(Some(Either::Right(_))) => {}
            Ok(None) => return Ok(()),
            Err(source) => {
                let place = StatementPlace { statement: done + 1, line: line_of(&source, sql) };
                return Err(Error::Statement { file: file.to_owned(), place, source });
            }
        }
    }
}

/// PostgreSQL reports the character, from 1, in the text that it was sent.
fn line_of(error: &sqlx::Error, sql: &str) -> Option<usize> {
    let error = error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()?;
    match error.position()? {
        PgErrorPosition::Original(character) => {
            Some(1 + sql.chars().take(character.saturating_sub(1)).filter(|&character| character == '\n').count())
        }
        PgErrorPosition::Internal { .. } => None,
    }
}
