//! Reads results: for the report, and for a scheduler that restarts.

use std::collections::BTreeSet;

use record::{
    Role, Tokens, Usd,
    call::{Spend, SpendLine},
    trial::Past,
};
use scenario::RunId;
use sqlx::{Row as _, SqliteConnection, SqliteExecutor, SqlitePool, query, query_as, query_scalar};

use super::{money, pieces, runs};
use crate::{
    Error, Lease, Recovered, StoredTrial, piece_columns,
    trial_columns::{self, AttemptRow, Attempts},
    values::{bound, json, natural},
};

pub(super) async fn trials(
    readers: &SqlitePool,
    run: &RunId,
    first: u64,
    limit: u32,
) -> Result<Vec<StoredTrial>, Error> {
    let run = runs::key(readers, run).await?;
    if let Ok(Some(page)) = page(readers, run, first, limit).await {
        return Ok(page);
    }
    let rows: Vec<Row> = query_as(
        "select body, number, epoch, session, pieces, first_sequence, last_sequence, again, replaced_failed, replaced_broken
         from trial
         where run = ?1 and number >= ?2 order by number limit ?3",
    )
    .bind(run)
    .bind(bound(first))
    .bind(limit)
    .fetch_all(readers)
    .await?;
    let stored = |(body, number, epoch, session, pieces, from, to, again, failed, broken): Row| {
        stored(&body, (number, epoch, session, pieces, from, to, again, failed, broken))
    };
    rows.into_iter().map(stored).collect()
}

/// The same, read as one row: each row is a message between threads, which costs more than what is in it. `None` if a body
/// has the separator in it, which only a damaged one has. Fails if they are too large for one row.
async fn page(readers: &SqlitePool, run: i64, first: u64, limit: u32) -> Result<Option<Vec<StoredTrial>>, Error> {
    // JSON has no control characters.
    const BETWEEN: char = '\u{1e}';
    let (columns, bodies): (String, Option<String>) = query_as(
        "select json_group_array(json_array(number, epoch, session, pieces, first_sequence, last_sequence, again,
                replaced_failed, replaced_broken)), group_concat(body, ?4)
         from (select * from trial where run = ?1 and number >= ?2 order by number limit ?3)",
    )
    .bind(run)
    .bind(bound(first))
    .bind(limit)
    .bind(BETWEEN.to_string())
    .fetch_one(readers)
    .await?;
    let columns: Vec<Columns> =
        serde_json::from_str(&columns).map_err(|error| Error::Failed(format!("a page of trials: {error}")))?;
    let Some(bodies) = bodies else { return Ok(Some(Vec::new())) };
    if bodies.split(BETWEEN).count() != columns.len() {
        return Ok(None);
    }
    let page = bodies.split(BETWEEN).zip(columns).map(|(body, columns)| stored(body, columns));
    page.collect::<Result<_, _>>().map(Some)
}

/// Number, epoch, session, pieces, first and last sequence, whether it is played again, failed and broken ends before.
type Columns = (i64, i64, i64, Option<String>, i64, i64, i64, u32, u32);

/// The body, and then as [`Columns`].
type Row = (String, i64, i64, i64, Option<String>, i64, i64, i64, u32, u32);

fn stored(body: &str, columns: Columns) -> Result<StoredTrial, Error> {
    let (number, epoch, session, pieces, first_sequence, last_sequence, again, failed, broken) = columns;
    let pieces = match pieces {
        Some(pieces) => piece_columns::of_json(&pieces),
        None => Ok(pieces::whole(natural(first_sequence)?..=natural(last_sequence)?)),
    };
    trial_columns::stored((number, epoch, session), body, pieces, again != 0, Past { failed, broken })
}

pub(super) async fn spend(readers: &SqlitePool, run: &RunId) -> Result<Spend, Error> {
    spend_of(readers, runs::key(readers, run).await?).await
}

/// By the key of the run.
pub(super) async fn spend_of(reader: impl SqliteExecutor<'_>, run: i64) -> Result<Spend, Error> {
    let rows = query("select * from spend where run = ?1").bind(run).fetch_all(reader).await?;
    let mut spend = Spend::default();
    for row in rows {
        let count = |column: &str| natural(row.try_get(column)?);
        let name: String = row.try_get("role")?;
        let model: String = row.try_get("model")?;
        let role = Role::ALL.into_iter().find(|role| role.name() == name);
        let role = role.ok_or_else(|| Error::Failed(format!("{name} where a role is kept")))?;
        let line = SpendLine {
            calls: count("calls")?,
            tokens: Tokens {
                input: count("input_tokens")?,
                output: count("output_tokens")?,
                cached_input: count("cached_input_tokens")?,
                cache_write: count("cache_write_tokens")?,
                reasoning: count("reasoning_tokens")?,
            },
            cost: Usd(row.try_get("cost_nanos")?),
            unpriced_calls: count("unpriced_calls")?,
            estimated_calls: count("estimated_calls")?,
            tries: count("tries")?,
            throttled_tries: count("throttled_tries")?,
            wait_micros: count("wait_micros")?,
            plain_priced_calls: count("plain_priced_calls")?,
            cut_calls: count("cut_calls")?,
            reported_cost: Usd(row.try_get("reported_cost_nanos")?),
        };
        spend.add_line(role, &model, line);
    }
    Ok(spend)
}

