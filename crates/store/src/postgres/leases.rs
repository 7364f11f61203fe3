//! Leases: granting them, giving back parts, and which of their trials are done.

use std::collections::BTreeSet;

use sqlx::{query, query_as, query_scalar};

use super::server::{Server, Writing};
use crate::{
    Error, Lease,
    lease_columns::{self, Done, DoneRow, Live, LiveRow, Released, row},
    values::bound,
};

/// `again`: an earlier try may have granted them already.
pub(super) async fn grant(store: &Server, leases: &[Lease], at: i64, again: bool) -> Result<(), Error> {
    let rows = Rows::of(leases.iter().map(|lease| (lease, at)))?;
    let sessions: Vec<i64> = rows.sessions.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut writing = store.begin().await?;
    // Locked until they have their leases, so that none of them ends in between.
    query("select id from session where id = any($1) order by id for update")
        .bind(&sessions)
        .execute(&mut *writing)
        .await?;
    // One query for all sessions and runs: the place of the first lease that may not be granted.
    let refused: Option<(i64, bool)> = query_as(
        "select granted.place, session.id is null
         from unnest($1::bigint[], $2::text[]) with ordinality as granted(session, run, place)
         left join session on session.id = granted.session and session.ended_at is null
         left join run on run.id = granted.run
         where session.id is null or run.key is null
         order by granted.place limit 1",
    )
    .bind(&rows.sessions)
    .bind(&rows.runs)
    .fetch_optional(&mut *writing)
    .await?;
    if let Some((place, session_over)) = refused {
        let lease = usize::try_from(place - 1).ok().and_then(|place| leases.get(place));
        let lease = lease.ok_or_else(|| Error::Failed(format!("lease at {place} was refused")))?;
        let unknown_run = || Error::UnknownRun(lease.run.clone());
        return Err(if session_over { Error::SessionOver(lease.session) } else { unknown_run() });
    }
    // Removes leases that are done: each commit reads its session's leases, so they must stay few.
    query(
        "delete from lease
         where session = any($1)
         and past - first <=
             (select count(*) from trial where trial.run = lease.run and number >= first and number < past
                 and (not again or trial.epoch >= lease.epoch))",
    )
    .bind(&sessions)
    .execute(&mut *writing)
    .await?;
    rows.insert(&mut writing, again).await?;
    Ok(writing.commit().await?)
}

/// `begun_at`: the trials had begun, and are given up now.
pub(super) async fn release(
    store: &Server,
    session: u64,
    released: &[Lease],
    begun_at: Option<i64>,
) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    let there: Option<i64> = query_scalar("select id from session where id = $1 for update")
        .bind(bound(session))
        .fetch_optional(&mut *writing)
        .await?;
    if there.is_none() {
        return Ok(());
    }
    let done = if begun_at.is_some() { done(&mut writing, session).await? } else { BTreeSet::new() };
    let Released { cut, kept, given_up } = Released::of(live(&mut writing, session).await?, &done, released);
    if cut.is_empty() {
        return Ok(());
    }
    let (ids, firsts): (Vec<i64>, Vec<i64>) = cut.into_iter().map(|(id, first)| (bound(id), bound(first))).unzip();
    query(
        "delete from lease
         where session = $1 and (id, first) in (select * from unnest($2::bigint[], $3::bigint[]))",
    )
    .bind(bound(session))
    .bind(ids)
    .bind(firsts)
    .execute(&mut *writing)
    .await?;
    Rows::of(kept.iter().map(|(lease, at)| (lease, *at)))?.insert(&mut writing, false).await?;
    if let Some(at) = begun_at.filter(|_| !given_up.is_empty()) {
        let mut columns: (Vec<i64>, Vec<i64>, Vec<i64>) = Default::default();
        for (run, number, epoch) in given_up {
            columns.0.push(run);
            columns.1.push(bound(number));
            columns.2.push(i64::from(epoch));
        }
        query(
            "insert into attempt (run, number, epoch, session, begun, solo, given_up, lost_at)
             select gone.*, $4, true, false, true, $5 from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as gone
             on conflict do nothing",
        )
        .bind(columns.0)
        .bind(columns.1)
        .bind(columns.2)
        .bind(bound(session))
        .bind(at)
        .execute(&mut *writing)
        .await?;
    }
    Ok(writing.commit().await?)
}

