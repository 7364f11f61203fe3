//! Connects to the database and migrates its schema.

use std::{str::FromStr as _, time::Duration};

use sqlx::{
    ConnectOptions as _, PgPool, SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    query_scalar,
};
use tokio::time::timeout;

use super::schema;
use crate::{Error, refusal};

/// Of one coordinator. Its writes follow each other; the others are for readers.
const CONNECTIONS: u32 = 8;
const ONE_TRY: Duration = Duration::from_secs(2);
/// `server_version_num` of PostgreSQL 14.
const OLDEST_VERSION: i32 = 140_000;

/// Connects, and looks whether this program can use what is there. Changes nothing.
pub(super) async fn connect(address: &str) -> Result<PgPool, Error> {
    let options = PgConnectOptions::from_str(address)
        .map_err(|error| Error::Unwritable(format!("cannot read the address of the store: {error}")))?
        .application_name("gabfest")
        .disable_statement_logging();
    let connected = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(Duration::from_secs(10))
        .connect_with(options.clone())
        .await;
    let pool = match connected {
        // The pool does not say why it got no connection.
        Err(sqlx::Error::PoolTimedOut) => return Err(no_connection(&options).await),
        connected => connected?,
    };
    let version: String = query_scalar("select current_setting('server_version_num')").fetch_one(&pool).await?;
    if version.parse::<i32>().is_ok_and(|version| version < OLDEST_VERSION) {
        let version: String = query_scalar("select current_setting('server_version')").fetch_one(&pool).await?;
        return Err(Error::Version(format!("the store is PostgreSQL {version}; gabfest needs 14 or later")));
    }
    // An older schema is no error: its holder may still use it.
    schema::of(&pool).await?;
    Ok(pool)
}

/// Why there is no connection, by one more try.
async fn no_connection(options: &PgConnectOptions) -> Error {
    let reason = match timeout(ONE_TRY, options.connect()).await {
        Ok(Err(error)) => error.to_string(),
        Ok(Ok(_)) => "it took more than 10 s to connect".to_owned(),
        Err(_) => "no answer".to_owned(),
    };
    Error::Unavailable(format!("{}:{}: {reason}", options.get_host(), options.get_port()))
}

pub(super) async fn has_tables(pool: &PgPool) -> Result<bool, Error> {
    Ok(query_scalar("select to_regclass('duty') is not null").fetch_one(pool).await?)
}

/// sqlx takes an advisory lock for it, so two coordinators can start at once.
pub(super) async fn migrate(pool: &PgPool) -> Result<(), Error> {
    migrations().run(pool).await.map_err(refusal::of_migration).map_err(named)
}

pub(super) fn named(error: Error) -> Error {
    match error {
        Error::Version(reason) => Error::Version(format!("the store in PostgreSQL {reason}")),
        other => other,
    }
}

pub(super) fn migrations() -> Migrator {
    let migration = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    Migrator::with_migrations(vec![
        migration(1, "store", include_str!("../../migrations/postgres/1_store.sql")),
        migration(2, "money", include_str!("../../migrations/postgres/2_money.sql")),
        migration(3, "peers", include_str!("../../migrations/postgres/3_peers.sql")),
        migration(4, "days", include_str!("../../migrations/postgres/4_days.sql")),
        migration(5, "exports", include_str!("../../migrations/postgres/5_exports.sql")),
        migration(6, "join_tokens", include_str!("../../migrations/postgres/6_join_tokens.sql")),
        migration(7, "checks", include_str!("../../migrations/postgres/7_checks.sql")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_is_not_there_is_named_with_the_reason() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let options = PgConnectOptions::new().host("127.0.0.1").port(port);
        let said = no_connection(&options).await.to_string();
        assert!(said.contains(&format!("127.0.0.1:{port}: ")) && said.contains("refused"), "{said}");
    }
}
