//! Worker sessions: opened, renewed by heartbeats, ended, and the possible cost of their calls in flight.

use std::collections::{BTreeMap, BTreeSet};

use record::Usd;
use scenario::Digest;
use sqlx::{SqlitePool, query, query_scalar};

use super::{leases, writer::Writing};
use crate::{
    Error, Lease, lease_columns,
    values::{bound, json, natural},
};

pub(super) async fn open(mut writing: Writing<'_>, worker: &str, token: &Digest, at: i64) -> Result<u64, Error> {
    let insert = "insert into session (worker, token, opened_at, last_seen) values (?1, ?2, ?3, ?3) returning id";
    let id: i64 =
        query_scalar(insert).bind(worker).bind(token.as_str()).bind(at).fetch_one(&mut writing.connection).await?;
    writing.commit().await?;
    natural(id)
}

pub(super) async fn token(readers: &SqlitePool, session: u64) -> Result<Option<Digest>, Error> {
    let token: Option<Option<String>> = query_scalar("select token from session where id = ?1 and ended_at is null")
        .bind(bound(session))
        .fetch_optional(readers)
        .await?;
    Ok(token.flatten().map(Digest::new))
}

pub(super) async fn watermark(readers: &SqlitePool, session: u64) -> Result<Option<u64>, Error> {
    let watermark: Option<i64> = query_scalar("select watermark from session where id = ?1 and ended_at is null")
        .bind(bound(session))
        .fetch_optional(readers)
        .await?;
    watermark.map(natural).transpose()
}

pub(super) async fn heartbeat(
    mut writing: Writing<'_>,
    session: u64,
    unsettled: Usd,
    begun: &[Lease],
    at: i64,
) -> Result<(), Error> {
    let changed = query("update session set unsettled_nanos = ?2, last_seen = ?3 where id = ?1 and ended_at is null")
        .bind(bound(session))
        .bind(unsettled.0)
        .bind(at)
        .execute(&mut writing.connection)
        .await?;
    leases::begin(&mut writing, session, begun).await?;
    writing.commit().await?;
    if changed.rows_affected() == 0 { Err(Error::SessionOver(session)) } else { Ok(()) }
}

pub(super) async fn end(
    mut writing: Writing<'_>,
    session: u64,
    reason: &str,
    proof: bool,
    begun: &[Lease],
    at: i64,
) -> Result<Vec<Lease>, Error> {
    let unsettled: Option<i64> = query_scalar(
        "update session set ended_at = ?2, end_reason = ?3 where id = ?1 and ended_at is null
         returning unsettled_nanos",
    )
    .bind(bound(session))
    .bind(at)
    .bind(reason)
    .fetch_optional(&mut writing.connection)
    .await?;
    let Some(unsettled) = unsettled else {
        writing.roll_back().await?;
        return Ok(Vec::new());
    };
    leases::begin(&mut writing, session, begun).await?;
    let lost = unfinished(&mut writing, session).await?;
    leases::forget(&mut writing, session).await?;
    if !lost.is_empty() {
        lose(&mut writing, session, &lost, proof, at).await?;
        leave_unsettled(&mut writing, session, &lost, unsettled).await?;
    }
    writing.commit().await?;
    Ok(lost)
}

/// The session's leases without the trials that are done.
async fn unfinished(writing: &mut Writing<'_>, session: u64) -> Result<Vec<Lease>, Error> {
    let live = leases::live(writing, session).await?;
    let done = leases::done(writing, session).await?;
    Ok(lease_columns::unfinished(live, &done))
}

async fn lose(writing: &mut Writing<'_>, session: u64, lost: &[Lease], proof: bool, at: i64) -> Result<(), Error> {
    let mut attempts: BTreeMap<&str, Vec<(u64, u32, bool)>> = BTreeMap::new();
    for lease in lost {
        let trials = lease.trials.clone().map(|number| (number, lease.epoch, number < lease.begun));
        attempts.entry(lease.run.as_str()).or_default().extend(trials);
    }
    query(
        "insert into attempt (run, number, epoch, begun, session, solo, lost_at)
         select run.key, trial.value ->> 0, trial.value ->> 1, trial.value ->> 2, ?2, ?3, ?4
         from json_each(?1) as lost join run on run.id = lost.key, json_each(lost.value) as trial
         where true on conflict do nothing",
    )
    .bind(json(&attempts)?)
    .bind(bound(session))
    .bind(proof)
    .bind(at)
    .execute(&mut writing.connection)
    .await?;
    Ok(())
}

/// A session with a slice of a run's money leaves what the slice has left.
async fn leave_unsettled(writing: &mut Writing<'_>, session: u64, lost: &[Lease], unsettled: i64) -> Result<(), Error> {
    let runs: BTreeSet<&str> = lost.iter().map(|lease| lease.run.as_str()).collect();
    // A worker's claim must not cause an overflow.
    query(
        "update run set unsettled_nanos = min(unsettled_nanos, 9223372036854775807 - ?2) + ?2
         where id in (select lost.value from json_each(?1) as lost)
         and not exists (select 1 from slice where slice.run = run.key and slice.session = ?3)",
    )
    .bind(json(&runs)?)
    .bind(unsettled)
    .bind(bound(session))
    .execute(&mut writing.connection)
    .await?;
    Ok(())
}
