//! Leases: granting them, giving back parts, and which of their trials are done.

use std::collections::BTreeSet;

use sqlx::{query, query_as, query_scalar};

use super::writer::Writing;
use crate::{
    Error, Lease,
    lease_columns::{self, Done, DoneRow, Live, LiveRow, Released, row},
    values::{bound, json},
};

pub(super) async fn grant(mut writing: Writing<'_>, leases: &[Lease], at: i64) -> Result<(), Error> {
    let rows = json(&leases.iter().map(|lease| row(lease, at)).collect::<Result<Vec<_>, _>>()?)?;
    // One query for all sessions and runs: the index of the first lease that may not be granted.
    let refused: Option<(i64, bool)> = query_as(
        "select granted.key, session.id is null
         from json_each(?1) as granted
         left join session on session.id = granted.value ->> 0 and session.ended_at is null
         left join run on run.id = granted.value ->> 4
         where session.id is null or run.key is null
         order by granted.key limit 1",
    )
    .bind(&rows)
    .fetch_optional(&mut writing.connection)
    .await?;
    if let Some((place, session_over)) = refused {
        writing.roll_back().await?;
        let lease = usize::try_from(place).ok().and_then(|place| leases.get(place));
        let lease = lease.ok_or_else(|| Error::Failed(format!("lease at {place} was refused")))?;
        let unknown_run = || Error::UnknownRun(lease.run.clone());
        return Err(if session_over { Error::SessionOver(lease.session) } else { unknown_run() });
    }
    // Removes leases that are done: each commit reads its session's leases, so they must stay few.
    query(
        "delete from lease
         where session in (select granted.value ->> 0 from json_each(?1) as granted)
         and past - first <=
             (select count(*) from trial where trial.run = lease.run and number >= first and number < past
                 and (not again or trial.epoch >= lease.epoch))",
    )
    .bind(&rows)
    .execute(&mut writing.connection)
    .await?;
    insert(&mut writing, &rows).await?;
    writing.commit().await
}

/// `begun_at`: the trials had begun, and are given up now.
pub(super) async fn release(
    mut writing: Writing<'_>,
    session: u64,
    released: &[Lease],
    begun_at: Option<i64>,
) -> Result<(), Error> {
    let done = if begun_at.is_some() { done(&mut writing, session).await? } else { BTreeSet::new() };
    let Released { cut, kept, given_up } = Released::of(live(&mut writing, session).await?, &done, released);
    if cut.is_empty() {
        return writing.roll_back().await;
    }
    query(
        "delete from lease
         where session = ?1 and (id, first) in (select cut.value ->> 0, cut.value ->> 1 from json_each(?2) as cut)",
    )
    .bind(bound(session))
    .bind(json(&cut)?)
    .execute(&mut writing.connection)
    .await?;
    let rows = json(&kept.iter().map(|(lease, at)| row(lease, *at)).collect::<Result<Vec<_>, _>>()?)?;
    insert(&mut writing, &rows).await?;
    if let Some(at) = begun_at.filter(|_| !given_up.is_empty()) {
        query(
            "insert into attempt (run, number, epoch, session, solo, given_up, lost_at)
             select gone.value ->> 0, gone.value ->> 1, gone.value ->> 2, ?2, 0, 1, ?3
             from json_each(?1) as gone where true on conflict do nothing",
        )
        .bind(json(&given_up)?)
        .bind(bound(session))
        .bind(at)
        .execute(&mut writing.connection)
        .await?;
    }
    writing.commit().await
}

/// The session's leases by id and first trial.
pub(super) async fn live(writing: &mut Writing<'_>, session: u64) -> Result<Vec<Live>, Error> {
    let rows: Vec<LiveRow> = query_as(
        "select lease.id, first, past, epoch, run.id, run.key, granted_at, begun
         from lease join run on run.key = lease.run where session = ?1 order by lease.id, first",
    )
    .bind(bound(session))
    .fetch_all(&mut writing.connection)
    .await?;
    lease_columns::live(session, rows)
}

/// The done trials of the session's leases.
pub(super) async fn done(writing: &mut Writing<'_>, session: u64) -> Result<BTreeSet<Done>, Error> {
    // Of a trial that is played again, an earlier lease is over. One row: each is a message between threads.
    let rows: String = query_scalar(
        "select json_group_array(json_array(lease.epoch, lease.run, number))
         from lease join trial on trial.run = lease.run and number >= first and number < past
         where lease.session = ?1 and (not again or trial.epoch >= lease.epoch)",
    )
    .bind(bound(session))
    .fetch_one(&mut writing.connection)
    .await?;
    let rows: Vec<DoneRow> =
        serde_json::from_str(&rows).map_err(|error| Error::Failed(format!("the done trials of leases: {error}")))?;
    lease_columns::done(rows)
}

/// Marks trials of the session's leases as begun, found by run and epoch.
pub(super) async fn begin(writing: &mut Writing<'_>, session: u64, begun: &[Lease]) -> Result<(), Error> {
    if begun.is_empty() {
        return Ok(());
    }
    let rows = begun.iter().map(|one| (one.run.as_str(), one.epoch, bound(one.trials.start), bound(one.trials.end)));
    query(
        "with said as materialized (
             select value ->> 0 as run, value ->> 1 as epoch, value ->> 2 as first, value ->> 3 as end from json_each(?2))
         update lease set begun = max(begun, min(past, begins.end))
         from (
             select lease.id as id, lease.first as first, max(said.end) as end
             from said
             join run on run.id = said.run
             join lease on lease.session = ?1 and lease.run = run.key and lease.epoch = said.epoch
                 and lease.first < said.end and lease.past > said.first
             group by 1, 2) as begins
         where lease.session = ?1 and lease.id = begins.id and lease.first = begins.first",
    )
    .bind(bound(session))
    .bind(json(&rows.collect::<Vec<_>>())?)
    .execute(&mut writing.connection)
    .await?;
    Ok(())
}

/// Removes all leases of a session.
pub(super) async fn forget(writing: &mut Writing<'_>, session: u64) -> Result<(), Error> {
    query("delete from lease where session = ?1").bind(bound(session)).execute(&mut writing.connection).await?;
    Ok(())
}

async fn insert(writing: &mut Writing<'_>, rows: &str) -> Result<(), Error> {
    query(
        "insert into lease (session, id, first, past, run, epoch, granted_at, begun)
         select granted.value ->> 0, granted.value ->> 1, granted.value ->> 2, granted.value ->> 3, run.key,
             granted.value ->> 5, granted.value ->> 6, granted.value ->> 7
         from json_each(?1) as granted join run on run.id = granted.value ->> 4",
    )
    .bind(rows)
    .execute(&mut writing.connection)
    .await?;
    Ok(())
}
