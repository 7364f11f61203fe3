//! Requests a day.

use sqlx::{query, query_scalar};

use super::server::Server;
use crate::{
    Error,
    days::{self, Drawn, KEPT_DAYS},
    values::{bound, natural},
};

pub(super) async fn draw(store: &Server, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
    let mut writing = store.begin().await?;
    // The row is locked from here on, also if it is new.
    let given: i64 = query_scalar(
        "insert into day_requests (limit_name, day, requests) values ($1, $2, 0)
         on conflict (limit_name, day) do update set requests = day_requests.requests returning requests",
    )
    .bind(limit)
    .bind(day)
    .fetch_one(&mut *writing)
    .await?;
    let (given, drawn) = days::draw(natural(given)?, most, ask);
    query("update day_requests set requests = $3 where limit_name = $1 and day = $2")
        .bind(limit)
        .bind(day)
        .bind(bound(given))
        .execute(&mut *writing)
        .await?;
    query("delete from day_requests where day < $1").bind(day - KEPT_DAYS).execute(&mut *writing).await?;
    writing.commit().await?;
    Ok(drawn)
}
