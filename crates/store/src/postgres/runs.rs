//! Runs and their plans.

use bytes::Bytes;
use record::{decision::Decision, runner::Runner, summary::RunState};
use scenario::{Digest, RunId};
use sqlx::{PgExecutor, PgPool, query, query_as, query_scalar};

use super::{server::Server, spend};
use crate::{
    Error, Moved, RunRow,
    run_columns::{Columns, row, state_name},
    values::json,
};

pub(super) async fn create(store: &Server, run: &RunRow, plan: &[u8]) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    query("insert into plan (digest, body) values ($1, $2) on conflict do nothing")
        .bind(run.plan_digest.as_str())
        .bind(plan)
        .execute(&mut *writing)
        .await?;
    let key: Option<i64> = query_scalar(
        "insert into run (id, name, plan_digest, seed, planned, state, started_at, ended_at, version, preflight,
             max_cost_nanos)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (id) do nothing returning key",
    )
    .bind(run.id.as_str())
    .bind(&run.name)
    .bind(run.plan_digest.as_str())
    .bind(run.seed.cast_signed())
    .bind(run.planned.cast_signed())
    .bind(state_name(run.state))
    .bind(run.started_at)
    .bind(run.ended_at)
    .bind(&run.version)
    .bind(json(&run.preflight)?)
    .bind(run.max_cost.map(|most| most.0))
    .fetch_optional(&mut *writing)
    .await?;
    let Some(key) = key else {
        let digest: String = query_scalar("select plan_digest from run where id = $1")
            .bind(run.id.as_str())
            .fetch_one(&mut *writing)
            .await?;
        // Rolled back: the plan of the other run stays.
        let same = digest == run.plan_digest.as_str();
        return if same { Ok(()) } else { Err(Error::Conflict(run.id.clone())) };
    };
    spend::add(&mut writing, key, &run.preflight).await?;
    Ok(writing.commit().await?)
}

pub(super) async fn one(pool: &PgPool, run: &RunId) -> Result<Option<RunRow>, Error> {
    let columns: Option<Columns> = query_as(
        "select id, name, plan_digest, seed, planned, state, started_at, ended_at, version, exhausted, preflight, max_cost_nanos
         from run where id = $1",
    )
    .bind(run.as_str())
    .fetch_optional(pool)
    .await?;
    columns.map(row).transpose()
}

pub(super) async fn all(pool: &PgPool) -> Result<Vec<RunRow>, Error> {
    let all: Vec<Columns> = query_as(
        r#"select id, name, plan_digest, seed, planned, state, started_at, ended_at, version, exhausted, preflight, max_cost_nanos
         from run where not deleted order by started_at desc, id collate "C" desc"#,
    )
    .fetch_all(pool)
    .await?;
    all.into_iter().map(row).collect()
}

pub(super) async fn plan(pool: &PgPool, digest: &Digest) -> Result<Option<Bytes>, Error> {
    let body: Option<Vec<u8>> =
        query_scalar("select body from plan where digest = $1").bind(digest.as_str()).fetch_optional(pool).await?;
    Ok(body.map(Bytes::from))
}

pub(super) async fn set_state(
    store: &Server,
    run: &RunId,
    state: RunState,
    ended_at: Option<i64>,
) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    let changed = query("update run set state = $2, ended_at = $3 where id = $1")
        .bind(run.as_str())
        .bind(state_name(state))
        .bind(ended_at)
        .execute(&mut *writing)
        .await?;
    writing.commit().await?;
    known(run, changed.rows_affected())
}

pub(super) async fn set_load_began(store: &Server, run: &RunId, at: i64) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    let changed = query("update run set load_began_at = $2 where id = $1")
        .bind(run.as_str())
        .bind(at)
        .execute(&mut *writing)
        .await?;
    writing.commit().await?;
    known(run, changed.rows_affected())
}

pub(super) async fn decide(
    store: &Server,
    run: &RunId,
    decision: &Decision,
    moved: Moved,
    again: bool,
) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    let key: Option<i64> = query_scalar(
        "update run set load_began_at = coalesce($2, load_began_at), planned = coalesce($3, planned),
             max_cost_nanos = coalesce($4, max_cost_nanos)
         where id = $1 returning key",
    )
    .bind(run.as_str())
    .bind(moved.load_began_at)
    .bind(moved.planned.map(u64::cast_signed))
    .bind(moved.max_cost.map(|most| most.0))
    .fetch_optional(&mut *writing)
    .await?;
    let Some(key) = key else { return Err(Error::UnknownRun(run.clone())) };
    // A decision includes its time, so an equal one is the same one, written by a try whose answer was lost.
    query(
        "insert into decision (run, body) select $1, $2
         where not ($3 and exists (select 1 from decision where run = $1 and body = $2))",
    )
    .bind(key)
    .bind(json(decision)?)
    .bind(again)
    .execute(&mut *writing)
    .await?;
    Ok(writing.commit().await?)
}

/// In the order in which they were made.
pub(super) async fn decisions(executor: impl PgExecutor<'_>, key: i64) -> Result<Vec<Decision>, Error> {
    let bodies: Vec<String> =
        query_scalar("select body from decision where run = $1 order by key").bind(key).fetch_all(executor).await?;
    bodies
        .iter()
        .map(|body| serde_json::from_str(body).map_err(|error| Error::Failed(format!("a stored decision: {error}"))))
        .collect()
}

pub(super) async fn set_runner(store: &Server, run: &RunId, runner: &Runner) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    let changed = query("update run set runner = $2 where id = $1")
        .bind(run.as_str())
        .bind(json(runner)?)
        .execute(&mut *writing)
        .await?;
    writing.commit().await?;
    known(run, changed.rows_affected())
}

/// When the load of a run began, and how loaded the machines of its workers were.
pub(super) async fn load(executor: impl PgExecutor<'_>, key: i64) -> Result<(Option<i64>, Runner), Error> {
    let (began_at, runner): (Option<i64>, Option<String>) =
        query_as("select load_began_at, runner from run where key = $1").bind(key).fetch_one(executor).await?;
    // What cannot be read says nothing: it is no reason to lose a run.
    let runner = runner.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    Ok((began_at, runner))
}

pub(super) async fn resume(store: &Server, run: &RunId, again: &[u64], replays: u32) -> Result<(), Error> {
    let mut writing = store.begin().await?;
    let key: Option<i64> = query_scalar(
        "update run set state = 'running', ended_at = null, exhausted = false where id = $1 returning key",
    )
    .bind(run.as_str())
    .fetch_optional(&mut *writing)
    .await?;
    let Some(key) = key else { return Err(Error::UnknownRun(run.clone())) };
    let numbers: Vec<i64> = again.iter().filter_map(|number| i64::try_from(*number).ok()).collect();
    query("update trial set again = true, replays_left = $3 where run = $1 and (again or number = any($2))")
        .bind(key)
        .bind(numbers)
        .bind(i64::from(replays))
        .execute(&mut *writing)
        .await?;
    Ok(writing.commit().await?)
}

/// The run's key in all other tables.
pub(super) async fn key(executor: impl PgExecutor<'_>, run: &RunId) -> Result<i64, Error> {
    let key = query_scalar("select key from run where id = $1").bind(run.as_str()).fetch_optional(executor).await?;
    key.ok_or_else(|| Error::UnknownRun(run.clone()))
}

fn known(run: &RunId, rows: u64) -> Result<(), Error> {
    if rows == 0 { Err(Error::UnknownRun(run.clone())) } else { Ok(()) }
}
