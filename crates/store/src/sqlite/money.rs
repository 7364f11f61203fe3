//! The money of runs: what each session got of it, and what became of it.

use record::Usd;
use scenario::RunId;
use sqlx::{SqliteConnection, query, query_as, query_scalar};

use super::{runs, writer::Writing};
use crate::{
    Account, Commit, Error, Ledger, Slice,
    values::{bound, natural},
};

type Row = (i64, i64, i64, i64, i64, bool);

pub(super) async fn fund(
    mut writing: Writing<'_>,
    run: &RunId,
    session: u64,
    account: Account,
    granted: Usd,
) -> Result<Slice, Error> {
    let lives: Option<i64> = query_scalar("select id from session where id = ?1 and ended_at is null")
        .bind(bound(session))
        .fetch_optional(&mut writing.connection)
        .await?;
    let key = match lives {
        Some(_) => runs::key(&mut writing.connection, run).await,
        None => Err(Error::SessionOver(session)),
    };
    let key = match key {
        Ok(key) => key,
        Err(error) => {
            writing.roll_back().await?;
            return Err(error);
        }
    };
    let slice = ledger(&mut writing.connection, key).await?.raised(session, account, granted);
    query(
        "insert into slice (run, session, granted_nanos, returned_nanos, charged_nanos, settled_nanos)
         values (?1, ?2, ?3, ?4, ?5, 0)
         on conflict do update set granted_nanos = excluded.granted_nanos, returned_nanos = excluded.returned_nanos,
             charged_nanos = excluded.charged_nanos",
    )
    .bind(key)
    .bind(bound(session))
    .bind(slice.granted.0)
    .bind(slice.returned.0)
    .bind(slice.charged.0)
    .execute(&mut writing.connection)
    .await?;
    writing.commit().await?;
    Ok(slice)
}

/// Adds the cost of a batch to its session's slice, with what the session says of it.
pub(super) async fn settle(writing: &mut Writing<'_>, run: i64, commit: &Commit) -> Result<(), Error> {
    let Some(account) = commit.account else { return Ok(()) };
    query(
        "update slice set settled_nanos = min(settled_nanos, 9223372036854775807 - ?3) + ?3,
             returned_nanos = min(max(returned_nanos, ?4), granted_nanos), charged_nanos = max(charged_nanos, ?5)
         where run = ?1 and session = ?2",
    )
    .bind(run)
    .bind(bound(commit.session))
    .bind(commit.segment.spend.cost().0)
    .bind(account.returned.0)
    .bind(account.charged.0)
    .execute(&mut writing.connection)
    .await?;
    Ok(())
}

pub(super) async fn ledger(connection: &mut SqliteConnection, run: i64) -> Result<Ledger, Error> {
    let (max_cost, unsettled): (Option<i64>, i64) =
        query_as("select max_cost_nanos, unsettled_nanos from run where key = ?1")
            .bind(run)
            .fetch_one(&mut *connection)
            .await?;
    let costs: Vec<i64> =
        query_scalar("select cost_nanos from spend where run = ?1").bind(run).fetch_all(&mut *connection).await?;
    let rows: Vec<Row> = query_as(
        "select session, granted_nanos, returned_nanos, charged_nanos, settled_nanos, ended_at is null
         from slice join session on session.id = slice.session where run = ?1 order by session",
    )
    .bind(run)
    .fetch_all(connection)
    .await?;
    let slices = rows.into_iter().map(slice).collect::<Result<_, _>>()?;
    Ok(Ledger::of(max_cost.map(Usd), Usd(unsettled), costs.into_iter().map(Usd).sum(), slices))
}

fn slice((session, granted, returned, charged, settled, open): Row) -> Result<Slice, Error> {
    let [granted, returned, charged, settled] = [granted, returned, charged, settled].map(Usd);
    Ok(Slice { session: natural(session)?, granted, returned, charged, settled, open })
}
