//! Which version the schema has.

use sqlx::{PgPool, query_scalar};

use super::open::{migrations, named};
use crate::{Error, Schema};

pub(super) async fn of(pool: &PgPool) -> Result<Schema, Error> {
    let known: bool = query_scalar("select to_regclass('_sqlx_migrations') is not null").fetch_one(pool).await?;
    let applied: Vec<i64> = match known {
        true => query_scalar("select version from _sqlx_migrations where success").fetch_all(pool).await?,
        false => Vec::new(),
    };
    Schema::of(&migrations(), &applied).map_err(named)
}
