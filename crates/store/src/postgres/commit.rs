//! A batch of results: its turns, the counted trials, their usage, and the session's watermark.
//!
//! At most ten statements for any number of trials, and none in a loop but for trials that a batch names several times.

use std::collections::BTreeMap;

use record::{compact_json, trial::Past};
use sqlx::{query, query_as, query_scalar};

use super::{
    leases, money, runs,
    server::{Server, Writing},
    spend,
};
use crate::{
    Commit, Committed, EndedTrial, Error,
    counting::{End, code, exhausted, not_kept, outcome},
    packing::{PIECES_AT_A_TIME, Packer},
    piece_columns,
    store::gap,
    values::{bound, integer, json},
};

/// So many trials are encoded before other tasks of the thread run.
const AT_A_TIME: usize = 8;

/// A commit in the form that its statements take.
pub(super) struct Encoded {
    session: i64,
    sequence: i64,
    pieces: Vec<Vec<u8>>,
    spend: String,
    /// Each number occurs once in a round; a well-behaved worker's batch has one.
    rounds: Vec<Round>,
    /// Sequences and places of the pieces in earlier segments of the session that are not kept.
    forgotten: (Vec<i64>, Vec<i32>),
}

/// Trials as columns.
#[derive(Default)]
struct Round {
    numbers: Vec<i64>,
    epochs: Vec<i64>,
    pieces: Vec<String>,
    bodies: Vec<String>,
    replays: Vec<i16>,
}

impl Encoded {
    pub(super) async fn of(commit: &Commit) -> Result<Self, Error> {
        let (unwritten, earlier) = not_kept(commit)?;
        let mut packer = Packer::new()?;
        let mut packed = Vec::with_capacity(commit.segment.pieces.len());
        for (piece, place) in commit.segment.pieces.iter().zip(0_u32..) {
            if place > 0 && place.is_multiple_of(PIECES_AT_A_TIME) {
                tokio::task::yield_now().await;
            }
            packed.push(if unwritten.contains(&place) { Vec::new() } else { packer.pack(piece)? });
        }
        let mut rounds: Vec<Round> = Vec::new();
        let mut named: BTreeMap<u64, usize> = BTreeMap::new();
        for (place, EndedTrial { trial, pieces, kept }) in commit.ended.iter().enumerate() {
            if place > 0 && place.is_multiple_of(AT_A_TIME) {
                tokio::task::yield_now().await;
            }
            let round = named.entry(trial.number).or_default();
            if rounds.len() == *round {
                rounds.push(Round::default());
            }
            let mut body = Vec::new();
            compact_json::append_without_nulls(trial, &mut body).map_err(|error| Error::Failed(error.to_string()))?;
            let body = String::from_utf8(body).map_err(|error| Error::Failed(error.to_string()))?;
            let pieces = if *kept { pieces.as_slice() } else { &[] };
            let Some(rows) = rounds.get_mut(*round) else { continue };
            rows.numbers.push(integer(trial.number)?);
            rows.epochs.push(i64::from(trial.epoch));
            rows.pieces.push(json(&piece_columns::rows(pieces)?)?);
            rows.bodies.push(body);
            rows.replays.push(code(trial.replay()).into());
            *round += 1;
        }
        Ok(Self {
            session: bound(commit.session),
            sequence: integer(commit.sequence)?,
            pieces: packed,
            spend: json(&commit.segment.spend)?,
            rounds,
            forgotten: earlier.into_iter().map(|(sequence, place)| (sequence, place.cast_signed())).unzip(),
        })
    }

