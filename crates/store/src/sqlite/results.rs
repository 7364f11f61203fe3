//! Reads results: for the report, and for a scheduler that restarts.

use std::collections::{BTreeMap, BTreeSet};

use record::{
    Role, Tokens, Trial, Usd,
    call::{Spend, SpendLine},
    trial::Past,
};
use scenario::RunId;
use sqlx::{Row as _, SqliteConnection, SqlitePool, query, query_as, query_scalar};

use super::{
    pieces, runs,
    values::{bound, json, natural},
};
use crate::{Error, Lease, Losses, Recovered, StoredTrial, losses};

pub(super) async fn trials(
    readers: &SqlitePool,
    run: &RunId,
    first: u64,
    limit: u32,
) -> Result<Vec<StoredTrial>, Error> {
    let run = runs::key(readers, run).await?;
    let rows: Vec<TrialRow> = query_as(
        "select number, epoch, body, session, pieces, first_sequence, last_sequence, again, replaced_failed, replaced_broken
         from trial
         where run = ?1 and number >= ?2 order by number limit ?3",
    )
    .bind(run)
    .bind(bound(first))
    .bind(limit)
    .fetch_all(readers)
    .await?;
    rows.into_iter().map(stored).collect()
}

/// Number, epoch, and the other columns in their order.
type TrialRow = (i64, i64, String, i64, Option<String>, i64, i64, bool, u32, u32);

/// A trial that cannot be read does not keep others from being read.
fn stored(row: TrialRow) -> Result<StoredTrial, Error> {
    let (number, epoch, body, session, pieces, first_sequence, last_sequence, again, failed, broken) = row;
    let (number, epoch, session) = (natural(number)?, natural(epoch)?, natural(session)?);
    let pieces = match pieces {
        Some(pieces) => pieces::of_json(&pieces),
        None => Ok(pieces::whole(natural(first_sequence)?..=natural(last_sequence)?)),
    };
    let read = serde_json::from_str::<Trial>(&body).map_err(|error| error.to_string()).and_then(|trial| {
        let pieces = pieces.map_err(|error| error.to_string())?;
        if trial.number == number { Ok((trial, pieces)) } else { Err(format!("it is that of trial {}", trial.number)) }
    });
    Ok(match read {
        Ok((trial, pieces)) => StoredTrial {
            trial: Trial { past: Past { failed, broken }, ..trial },
            session,
            pieces,
            again,
            unreadable: false,
        },
        Err(reason) => StoredTrial::unreadable(number, epoch, session, again, &reason),
    })
}

pub(super) async fn spend(readers: &SqlitePool, run: &RunId) -> Result<Spend, Error> {
    let run = runs::key(readers, run).await?;
    let rows = query("select * from spend where run = ?1").bind(run).fetch_all(readers).await?;
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
        unsettled: unsettled(&mut reading, key).await?,
    })
}

/// Numbers without a gap have the same distance to their rank.
async fn done(reading: &mut SqliteConnection, run: i64) -> Result<Vec<std::ops::Range<u64>>, Error> {
    let rows: Vec<(i64, i64)> = query_as(
        "select min(number), max(number) + 1
         from (
             select number, number - row_number() over (order by number) as island from trial
             where run = ?1 and not again)
         group by island order by 1",
    )
    .bind(run)
    .fetch_all(reading)
    .await?;
    rows.into_iter().map(|(first, past)| Ok(natural(first)?..natural(past)?)).collect()
}

/// The latest epoch of each trial that is not done and was leased, and how often it was lost since it last ended.
async fn attempts(reading: &mut SqliteConnection, run: i64) -> Result<(Vec<(u64, u32)>, Vec<Losses>), Error> {
    let ended: Vec<(i64, i64)> =
        query_as("select number, epoch from trial where run = ?1 and again").bind(run).fetch_all(&mut *reading).await?;
    let rows: Vec<(i64, i64, i64, bool, bool, bool, i64)> = query_as(
        "select attempt.number, attempt.epoch, attempt.session, begun, solo, given_up, coalesce(trial.epoch, 0)
         from attempt left join trial on trial.run = attempt.run and trial.number = attempt.number
         where attempt.run = ?1 and (trial.number is null or trial.again)
         order by attempt.number, attempt.epoch",
    )
    .bind(run)
    .fetch_all(reading)
    .await?;
    let mut attempts: BTreeMap<u64, u32> = BTreeMap::new();
    for (number, epoch) in ended {
        attempts.insert(natural(number)?, natural(epoch)?);
    }
    let mut lost = Vec::with_capacity(rows.len());
    for (number, epoch, session, begun, proof, given_up, ended) in rows {
        let attempt = attempts.entry(natural(number)?).or_default();
        *attempt = (*attempt).max(natural(epoch)?);
        if epoch > ended {
            let (number, session) = (natural(number)?, natural(session)?);
            lost.push(losses::Lost { number, session, begun, proof, given_up });
        }
    }
    Ok((attempts.into_iter().collect(), losses::fold(lost)))
}

/// When the sessions of the leases were last heard.
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

/// Ends that another took the place of, the trials that had some, and those of the ends that were held against the agent.
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
