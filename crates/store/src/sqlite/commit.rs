//! A batch of results: its turns, the counted trials, their usage, and the session's watermark.
//!
//! At most eleven statements for any number of different trials. Each statement is a round trip to SQLite's thread, so none
//! runs in a loop over trials.

use std::{collections::BTreeMap, mem};

use record::{compact_json, trial::Past};
use sqlx::{query, query_as, query_scalar};

use super::{leases, money, runs, spend::add_spend, writer::Writing};
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

/// The trials of a usual batch have no more.
const USUAL_BYTES: usize = 4 << 20;

/// A commit in the form that its statements take.
pub(super) struct Encoded {
    session: i64,
    sequence: i64,
    spend: String,
    /// JSON: a number for each piece in `words`, see [`packed`].
    pieces: String,
    /// The pieces, one after the other.
    words: Vec<u8>,
    rounds: Vec<Round>,
    /// The trials as JSON, one after the other. They are not inside the rows, because escaped JSON would be parsed
    /// twice.
    bodies: Vec<u8>,
    /// JSON: a row `[sequence, place]` for each piece in earlier segments of the session that is not kept.
    forgotten: String,
}

/// Ended trials of different numbers. A batch that names a trial twice has two rounds: what becomes of the second end depends on
/// what became of the first.
#[derive(Default)]
struct Round {
    /// A row `[number, epoch, pieces, body, replay]` for each trial; the body refers to [`packed`].
    ended: Rows,
    numbers: Rows,
}

impl Encoded {
    pub(super) async fn of(commit: &Commit) -> Result<Self, Error> {
        // Room for pieces that cannot be made smaller.
        let mut words = Vec::with_capacity(commit.segment.pieces.iter().map(bytes::Bytes::len).sum());
        let mut pieces = Rows::default();
        let (unwritten, forgotten) = not_kept(commit)?;
        let mut packer = Packer::new()?;
        for (piece, place) in commit.segment.pieces.iter().zip(0_u32..) {
            if place > 0 && place.is_multiple_of(PIECES_AT_A_TIME) {
                tokio::task::yield_now().await;
            }
            let piece = if unwritten.contains(&place) { Vec::new() } else { packer.pack(piece)? };
            pieces.push(&packed(words.len(), piece.len())?)?;
            words.extend_from_slice(&piece);
        }
        let mut bodies = Vec::new();
        let mut rounds: Vec<Round> = Vec::new();
        let mut named: BTreeMap<u64, usize> = BTreeMap::new();
        for (place, EndedTrial { trial, pieces, kept }) in commit.ended.iter().enumerate() {
            if place > 0 && place.is_multiple_of(AT_A_TIME) {
                tokio::task::yield_now().await;
            }
            let pieces = if *kept { pieces.as_slice() } else { &[] };
            let start = bodies.len();
            compact_json::append_without_nulls(trial, &mut bodies).map_err(|error| Error::Failed(error.to_string()))?;
            if start == 0 {
                // Trials of a batch are much alike.
                bodies.reserve((bodies.len() * commit.ended.len()).min(USUAL_BYTES));
            }
            let body = packed(start, bodies.len() - start)?;
            let (number, replay) = (integer(trial.number)?, code(trial.replay()));
            let ends = named.entry(trial.number).or_default();
            if rounds.len() == *ends {
                rounds.push(Round::default());
            }
            let Some(round) = rounds.get_mut(*ends) else { continue };
            round.ended.push(&(number, trial.epoch, piece_columns::rows(pieces)?, body, replay))?;
            round.numbers.push(&number)?;
            *ends += 1;
        }
        Ok(Self {
            session: bound(commit.session),
            sequence: integer(commit.sequence)?,
            spend: json(&commit.segment.spend)?,
            pieces: pieces.into_json(),
            words,
            rounds,
            bodies,
            forgotten: if forgotten.is_empty() { String::new() } else { json(&forgotten)? },
        })
    }