    /// `again`: an earlier try may have been committed.
    pub(super) async fn write(
        &self,
        store: &Server,
        commit: &Commit,
        at: i64,
        again: bool,
    ) -> Result<Committed, Error> {
        let mut writing = store.begin().await?;
        let Some((run, open)) = self.advance(&mut writing, commit, at).await? else {
            return self.refusal(&mut writing, commit, again).await;
        };
        leases::begin(&mut writing, commit.session, &commit.begun).await?;
        self.keep_segment(&mut writing, run, commit, at).await?;
        self.forget(&mut writing).await?;
        fail::fail_point!("batch-half-stored");
        let mut counted = BTreeMap::new();
        for round in self.rounds.iter().filter(|_| open) {
            self.count(&mut writing, run, commit.replays, round, &mut counted).await?;
        }
        if exhausted(commit, &counted) {
            query("update run set exhausted = true where key = $1").bind(run).execute(&mut *writing).await?;
        }
        spend::add(&mut writing, run, &commit.segment.spend).await?;
        money::settle(&mut writing, run, commit).await?;
        writing.commit().await?;
        Ok(outcome(commit, counted))
    }

    /// Advances the session's watermark by one, and locks the run. Returns the run's key and whether it counts trials; `None`
    /// if session or run does not allow it.
    async fn advance(&self, writing: &mut Writing, commit: &Commit, at: i64) -> Result<Option<(i64, bool)>, Error> {
        let advanced = query(
            "update session set watermark = $2, last_seen = $4
             where id = $1 and ended_at is null and watermark = $2 - 1 and exists (select 1 from run where id = $3)",
        )
        .bind(self.session)
        .bind(self.sequence)
        .bind(commit.run.as_str())
        .bind(at)
        .execute(&mut **writing)
        .await?;
        if advanced.rows_affected() == 0 {
            return Ok(None);
        }
        // Commits of one run follow each other: two that locked it shared and then changed it would wait for each other.
        let run = query_as("select key, state in ('running', 'interrupted') from run where id = $1 for no key update")
            .bind(commit.run.as_str())
            .fetch_optional(&mut **writing)
            .await?;
        Ok(run)
    }

    /// Why the watermark did not move.
    async fn refusal(&self, writing: &mut Writing, commit: &Commit, again: bool) -> Result<Committed, Error> {
        let watermark: Option<i64> = query_scalar("select watermark from session where id = $1 and ended_at is null")
            .bind(self.session)
            .fetch_optional(&mut **writing)
            .await?;
        match watermark {
            None => Ok(Committed { session_over: true, ..Committed::default() }),
            Some(watermark) if self.sequence == watermark && again => self.committed_before(writing, commit).await,
            Some(watermark) if self.sequence <= watermark => Ok(Committed { duplicate: true, ..Committed::default() }),
            Some(watermark) if self.sequence != watermark + 1 => {
                Err(gap(commit.session, commit.sequence, watermark.cast_unsigned()))
            }
            Some(_) => {
                runs::key(&mut **writing, &commit.run).await?;
                Err(Error::Failed(format!("session {} does not take sequence {}", commit.session, commit.sequence)))
            }
        }
    }

    /// The answer to an earlier try whose answer was lost: nobody else writes these attempts of the session.
    async fn committed_before(&self, writing: &mut Writing, commit: &Commit) -> Result<Committed, Error> {
        let run = runs::key(&mut **writing, &commit.run).await?;
        let numbers: Vec<i64> = commit.ended.iter().map(|ended| bound(ended.trial.number)).collect();
        let rows: Vec<EndRow> = query_as(
            "select number, epoch, again, replaced_failed, replaced_broken from trial
             where run = $1 and session = $2 and number = any($3)",
        )
        .bind(run)
        .bind(self.session)
        .bind(numbers)
        .fetch_all(&mut **writing)
        .await?;
        let mut counted = BTreeMap::new();
        add(&mut counted, rows)?;
        Ok(outcome(commit, counted))
    }

