//! What was counted, read back: for the report, and for a scheduler that starts again.

use record::{
    Role, Tokens, Usd,
    call::{Spend, SpendLine},
};
use scenario::RunId;
use sqlx::{SqliteConnection, SqlitePool, query_as, query_scalar};

use super::{bound, natural, pieces, runs};
use crate::{Error, Lease, Recovered, StoredTrial};

pub(super) async fn trials(
    readers: &SqlitePool,
    run: &RunId,
    first: u64,
    limit: u32,
) -> Result<Vec<StoredTrial>, Error> {
    let run = runs::key(readers, run).await?;
    let rows: Vec<(String, i64, Option<String>, i64, i64, bool)> = query_as(
        "select body, session, pieces, first_sequence, last_sequence, again from trial
         where run = ?1 and number >= ?2 order by number limit ?3",
    )
    .bind(run)
    .bind(bound(first))
    .bind(limit)
    .fetch_all(readers)
    .await?;
    let stored = rows.into_iter().map(|(body, session, pieces, first_sequence, last_sequence, again)| {
        let trial = serde_json::from_str(&body).map_err(|error| Error::Failed(format!("a stored trial: {error}")))?;
        let pieces = match pieces {
            Some(pieces) => pieces::of_json(&pieces)?,
            None => pieces::whole(natural(first_sequence)?..=natural(last_sequence)?),
        };
        Ok(StoredTrial { trial, session: natural(session)?, pieces, again })
    });
    stored.collect()
}

pub(super) async fn spend(readers: &SqlitePool, run: &RunId) -> Result<Spend, Error> {
    let run = runs::key(readers, run).await?;
    let rows: Vec<SpendRow> = query_as(
        "select role, model, calls, input_tokens, output_tokens, cost_nanos, unpriced_calls, estimated_calls, tries,
             throttled_tries, wait_micros
         from spend where run = ?1",
    )
    .bind(run)
    .fetch_all(readers)
    .await?;
    let mut spend = Spend::default();
    for (name, model, calls, input, output, cost_nanos, unpriced, estimated, tries, throttled, wait) in rows {
        let role = Role::ALL.into_iter().find(|role| role.name() == name);
        let role = role.ok_or_else(|| Error::Failed(format!("{name} where a role is kept")))?;
        let line = SpendLine {
            calls: natural(calls)?,
            tokens: Tokens { input: natural(input)?, output: natural(output)? },
            cost: Usd(cost_nanos),
            unpriced_calls: natural(unpriced)?,
            estimated_calls: natural(estimated)?,
            tries: natural(tries)?,
            throttled_tries: natural(throttled)?,
            wait_micros: natural(wait)?,
        };
        spend.add_line(role, &model, line);
    }
    Ok(spend)
}

/// Role, model, and the columns in their order.
type SpendRow = (String, String, i64, i64, i64, i64, i64, i64, i64, i64, i64);

pub(super) async fn recover(readers: &SqlitePool, run: &RunId) -> Result<Recovered, Error> {
    // One transaction, so that all of it was true at one moment.
    let mut reading = readers.begin().await?;
    let key = runs::key(&mut *reading, run).await?;
    let begun = attempts(&mut reading, key).await?;
    let (replayed_attempts, replayed_trials) = replayed(&mut reading, key).await?;
    let some = |of: fn(&Attempts) -> u32| -> Vec<(u64, u32)> {
        let each = begun.iter().map(move |attempts| (attempts.number, of(attempts)));
        each.filter(|(_, count)| *count > 0).collect()
    };
    Ok(Recovered {
        done: done(&mut reading, key).await?,
        attempts: some(|attempts| attempts.last_epoch),
        losses: some(|attempts| attempts.losses),
        solo_losses: some(|attempts| attempts.solo_losses),
        replayed_attempts,
        replayed_trials,
        leases: leases(&mut reading, run, key).await?,
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

/// Of a trial that is not done and was begun.
struct Attempts {
    number: u64,
    last_epoch: u32,
    losses: u32,
    solo_losses: u32,
}

async fn attempts(reading: &mut SqliteConnection, run: i64) -> Result<Vec<Attempts>, Error> {
    let rows: Vec<(i64, i64, i64, i64)> = query_as(
        "select number, max(epoch), sum(lost), sum(solo)
         from (
             select number, epoch, not given_up as lost, solo from attempt
             where run = ?1 and not exists (
                 select 1 from trial
                 where trial.run = attempt.run and trial.number = attempt.number and not trial.again)
             union all
             select number, epoch, 0, 0 from trial where run = ?1 and again)
         group by number order by number",
    )
    .bind(run)
    .fetch_all(reading)
    .await?;
    let attempts = rows.into_iter().map(|(number, last_epoch, losses, solo_losses)| {
        let (number, last_epoch) = (natural(number)?, natural(last_epoch)?);
        Ok(Attempts { number, last_epoch, losses: natural(losses)?, solo_losses: natural(solo_losses)? })
    });
    attempts.collect()
}

/// Ends that another took the place of, and the trials that had some.
async fn replayed(reading: &mut SqliteConnection, run: i64) -> Result<(u64, u64), Error> {
    let (ends, trials): (i64, i64) =
        query_as("select coalesce(sum(replaced), 0), count(*) from trial where run = ?1 and replaced > 0")
            .bind(run)
            .fetch_one(reading)
            .await?;
    Ok((natural(ends)?, natural(trials)?))
}

async fn lost_attempts(reading: &mut SqliteConnection, run: i64) -> Result<u64, Error> {
    natural(query_scalar("select count(*) from attempt where run = ?1").bind(run).fetch_one(reading).await?)
}

async fn unsettled(reading: &mut SqliteConnection, run: i64) -> Result<Usd, Error> {
    Ok(Usd(query_scalar("select unsettled_nanos from run where key = ?1").bind(run).fetch_one(reading).await?))
}

async fn leases(reading: &mut SqliteConnection, id: &RunId, run: i64) -> Result<Vec<Lease>, Error> {
    let rows: Vec<(i64, i64, i64, i64, i64)> = query_as(
        "select session, id, first, past, epoch from lease
         where run = ?1 and past - first >
             (select count(*) from trial where trial.run = lease.run and number >= first and number < past
                 and (not again or trial.epoch >= lease.epoch))
         order by session, id, first",
    )
    .bind(run)
    .fetch_all(reading)
    .await?;
    let leases = rows.into_iter().map(|(session, lease, first, past, epoch)| {
        let trials = natural(first)?..natural(past)?;
        Ok(Lease { id: natural(lease)?, run: id.clone(), trials, epoch: natural(epoch)?, session: natural(session)? })
    });
    leases.collect()
}