    pub(super) async fn write(
        mut self,
        mut writing: Writing<'_>,
        commit: &Commit,
        at: i64,
    ) -> Result<Committed, Error> {
        let Some(run) = self.advance(&mut writing, commit, at).await? else {
            let outcome = self.refusal(&mut writing, commit).await;
            writing.roll_back().await?;
            return outcome;
        };
        leases::begin(&mut writing, commit.session, &commit.begun).await?;
        self.keep_segment(&mut writing, run, commit, at).await?;
        self.forget(&mut writing).await?;
        let mut counted = BTreeMap::new();
        let mut rounds = mem::take(&mut self.rounds).into_iter().peekable();
        while let Some(round) = rounds.next() {
            let bodies = if rounds.peek().is_some() { self.bodies.clone() } else { mem::take(&mut self.bodies) };
            counted.extend(self.count(&mut writing, run, commit.replays, round, bodies).await?);
        }
        if exhausted(commit, &counted) {
            query("update run set exhausted = 1 where key = ?1").bind(run).execute(&mut writing.connection).await?;
        }
        if !commit.segment.spend.is_empty() {
            add_spend(&mut writing, run, &self.spend).await?;
        }
        money::settle(&mut writing, run, commit).await?;
        fail::fail_point!("batch-half-stored");
        writing.commit().await?;
        Ok(outcome(commit, counted))
    }

    /// Advances the session's watermark by one and returns the run's key; `None` if session or run does not allow it.
    async fn advance(&self, writing: &mut Writing<'_>, commit: &Commit, at: i64) -> Result<Option<i64>, Error> {
        let run: Option<(i64,)> = query_as(
            "update session set watermark = ?2, last_seen = ?4
             where id = ?1 and ended_at is null and watermark = ?2 - 1 and exists (select 1 from run where id = ?3)
             returning (select key from run where id = ?3)",
        )
        .bind(self.session)
        .bind(self.sequence)
        .bind(commit.run.as_str())
        .bind(at)
        .fetch_optional(&mut writing.connection)
        .await?;
        Ok(run.map(|(key,)| key))
    }

    /// Why the watermark did not move.
    async fn refusal(&self, writing: &mut Writing<'_>, commit: &Commit) -> Result<Committed, Error> {
        let session: Option<(i64,)> = query_as("select watermark from session where id = ?1 and ended_at is null")
            .bind(self.session)
            .fetch_optional(&mut writing.connection)
            .await?;
        match session {
            None => Ok(Committed { session_over: true, ..Committed::default() }),
            Some((watermark,)) if self.sequence <= watermark => {
                Ok(Committed { duplicate: true, ..Committed::default() })
            }
            Some((watermark,)) if self.sequence != watermark + 1 => {
                Err(gap(commit.session, commit.sequence, watermark.cast_unsigned()))
            }
            Some(_) => {
                runs::key(&mut writing.connection, &commit.run).await?;
                Err(Error::Failed(format!("session {} does not take sequence {}", commit.session, commit.sequence)))
            }
        }
    }

    async fn keep_segment(
        &mut self,
        writing: &mut Writing<'_>,
        run: i64,
        commit: &Commit,
        at: i64,
    ) -> Result<(), Error> {
        query(
            "insert into segment (session, sequence, run, turns, spend, payload, committed_at, first_piece, pieces)
             values (?1, ?2, ?3, ?4, ?5, x'', ?6, (select coalesce(max(key), 0) + 1 from piece), ?7)",
        )
        .bind(self.session)
        .bind(self.sequence)
        .bind(run)
        .bind(commit.segment.turns)
        .bind(&self.spend)
        .bind(at)
        .bind(integer(commit.segment.pieces.len() as u64)?)
        .execute(&mut writing.connection)
        .await?;
        if commit.segment.pieces.is_empty() {
            return Ok(());
        }
        query(
            // A part of no bytes at all is null.
            "insert into piece (key, payload)
             select first_piece + cut.key, coalesce(substr(?3, cut.value >> 32, cut.value & 4294967295), x'')
             from segment, json_each(?4) as cut where session = ?1 and sequence = ?2",
        )
        .bind(self.session)
        .bind(self.sequence)
        // Moved: a reference would be copied.
        .bind(mem::take(&mut self.words))
        .bind(mem::take(&mut self.pieces))
        .execute(&mut writing.connection)
        .await?;
        Ok(())
    }

