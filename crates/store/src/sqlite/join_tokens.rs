//! Join tokens.

use scenario::Digest;
use sqlx::{query, query_as};

use super::writer::Writing;
use crate::{
    Error, JoinToken, Redeemed,
    join_tokens::{self, KEPT_MILLIS},
};

pub(super) async fn add(mut writing: Writing<'_>, token: &JoinToken, at: i64) -> Result<(), Error> {
    query("delete from join_token where expires_at < ?1")
        .bind(at - KEPT_MILLIS)
        .execute(&mut writing.connection)
        .await?;
    query("insert into join_token (digest, role, expires_at) values (?1, ?2, ?3) on conflict do nothing")
        .bind(token.digest.as_str())
        .bind(&token.role)
        .bind(token.expires_at)
        .execute(&mut writing.connection)
        .await?;
    writing.commit().await
}

pub(super) async fn redeem(mut writing: Writing<'_>, token: &Digest, at: i64) -> Result<Redeemed, Error> {
    let stored = query_as("select role, expires_at, used_at is not null from join_token where digest = ?1")
        .bind(token.as_str())
        .fetch_optional(&mut writing.connection)
        .await?;
    let redeemed = join_tokens::redeem(stored, at);
    if matches!(redeemed, Redeemed::As(_)) {
        query("update join_token set used_at = ?2 where digest = ?1")
            .bind(token.as_str())
            .bind(at)
            .execute(&mut writing.connection)
            .await?;
    }
    writing.commit().await?;
    Ok(redeemed)
}
