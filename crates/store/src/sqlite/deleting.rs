//! Deletes runs: at once for everybody who looks, and row by row on the disk.

use scenario::RunId;
use sqlx::{query, query_scalar};

use super::writer::Writing;
use crate::Error;

pub(super) async fn delete(mut writing: Writing<'_>, run: &RunId) -> Result<(), Error> {
    let held: Option<bool> = query_scalar(
        "select state = 'running' or exists (
             select 1 from lease join session on session.id = lease.session and session.ended_at is null
             where lease.run = run.key and past - first > (
                 select count(*) from trial where trial.run = run.key and number >= first and number < past
                     and (not again or trial.epoch >= lease.epoch)))
         from run where id = ?1",
    )
    .bind(run.as_str())
    .fetch_optional(&mut writing.connection)
    .await?;
    match held {
        Some(false) => {}
        Some(true) => return refused(writing, Error::Running(run.clone())).await,
        None => return refused(writing, Error::UnknownRun(run.clone())).await,
    }
    // All their trials are done. Without the trials they would look lost.
    query("delete from lease where run = (select key from run where id = ?1)")
        .bind(run.as_str())
        .execute(&mut writing.connection)
        .await?;
    // No run can be named like that.
    query("update run set deleted = 1, id = id || ' deleted ' || key where id = ?1")
        .bind(run.as_str())
        .execute(&mut writing.connection)
        .await?;
    writing.commit().await
}

async fn refused(writing: Writing<'_>, error: Error) -> Result<(), Error> {
    writing.roll_back().await?;
    Err(error)
}

pub(super) async fn sweep(mut writing: Writing<'_>, limit: u32) -> Result<bool, Error> {
    let run: Option<i64> =
        query_scalar("select key from run where deleted limit 1").fetch_optional(&mut writing.connection).await?;
    let Some(run) = run else {
        writing.roll_back().await?;
        return Ok(false);
    };
    // The pieces of a segment are found by its row, so they go first, and in one transaction with it.
    for statement in [
        "delete from piece where key in (
             select piece.key from (select * from segment where run = ?1 order by session, sequence limit ?2) as some
             join piece on piece.key >= some.first_piece and piece.key < some.first_piece + some.pieces)",
        "delete from segment where (session, sequence) in (
             select session, sequence from segment where run = ?1 order by session, sequence limit ?2)",
        "delete from trial where rowid in (select rowid from trial where run = ?1 limit ?2)",
        "delete from replaced where run = ?1 and (number, epoch) in (
             select number, epoch from replaced where run = ?1 limit ?2)",
        "delete from attempt where run = ?1 and (number, epoch) in (
             select number, epoch from attempt where run = ?1 limit ?2)",
    ] {
        let gone = query(statement).bind(run).bind(limit).execute(&mut writing.connection).await?;
        if gone.rows_affected() > 0 {
            // The rows of a segment go with its pieces.
            if statement.starts_with("delete from piece") {
                continue;
            }
            writing.commit().await?;
            return Ok(true);
        }
    }
    for statement in [
        "delete from spend where run = ?1",
        "delete from slice where run = ?1",
        "delete from decision where run = ?1",
        "delete from run where key = ?1",
    ] {
        query(statement).bind(run).execute(&mut writing.connection).await?;
    }
    query("delete from plan where digest not in (select plan_digest from run)")
        .execute(&mut writing.connection)
        .await?;
    writing.commit().await?;
    Ok(true)
}
