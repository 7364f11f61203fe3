//! Join tokens.

use scenario::Digest;
use sqlx::{query, query_as};

use super::server::Server;
use crate::{
    Error, JoinToken, Redeemed,
    join_tokens::{self, KEPT_MILLIS},
};

pub(super) async fn add(store: &Server, token: &JoinToken, at: i64) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    query("delete from join_token where expires_at < $1").bind(at - KEPT_MILLIS).execute(&mut *writing).await?;
    query("insert into join_token (digest, role, expires_at) values ($1, $2, $3) on conflict do nothing")
        .bind(token.digest.as_str())
        .bind(&token.role)
        .bind(token.expires_at)
        .execute(&mut *writing)
        .await?;
    Ok(writing.commit().await?)
}

/// If the answer to the commit is lost, the token is used and nobody has its certificate: better than a token that is good
/// twice.
pub(super) async fn redeem(store: &Server, token: &Digest, at: i64) -> Result<Redeemed, Error> {
    let mut writing = store.begin().await?;
    // The row is locked, so that of two that redeem it at once the second one sees it used.
    let stored = query_as("select role, expires_at, used_at is not null from join_token where digest = $1 for update")
        .bind(token.as_str())
        .fetch_optional(&mut *writing)
        .await?;
    let redeemed = join_tokens::redeem(stored, at);
    if matches!(redeemed, Redeemed::As(_)) {
        query("update join_token set used_at = $2 where digest = $1")
            .bind(token.as_str())
            .bind(at)
            .execute(&mut *writing)
            .await?;
    }
    writing.commit().await?;
    Ok(redeemed)
}