pub(super) async fn recover(readers: &SqlitePool, run: &RunId) -> Result<Recovered, Error> {
    // One transaction, so that all of it was true at one moment.
    let mut reading = readers.begin().await?;
    let key = runs::key(&mut *reading, run).await?;
    let (attempts, losses) = attempts(&mut reading, key).await?;
    let (replayed_attempts, replayed_trials, replayed_failed) = replayed(&mut reading, key).await?;
    let leases = leases(&mut reading, run, key).await?;
    let (load_began_at, runner) = runs::load(&mut *reading, key).await?;
    let decisions = runs::decisions(&mut *reading, key).await?;
    let ledger = money::ledger(&mut reading, key).await?;
    Ok(Recovered {
        done: done(&mut reading, key).await?,
        attempts,
        losses,
        replayed_attempts,
        replayed_trials,
        replayed_failed,
        seen: seen(&mut reading, &leases).await?,
        leases,
        lost_attempts: lost_attempts(&mut reading, key).await?,
        unsettled: unsettled(&mut reading, key).await? + ledger.unsettled(),
        ledger,
        load_began_at,
        runner,
        decisions,
    })
}

pub(super) async fn lost_over_time(readers: &SqlitePool, run: &RunId, limit: u32) -> Result<Vec<(i64, u64)>, Error> {
    let mut reading = readers.begin().await?;
    let key = runs::key(&mut *reading, run).await?;
    let rows: Vec<(i64, i64)> = query_as(
        "select lost_at, count(*) from attempt where run = ?1 and begun and not given_up
         group by lost_at order by lost_at limit ?2",
    )
    .bind(key)
    .bind(i64::from(limit))
    .fetch_all(&mut *reading)
    .await?;
    rows.into_iter().map(|(at, count)| Ok((at, natural(count)?))).collect()
}

/// Numbers without a gap have the same distance to their rank. Read from indexes alone: the rows of trials are large.
async fn done(reading: &mut SqliteConnection, run: i64) -> Result<Vec<std::ops::Range<u64>>, Error> {
    let rows: Vec<(i64, i64)> = query_as(
        "select min(number), max(number) + 1
         from (
             select number, number - row_number() over (order by number) as island from trial
             where run = ?1 and number not in (select number from trial where run = ?1 and again))
         group by island order by 1",
    )
    .bind(run)
    .fetch_all(reading)
    .await?;
    rows.into_iter().map(|(first, past)| Ok(natural(first)?..natural(past)?)).collect()
}

/// The latest epoch of each trial that is not done and was leased, and how often it was lost since it last ended.
async fn attempts(reading: &mut SqliteConnection, run: i64) -> Result<Attempts, Error> {
    let ended: Vec<(i64, i64)> =
        query_as("select number, epoch from trial where run = ?1 and again").bind(run).fetch_all(&mut *reading).await?;
    let rows: Vec<AttemptRow> = query_as(
        "select attempt.number, attempt.epoch, attempt.session, begun, solo, given_up, coalesce(trial.epoch, 0)
         from attempt left join trial on trial.run = attempt.run and trial.number = attempt.number
         where attempt.run = ?1 and (trial.number is null or trial.again)
         order by attempt.number, attempt.epoch",
    )
    .bind(run)
    .fetch_all(reading)
    .await?;
    trial_columns::attempts(ended, rows)
}

/// The last heartbeat of the leases' sessions.
async fn seen(reading: &mut SqliteConnection, leases: &[Lease]) -> Result<Vec<(u64, i64)>, Error> {
    let sessions: BTreeSet<u64> = leases.iter().map(|lease| lease.session).collect();
    let rows: Vec<(i64, i64)> = query_as(
        "select id, last_seen from session where id in (select of.value from json_each(?1) as of) order by id",
    )
    .bind(json(&sessions)?)
    .fetch_all(reading)
    .await?;
    rows.into_iter().map(|(session, at)| Ok((natural(session)?, at))).collect()
}

/// The replaced ends, the trials that have some, and how many of the ends counted against the agent.
async fn replayed(reading: &mut SqliteConnection, run: i64) -> Result<(u64, u64, u64), Error> {
    let (ends, trials, failed): (i64, i64, i64) = query_as(
        "select coalesce(sum(replaced), 0), count(*), coalesce(sum(replaced_failed), 0) from trial
         where run = ?1 and replaced > 0",
    )
    .bind(run)
    .fetch_one(reading)
    .await?;
    Ok((natural(ends)?, natural(trials)?, natural(failed)?))
}

async fn lost_attempts(reading: &mut SqliteConnection, run: i64) -> Result<u64, Error> {
    natural(query_scalar("select count(*) from attempt where run = ?1 and begun").bind(run).fetch_one(reading).await?)
}

async fn unsettled(reading: &mut SqliteConnection, run: i64) -> Result<Usd, Error> {
    Ok(Usd(query_scalar("select unsettled_nanos from run where key = ?1").bind(run).fetch_one(reading).await?))
}

async fn leases(reading: &mut SqliteConnection, id: &RunId, run: i64) -> Result<Vec<Lease>, Error> {
    let rows: Vec<(i64, i64, i64, i64, i64, i64)> = query_as(
        "select session, id, first, past, epoch, begun from lease
         where run = ?1 and past - first >
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