    async fn keep_segment(&self, writing: &mut Writing, run: i64, commit: &Commit, at: i64) -> Result<(), Error> {
        query(
            "insert into segment (session, sequence, run, turns, committed_at, pieces, spend)
             values ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(self.session)
        .bind(self.sequence)
        .bind(run)
        .bind(i64::from(commit.segment.turns))
        .bind(at)
        .bind(i32::try_from(self.pieces.len()).unwrap_or(i32::MAX))
        .bind(&self.spend)
        .execute(&mut **writing)
        .await?;
        if self.pieces.is_empty() {
            return Ok(());
        }
        query(
            "insert into piece (session, sequence, place, payload)
             select $1, $2, cut.place - 1, cut.payload from unnest($3::bytea[]) with ordinality as cut(payload, place)",
        )
        .bind(self.session)
        .bind(self.sequence)
        .bind(&self.pieces)
        .execute(&mut **writing)
        .await?;
        Ok(())
    }

    /// Empties the earlier pieces of trials whose turns are not kept.
    async fn forget(&self, writing: &mut Writing) -> Result<(), Error> {
        if self.forgotten.0.is_empty() {
            return Ok(());
        }
        query(
            "update piece set payload = ''
             where session = $1 and (sequence, place) in (select * from unnest($2::bigint[], $3::integer[]))",
        )
        .bind(self.session)
        .bind(&self.forgotten.0)
        .bind(&self.forgotten.1)
        .execute(&mut **writing)
        .await?;
        Ok(())
    }

    /// Writes the trials that are leased to the session with their epoch and are not done. Adds which, whether they are
    /// played again, and their pasts as [`record::Trial::past_of_the_next`] defines them.
    async fn count(
        &self,
        writing: &mut Writing,
        run: i64,
        replays: u32,
        round: &Round,
        counted: &mut BTreeMap<(i64, i64), End>,
    ) -> Result<(), Error> {
        let rows: Vec<EndRow> = query_as(
            "insert into trial (run, number, epoch, session, pieces, body, replay, again, replays_left)
             select $1, ended.number, ended.epoch, $2, ended.pieces, ended.body, ended.replay,
                 case ended.replay when 2 then true when 1 then $3 > 0 else false end,
                 case ended.replay when 1 then greatest($3 - 1, 0) else $3 end
             from unnest($4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::smallint[])
                 as ended(number, epoch, pieces, body, replay)
             where exists (
                 select 1 from lease
                 where session = $2 and run = $1 and epoch = ended.epoch
                 and first <= ended.number and past > ended.number)
             on conflict (run, number) do update set
                 epoch = excluded.epoch, session = excluded.session, pieces = excluded.pieces, body = excluded.body,
                 replay = excluded.replay,
                 again = case excluded.replay when 2 then true when 1 then trial.replays_left > 0 else false end,
                 replays_left =
                     case excluded.replay when 1 then greatest(trial.replays_left - 1, 0) else trial.replays_left end,
                 replaced = trial.replaced + 1,
                 replaced_failed = trial.replaced_failed + (trial.replay = 0)::integer,
                 replaced_broken =
                     trial.replaced_broken + (trial.replay <> 0 and trial.replaced_failed = 0)::integer
             where trial.again and excluded.epoch > trial.epoch
             returning number, epoch, again, replaced_failed, replaced_broken",
        )
        .bind(run)
        .bind(self.session)
        .bind(i64::from(replays))
        .bind(&round.numbers)
        .bind(&round.epochs)
        .bind(&round.pieces)
        .bind(&round.bodies)
        .bind(&round.replays)
        .fetch_all(&mut **writing)
        .await?;
        add(counted, rows)
    }
}

/// Number, epoch, again, and how many replaced ends counted against the agent or were of our side before.
type EndRow = (i64, i64, bool, i64, i64);

fn add(counted: &mut BTreeMap<(i64, i64), End>, rows: Vec<EndRow>) -> Result<(), Error> {
    for (number, epoch, again, failed, broken) in rows {
        let past = Past { failed: crate::values::natural(failed)?, broken: crate::values::natural(broken)? };
        counted.insert((number, epoch), End { again, past });
    }
    Ok(())
}