    /// Empties the earlier pieces of trials whose turns are not kept. Their rows stay: the key of a piece follows from the
    /// first one of its segment, and the largest key must not be used again.
    async fn forget(&self, writing: &mut Writing<'_>) -> Result<(), Error> {
        if self.forgotten.is_empty() {
            return Ok(());
        }
        query(
            "update piece set payload = x'' where key in (
                 select first_piece + (of.value ->> 1) from json_each(?2) as of
                 cross join segment on segment.session = ?1 and segment.sequence = of.value ->> 0
                 where (of.value ->> 1) < segment.pieces)",
        )
        .bind(self.session)
        .bind(&self.forgotten)
        .execute(&mut writing.connection)
        .await?;
        Ok(())
    }

    /// Writes the trials that are leased to the session with their epoch and are not done. Returns which, whether they are
    /// played again, and their pasts as [`record::Trial::past_of_the_next`] defines them.
    ///
    /// The trials that a batch wrote have its sequence as `last_sequence`. They are read as one row, because each row is a
    /// message between threads, which costs more than what is in it: `returning` would send one for each trial.
    async fn count(
        &self,
        writing: &mut Writing<'_>,
        run: i64,
        replays: u32,
        Round { ended, numbers }: Round,
        bodies: Vec<u8>,
    ) -> Result<BTreeMap<(i64, i64), End>, Error> {
        query(
            // Materialized, since SQLite would otherwise parse a row again for each use of a column. In order, and with a limit that
            // is none, because SQLite drops an order that it thinks is not needed: sorting later would copy each body.
            "with ended as materialized (
                 select value ->> 0 as number, value ->> 1 as epoch, value ->> 2 as pieces, value ->> 3 as body, value ->> 4 as replay
                 from json_each(?3) order by key limit -1)
             insert into trial
                 (run, number, epoch, session, first_sequence, last_sequence, pieces, body, replay, again, replays_left)
             select ?1, ended.number, ended.epoch, ?2, 0, ?6, ended.pieces,
                 cast(substr(?4, ended.body >> 32, ended.body & 4294967295) as text),
                 ended.replay,
                 case ended.replay when 2 then 1 when 1 then ?5 > 0 else 0 end,
                 case ended.replay when 1 then max(?5 - 1, 0) else ?5 end
             from ended
             where exists (
                 select 1 from lease
                 where session = ?2 and run = ?1 and epoch = ended.epoch
                 and first <= ended.number and past > ended.number)
             and exists (select 1 from run where key = ?1 and state in ('running', 'interrupted'))
             on conflict (run, number) do update set
                 epoch = excluded.epoch, session = excluded.session, first_sequence = excluded.first_sequence,
                 last_sequence = excluded.last_sequence, pieces = excluded.pieces, body = excluded.body, replay = excluded.replay,
                 again = case excluded.replay when 2 then 1 when 1 then replays_left > 0 else 0 end,
                 replays_left = case excluded.replay when 1 then max(replays_left - 1, 0) else replays_left end,
                 replaced = replaced + 1,
                 replaced_failed = replaced_failed + (trial.replay = 0),
                 replaced_broken = replaced_broken + (trial.replay <> 0 and replaced_failed = 0)
             where trial.again = 1 and excluded.epoch > trial.epoch",
        )
        .bind(run)
        .bind(self.session)
        .bind(ended.into_json())
        .bind(bodies)
        .bind(replays)
        .bind(self.sequence)
        .execute(&mut writing.connection)
        .await?;
        let counted: String = query_scalar(
            "select json_group_array(json_array(number, epoch, again, replaced_failed, replaced_broken)) from trial
             where run = ?1 and session = ?2 and last_sequence = ?3 and number in (select value from json_each(?4))",
        )
        .bind(run)
        .bind(self.session)
        .bind(self.sequence)
        .bind(numbers.into_json())
        .fetch_one(&mut writing.connection)
        .await?;
        let counted: Vec<(i64, i64, u8, u32, u32)> =
            serde_json::from_str(&counted).map_err(|error| Error::Failed(format!("the counted trials: {error}")))?;
        let ends = counted.into_iter().map(|(number, epoch, again, failed, broken)| {
            let past = Past { failed, broken };
            ((number, epoch), End { again: again != 0, past })
        });
        Ok(ends.collect())
    }
}

/// A JSON array that grows row by row, so that other tasks of the thread run while those of a large batch are written.
#[derive(Default)]
struct Rows(String);

impl Rows {
    fn push<T: serde::Serialize>(&mut self, row: &T) -> Result<(), Error> {
        self.0.push(if self.0.is_empty() { '[' } else { ',' });
        self.0.push_str(&json(row)?);
        Ok(())
    }

    fn into_json(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "[]" } else { "]" });
        self.0
    }
}

/// A range of bytes as one number: the first byte, counted from 1 as SQLite does, times 2³², plus the length. SQLite reads a
/// number in a JSON array in place; a nested array would be parsed again for each of its numbers.
fn packed(start: usize, length: usize) -> Result<i64, Error> {
    let half = |number: usize| i32::try_from(number).map_err(|_| Error::Failed("a batch of 2 GiB".to_owned()));
    Ok(i64::from(half(start + 1)?) << 32 | i64::from(half(length)?))
}
