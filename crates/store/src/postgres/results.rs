//! Reads results: for the report, and for a scheduler that restarts.

use std::collections::BTreeSet;

use record::{Usd, trial::Past};
use scenario::RunId;
use sqlx::{PgConnection, PgPool, query_as, query_scalar};

pub(super) use super::spend::read as spend;
use super::{money, runs};
use crate::{
    Error, Lease, Recovered, StoredTrial, piece_columns,
    trial_columns::{self, AttemptRow, Attempts},
    values::{bound, natural},
};

/// All of a transaction was true at one moment.
const AT_ONE_MOMENT: &str = "begin isolation level repeatable read read only";

pub(super) async fn trials(pool: &PgPool, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
    let run = runs::key(pool, run).await?;
    let rows: Vec<TrialRow> = query_as(
        "select number, epoch, body, session, pieces, again, replaced_failed, replaced_broken
         from trial
         where run = $1 and number >= $2 order by number limit $3",
    )
    .bind(run)
    .bind(bound(first))
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await?;
    let stored = rows.into_iter().map(|(number, epoch, body, session, pieces, again, failed, broken)| {
        let past = Past { failed: natural(failed)?, broken: natural(broken)? };
        trial_columns::stored((number, epoch, session), &body, piece_columns::of_json(&pieces), again, past)
    });
    stored.collect()
}

/// Number, epoch, body, session, pieces, again, replaced ends that counted against the agent and of our side before them.
type TrialRow = (i64, i64, String, i64, String, bool, i64, i64);

pub(super) async fn recover(pool: &PgPool, run: &RunId) -> Result<Recovered, Error> {
    let mut reading = pool.begin_with(AT_ONE_MOMENT).await?;
    let key = runs::key(&mut *reading, run).await?;
    let (attempts, losses) = attempts(&mut reading, key).await?;
    let (replayed_attempts, replayed_trials, replayed_failed) = replayed(&mut reading, key).await?;
    let leases = leases(&mut reading, run, key).await?;
    let (load_began_at, runner) = runs::load(&mut *reading, key).await?;
    let decisions = runs::decisions(&mut *reading, key).await?;
    let seen = seen(&mut reading, &leases).await?;
    let ledger = money::ledger(&mut reading, key).await?;
    Ok(Recovered {
        done: done(&mut reading, key).await?,
        attempts,
        losses,
        leases,
        seen,
        lost_attempts: lost_attempts(&mut reading, key).await?,
        replayed_attempts,
        replayed_trials,
        replayed_failed,
        unsettled: unsettled(&mut reading, key).await? + ledger.unsettled(),
        ledger,
        load_began_at,
        runner,
        decisions,
    })
}

pub(super) async fn lost_over_time(pool: &PgPool, run: &RunId, limit: u32) -> Result<Vec<(i64, u64)>, Error> {
    let key = runs::key(pool, run).await?;
    let rows: Vec<(i64, i64)> = query_as(
        "select lost_at, count(*) from attempt where run = $1 and begun and not given_up
         group by lost_at order by lost_at limit $2",
    )
    .bind(key)
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(|(at, count)| Ok((at, natural(count)?))).collect()
}

/// Numbers without a gap have the same distance to their rank.
async fn done(reading: &mut PgConnection, run: i64) -> Result<Vec<std::ops::Range<u64>>, Error> {
    let rows: Vec<(i64, i64)> = query_as(
        "select min(number), max(number) + 1
         from (
             select number, number - row_number() over (order by number) as island from trial
             where run = $1 and not again) as numbered
         group by island order by 1",
    )
    .bind(run)
    .fetch_all(reading)
    .await?;
    rows.into_iter().map(|(first, past)| Ok(natural(first)?..natural(past)?)).collect()
}

/// The latest epoch of each trial that is not done and was leased, and how often it was lost since it last ended.
async fn attempts(reading: &mut PgConnection, run: i64) -> Result<Attempts, Error> {
    let ended: Vec<(i64, i64)> =
        query_as("select number, epoch from trial where run = $1 and again").bind(run).fetch_all(&mut *reading).await?;
    let rows: Vec<AttemptRow> = query_as(
        "select attempt.number, attempt.epoch, attempt.session, begun, solo, given_up, coalesce(trial.epoch, 0)
         from attempt left join trial on trial.run = attempt.run and trial.number = attempt.number
         where attempt.run = $1 and (trial.number is null or trial.again)
         order by attempt.number, attempt.epoch",
    )
    .bind(run)
    .fetch_all(reading)
    .await?;
    trial_columns::attempts(ended, rows)
}

/// The last heartbeat of the leases' sessions.
async fn seen(reading: &mut PgConnection, leases: &[Lease]) -> Result<Vec<(u64, i64)>, Error> {
    let sessions: BTreeSet<i64> = leases.iter().map(|lease| bound(lease.session)).collect();
    let rows: Vec<(i64, i64)> = query_as("select id, last_seen from session where id = any($1) order by id")
        .bind(sessions.into_iter().collect::<Vec<_>>())
        .fetch_all(reading)
        .await?;
    rows.into_iter().map(|(session, at)| Ok((natural(session)?, at))).collect()
}

/// The replaced ends, the trials that have some, and how many of the ends counted against the agent.
async fn replayed(reading: &mut PgConnection, run: i64) -> Result<(u64, u64, u64), Error> {
    let (ends, trials, failed): (i64, i64, i64) = query_as(
        "select coalesce(sum(replaced), 0)::bigint, count(*), coalesce(sum(replaced_failed), 0)::bigint from trial
         where run = $1 and replaced > 0",
    )
    .bind(run)
    .fetch_one(reading)
    .await?;
    Ok((natural(ends)?, natural(trials)?, natural(failed)?))
}

async fn lost_attempts(reading: &mut PgConnection, run: i64) -> Result<u64, Error> {
    natural(query_scalar("select count(*) from attempt where run = $1 and begun").bind(run).fetch_one(reading).await?)
}

async fn unsettled(reading: &mut PgConnection, run: i64) -> Result<Usd, Error> {
    Ok(Usd(query_scalar("select unsettled_nanos from run where key = $1").bind(run).fetch_one(reading).await?))
}

async fn leases(reading: &mut PgConnection, id: &RunId, run: i64) -> Result<Vec<Lease>, Error> {
    let rows: Vec<(i64, i64, i64, i64, i64, i64)> = query_as(
        "select session, id, first, past, epoch, begun from lease
         where run = $1 and past - first >
             (select count(*) from trial where trial.run = lease.run and number >= first and number < past
                 and (not again or trial.epoch >= lease.epoch))
         order by session, id, first",
    )
    .bind(run)
    .fetch_all(reading)
    .await?;
    let leases = rows.into_iter().map(|(session, lease, first, past, epoch, begun)| {
        let trials = natural(first)?..natural(past)?;
        let (lease, epoch, session, begun) = (natural(lease)?, natural(epoch)?, natural(session)?, natural(begun)?);
        Ok(Lease { id: lease, run: id.clone(), trials, epoch, session, begun })
    });
    leases.collect()
}
