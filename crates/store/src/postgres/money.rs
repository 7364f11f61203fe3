//! The money of runs: what each session got of it, and what became of it.

use record::Usd;
use scenario::RunId;
use sqlx::{PgConnection, query, query_as, query_scalar};

use super::{
    runs,
    server::{Server, Writing},
};
use crate::{
    Account, Commit, Error, Ledger, Slice,
    values::{bound, natural},
};

type Row = (i64, i64, i64, i64, i64, bool);

pub(super) async fn fund(
    store: &Server,
    run: &RunId,
    session: u64,
    account: Account,
    granted: Usd,
) -> Result<Slice, Error> {
    let mut writing = store.begin().await?;
    let lives: Option<i64> = query_scalar("select id from session where id = $1 and ended_at is null for share")
        .bind(bound(session))
        .fetch_optional(&mut *writing)
        .await?;
    if lives.is_none() {
        return Err(Error::SessionOver(session));
    }
    let key = runs::key(&mut *writing, run).await?;
    // Grants and commits of one run follow each other, so that no two of them count on the same money.
    query("select key from run where key = $1 for no key update").bind(key).execute(&mut *writing).await?;
    let slice = ledger(&mut writing, key).await?.raised(session, account, granted);
    query(
        "insert into slice (run, session, granted_nanos, returned_nanos, charged_nanos, settled_nanos)
         values ($1, $2, $3, $4, $5, 0)
         on conflict (run, session) do update set granted_nanos = excluded.granted_nanos,
             returned_nanos = excluded.returned_nanos, charged_nanos = excluded.charged_nanos",
    )
    .bind(key)
    .bind(bound(session))
    .bind(slice.granted.0)
    .bind(slice.returned.0)
    .bind(slice.charged.0)
    .execute(&mut *writing)
    .await?;
    writing.commit().await?;
    Ok(slice)
}

/// Adds the cost of a batch to its session's slice, with what the session says of it.
pub(super) async fn settle(writing: &mut Writing, run: i64, commit: &Commit) -> Result<(), Error> {
    let Some(account) = commit.account else { return Ok(()) };
    query(
        "update slice set settled_nanos = least(settled_nanos, 9223372036854775807 - $3) + $3,
             returned_nanos = least(greatest(returned_nanos, $4), granted_nanos),
             charged_nanos = greatest(charged_nanos, $5)
         where run = $1 and session = $2",
    )
    .bind(run)
    .bind(bound(commit.session))
    .bind(commit.segment.spend.cost().0)
    .bind(account.returned.0)
    .bind(account.charged.0)
    .execute(&mut **writing)
    .await?;
    Ok(())
}

pub(super) async fn ledger(connection: &mut PgConnection, run: i64) -> Result<Ledger, Error> {
    let (max_cost, unsettled): (Option<i64>, i64) =
        query_as("select max_cost_nanos, unsettled_nanos from run where key = $1")
            .bind(run)
            .fetch_one(&mut *connection)
            .await?;
    let costs: Vec<i64> =
        query_scalar("select cost_nanos from spend where run = $1").bind(run).fetch_all(&mut *connection).await?;
    let rows: Vec<Row> = query_as(
        "select session, granted_nanos, returned_nanos, charged_nanos, settled_nanos, ended_at is null
         from slice join session on session.id = slice.session where run = $1 order by session",
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