/// The session's leases by id and first trial.
pub(super) async fn live(writing: &mut Writing, session: u64) -> Result<Vec<Live>, Error> {
    let rows: Vec<LiveRow> = query_as(
        "select lease.id, first, past, epoch, run.id, run.key, granted_at, begun
         from lease join run on run.key = lease.run where session = $1 order by lease.id, first",
    )
    .bind(bound(session))
    .fetch_all(&mut **writing)
    .await?;
    lease_columns::live(session, rows)
}

/// The done trials of the session's leases.
pub(super) async fn done(writing: &mut Writing, session: u64) -> Result<BTreeSet<Done>, Error> {
    // Of a trial that is played again, an earlier lease is over.
    let rows: Vec<DoneRow> = query_as(
        "select distinct lease.epoch, lease.run, number
         from lease join trial on trial.run = lease.run and number >= first and number < past
         where lease.session = $1 and (not again or trial.epoch >= lease.epoch)",
    )
    .bind(bound(session))
    .fetch_all(&mut **writing)
    .await?;
    lease_columns::done(rows)
}

/// Marks trials of the session's leases as begun, found by run and epoch.
pub(super) async fn begin(writing: &mut Writing, session: u64, begun: &[Lease]) -> Result<(), Error> {
    if begun.is_empty() {
        return Ok(());
    }
    let (mut runs, mut epochs, mut firsts, mut pasts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for one in begun {
        runs.push(one.run.as_str());
        epochs.push(i64::from(one.epoch));
        firsts.push(bound(one.trials.start));
        pasts.push(bound(one.trials.end));
    }
    query(
        "update lease set begun = greatest(lease.begun, least(lease.past, begins.past))
         from (
             select lease.id, lease.first, max(said.past) as past
             from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) as said(run, epoch, first, past)
             join run on run.id = said.run
             join lease on lease.session = $1 and lease.run = run.key and lease.epoch = said.epoch
                 and lease.first < said.past and lease.past > said.first
             group by 1, 2) as begins
         where lease.session = $1 and lease.id = begins.id and lease.first = begins.first",
    )
    .bind(bound(session))
    .bind(runs)
    .bind(epochs)
    .bind(firsts)
    .bind(pasts)
    .execute(&mut **writing)
    .await?;
    Ok(())
}

/// Removes all leases of a session.
pub(super) async fn forget(writing: &mut Writing, session: u64) -> Result<(), Error> {
    query("delete from lease where session = $1").bind(bound(session)).execute(&mut **writing).await?;
    Ok(())
}

/// Leases as columns.
#[derive(Default)]
struct Rows<'a> {
    sessions: Vec<i64>,
    ids: Vec<i64>,
    firsts: Vec<i64>,
    pasts: Vec<i64>,
    runs: Vec<&'a str>,
    epochs: Vec<i64>,
    granted_at: Vec<i64>,
    begun: Vec<i64>,
}

impl<'a> Rows<'a> {
    /// Each lease with the time of its grant.
    fn of(leases: impl Iterator<Item = (&'a Lease, i64)>) -> Result<Self, Error> {
        let mut rows = Self::default();
        for (lease, at) in leases {
            let (session, id, first, past, run, epoch, granted_at, begun) = row(lease, at)?;
            rows.sessions.push(session);
            rows.ids.push(id);
            rows.firsts.push(first);
            rows.pasts.push(past);
            rows.runs.push(run);
            rows.epochs.push(i64::from(epoch));
            rows.granted_at.push(granted_at);
            rows.begun.push(begun);
        }
        Ok(rows)
    }

    /// `again`: those that are there already stay as they are.
    async fn insert(self, writing: &mut Writing, again: bool) -> Result<(), Error> {
        query(
            "insert into lease (session, id, first, past, run, epoch, granted_at, begun)
             select granted.session, granted.id, granted.first, granted.past, run.key, granted.epoch, granted.granted_at,
                 granted.begun
             from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[],
                 $8::bigint[]) as granted(session, id, first, past, run, epoch, granted_at, begun)
             join run on run.id = granted.run
             where not ($9 and exists (
                 select 1 from lease
                 where session = granted.session and id = granted.id and first = granted.first))",
        )
        .bind(self.sessions)
        .bind(self.ids)
        .bind(self.firsts)
        .bind(self.pasts)
        .bind(self.runs)
        .bind(self.epochs)
        .bind(self.granted_at)
        .bind(self.begun)
        .bind(again)
        .execute(&mut **writing)
        .await?;
        Ok(())
    }
}
