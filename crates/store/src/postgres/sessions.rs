//! Worker sessions: opened, renewed by heartbeats, ended, and the possible cost of their calls in flight.

use std::collections::BTreeSet;

use record::Usd;
use scenario::{Digest, RunId};
use sqlx::{PgPool, query, query_as, query_scalar};

use super::{
    leases,
    server::{Server, Writing},
};
use crate::{
    Error, Lease, lease_columns, ranges,
    values::{bound, integer, natural},
};

pub(super) async fn open(store: &Server, worker: &str, token: &Digest, at: i64) -> Result<u64, Error> {
    let mut writing = store.begin().await?;
    let id: i64 =
        query_scalar("insert into session (worker, token, opened_at, last_seen) values ($1, $2, $3, $3) returning id")
            // PostgreSQL stores no U+0000.
            .bind(worker.replace('\0', "\u{fffd}"))
            .bind(token.as_str())
            .bind(at)
            .fetch_one(&mut *writing)
            .await?;
    writing.commit().await?;
    natural(id)
}

pub(super) async fn token(pool: &PgPool, session: u64) -> Result<Option<Digest>, Error> {
    let token: Option<String> = query_scalar("select token from session where id = $1 and ended_at is null")
        .bind(bound(session))
        .fetch_optional(pool)
        .await?;
    Ok(token.map(Digest::new))
}

pub(super) async fn watermark(pool: &PgPool, session: u64) -> Result<Option<u64>, Error> {
    let watermark: Option<i64> = query_scalar("select watermark from session where id = $1 and ended_at is null")
        .bind(bound(session))
        .fetch_optional(pool)
        .await?;
    watermark.map(natural).transpose()
}

pub(super) async fn heartbeat(
    store: &Server,
    session: u64,
    unsettled: Usd,
    begun: &[Lease],
    at: i64,
) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    let changed = query("update session set unsettled_nanos = $2, last_seen = $3 where id = $1 and ended_at is null")
        .bind(bound(session))
        .bind(unsettled.0)
        .bind(at)
        .execute(&mut *writing)
        .await?;
    leases::begin(&mut writing, session, begun).await?;
    writing.commit().await?;
    if changed.rows_affected() == 0 { Err(Error::SessionOver(session)) } else { Ok(()) }
}

/// How a session ends.
pub(super) struct End<'a> {
    pub(super) session: u64,
    pub(super) reason: &'a str,
    pub(super) proof: bool,
    pub(super) begun: &'a [Lease],
    pub(super) at: i64,
}

/// `again`: an earlier try may have ended it already.
pub(super) async fn end(store: &Server, end: &End<'_>, again: bool) -> Result<Vec<Lease>, Error> {
    let mut writing = store.begin().await?;
    let unsettled: Option<i64> = query_scalar(
        "update session set ended_at = $2, end_reason = $3 where id = $1 and ended_at is null
         returning unsettled_nanos",
    )
    .bind(bound(end.session))
    .bind(end.at)
    .bind(end.reason.replace('\0', "\u{fffd}"))
    .fetch_optional(&mut *writing)
    .await?;
    let Some(unsettled) = unsettled else {
        return if again { lost_before(&mut writing, end).await } else { Ok(Vec::new()) };
    };
    leases::begin(&mut writing, end.session, end.begun).await?;
    let live = leases::live(&mut writing, end.session).await?;
    let done = leases::done(&mut writing, end.session).await?;
    let lost = lease_columns::unfinished(live, &done);
    leases::forget(&mut writing, end.session).await?;
    if !lost.is_empty() {
        lose(&mut writing, end, &lost).await?;
        leave_unsettled(&mut writing, end.session, &lost, unsettled).await?;
    }
    writing.commit().await?;
    Ok(lost)
}

async fn lose(writing: &mut Writing, end: &End<'_>, lost: &[Lease]) -> Result<(), Error> {
    let (mut runs, mut numbers, mut epochs, mut begun) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for lease in lost {
        for number in lease.trials.clone() {
            runs.push(lease.run.as_str());
            numbers.push(integer(number)?);
            epochs.push(i64::from(lease.epoch));
            begun.push(number < lease.begun);
        }
    }
    query(
        "insert into attempt (run, number, epoch, session, begun, solo, given_up, lost_at)
         select run.key, lost.number, lost.epoch, $5, lost.begun, $6, false, $7
         from unnest($1::text[], $2::bigint[], $3::bigint[], $4::boolean[]) with ordinality
             as lost(run, number, epoch, begun, place)
         join run on run.id = lost.run
         -- The first of two leases of a trial counts.
         order by lost.place
         on conflict do nothing",
    )
    .bind(runs)
    .bind(numbers)
    .bind(epochs)
    .bind(begun)
    .bind(bound(end.session))
    .bind(end.proof)
    .bind(end.at)
    .execute(&mut **writing)
    .await?;
    Ok(())
}

/// A session with a slice of a run's money leaves what the slice has left.
async fn leave_unsettled(writing: &mut Writing, session: u64, lost: &[Lease], unsettled: i64) -> Result<(), Error> {
    let runs: BTreeSet<&str> = lost.iter().map(|lease| lease.run.as_str()).collect();
    // A worker's claim must not cause an overflow.
    query(
        "update run set unsettled_nanos = least(unsettled_nanos, 9223372036854775807 - $2) + $2 where id = any($1)
         and not exists (select 1 from slice where slice.run = run.key and slice.session = $3)",
    )
    .bind(runs.into_iter().collect::<Vec<_>>())
    .bind(unsettled)
    .bind(bound(session))
    .execute(&mut **writing)
    .await?;
    Ok(())
}

/// What an earlier try lost with the session, as ranges without the ids of leases.
async fn lost_before(writing: &mut Writing, end: &End<'_>) -> Result<Vec<Lease>, Error> {
    let rows: Vec<(String, i64, i64, bool)> = query_as(
        "select run.id, number, epoch, begun from attempt join run on run.key = attempt.run
         where session = $1 and lost_at = $2 and not given_up order by run.id, number",
    )
    .bind(bound(end.session))
    .bind(end.at)
    .fetch_all(&mut **writing)
    .await?;
    let mut lost = Vec::new();
    for group in rows.chunk_by(|left, right| (&left.0, left.2, left.3) == (&right.0, right.2, right.3)) {
        let numbers = group.iter().map(|row| natural(row.1)).collect::<Result<Vec<u64>, _>>()?;
        for trials in ranges::fold(numbers) {
            let (run, epoch, begun) = (RunId::new(group[0].0.clone()), natural(group[0].2)?, group[0].3);
            let begun = if begun { trials.end } else { trials.start };
            lost.push(Lease { id: 0, run, trials, epoch, session: end.session, begun });
        }
    }
    Ok(lost)
}
