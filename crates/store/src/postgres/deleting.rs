//! Deletes runs: at once for everybody who looks, and row by row on the disk.

use scenario::RunId;
use sqlx::{query, query_scalar};

use super::server::Server;
use crate::Error;

/// `again`: an earlier try may have been committed.
pub(super) async fn delete(store: &Server, run: &RunId, again: bool) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    let held: Option<bool> = query_scalar(
        "select state = 'running' or exists (
             select 1 from lease join session on session.id = lease.session and session.ended_at is null
             where lease.run = run.key and past - first > (
                 select count(*) from trial where trial.run = run.key and number >= first and number < past
                     and (not again or trial.epoch >= lease.epoch)))
         from run where id = $1 for update",
    )
    .bind(run.as_str())
    .fetch_optional(&mut *writing)
    .await?;
    match held {
        Some(false) => {}
        Some(true) => return Err(Error::Running(run.clone())),
        None if again => return Ok(()),
        None => return Err(Error::UnknownRun(run.clone())),
    }
    // All their trials are done. Without the trials they would look lost.
    query("delete from lease where run = (select key from run where id = $1)")
        .bind(run.as_str())
        .execute(&mut *writing)
        .await?;
    // No run can be named like that.
    query("update run set deleted = true, id = id || ' deleted ' || key where id = $1")
        .bind(run.as_str())
        .execute(&mut *writing)
        .await?;
    Ok(writing.commit().await?)
}

pub(super) async fn sweep(store: &Server, limit: u32) -> Result<bool, Error> {
    let mut writing = store.begin().await?;
    let run: Option<i64> =
        query_scalar("select key from run where deleted limit 1 for update").fetch_optional(&mut *writing).await?;
    let Some(run) = run else { return Ok(false) };
    for statement in [
        // A segment with its pieces, which are found by its key.
        "with batch as (
             delete from segment where (session, sequence) in (
                 select session, sequence from segment where run = $1 order by session, sequence limit $2)
             returning session, sequence),
         pieces as (delete from piece using batch
             where piece.session = batch.session and piece.sequence = batch.sequence)
         select 1 from batch",
        "delete from trial where run = $1 and number in (select number from trial where run = $1 limit $2)",
        "delete from replaced where run = $1 and (number, epoch) in (
             select number, epoch from replaced where run = $1 limit $2)",
        "delete from attempt where run = $1 and (number, epoch) in (
             select number, epoch from attempt where run = $1 limit $2)",
    ] {
        let gone = query(statement).bind(run).bind(i64::from(limit)).execute(&mut *writing).await?;
        if gone.rows_affected() > 0 {
            writing.commit().await?;
            return Ok(true);
        }
    }
    for statement in [
        "delete from spend where run = $1",
        "delete from slice where run = $1",
        "delete from decision where run = $1",
        "delete from run where key = $1",
    ] {
        query(statement).bind(run).execute(&mut *writing).await?;
    }
    query("delete from plan where not exists (select 1 from run where plan_digest = plan.digest)")
        .execute(&mut *writing)
        .await?;
    writing.commit().await?;
    Ok(true)
}
