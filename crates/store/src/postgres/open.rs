//! Connects to the database and migrates its schema.

use std::{str::FromStr as _, time::Duration};

use sqlx::{
    ConnectOptions as _, PgPool, SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    query_scalar,
};

use super::schema;
use crate::{Error, refusal};

/// Of one coordinator. Its writes follow each other; the others are for readers.
const CONNECTIONS: u32 = 8;
/// `server_version_num` of PostgreSQL 14.
const OLDEST_VERSION: i32 = 140_000;

/// Connects, and looks whether this program can use what is there. Changes nothing.
pub(super) async fn connect(address: &str) -> Result<PgPool, Error> {
    let options = PgConnectOptions::from_str(address)
        .map_err(|error| Error::Unwritable(format!("cannot read the address of the store: {error}")))?
        .application_name("gabfest")
        .disable_statement_logging();
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(Duration::from_secs(10))
        .connect_with(options)
        .await?;
    let version: String = query_scalar("select current_setting('server_version_num')").fetch_one(&pool).await?;
    if version.parse::<i32>().is_ok_and(|version| version < OLDEST_VERSION) {
        let version: String = query_scalar("select current_setting('server_version')").fetch_one(&pool).await?;
        return Err(Error::Version(format!("the store is PostgreSQL {version}; gabfest needs 14 or later")));
    }
    // An older schema is no error: its holder may still use it.
    schema::of(&pool).await?;
    Ok(pool)
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
