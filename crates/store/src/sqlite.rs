//! The store of one machine: a SQLite file that survives a `kill -9` and a pulled plug.
//!
//! One process has it open at a time. A commit is on the disk when it returns (write-ahead log, synchronous FULL).
//! Here the trait meets the statements; those stand one file a concern.

mod commit;
mod leases;
mod open;
mod pieces;
mod place;
mod refusal;
mod results;
mod runs;
mod sessions;
mod writer;

use std::{fs::File, path::Path};

use bytes::Bytes;
use record::{Usd, call::Spend, summary::RunState};
use scenario::{Digest, RunId};
use sqlx::SqlitePool;

use crate::{Commit, Committed, Error, Lease, Piece, Recovered, RunRow, Store, StoredTrial};

#[derive(Debug)]
pub struct Sqlite {
    writer: writer::Writer,
    readers: SqlitePool,
    /// Locked: the file beside the store that says that it is open.
    lock: File,
}

impl Sqlite {
    /// Opens the store at `path` and makes it, with its folder, where there is none. [`Error::InUse`] if another
    /// process has it open, [`Error::Version`] if this program cannot read it.
    pub async fn open(path: &Path) -> Result<Self, Error> {
        open::open(path).await
    }

    /// Waits until all is written back into the one file. A store that is dropped instead loses nothing either.
    pub async fn close(self) -> Result<(), Error> {
        self.readers.close().await;
        self.writer.close().await?;
        drop(self.lock);
        Ok(())
    }
}

impl Store for Sqlite {
    async fn create_run(&self, run: &RunRow, plan: &[u8]) -> Result<(), Error> {
        runs::create(self.writer.begin().await?, run, plan).await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunRow>, Error> {
        runs::one(&self.readers, run).await
    }

    async fn runs(&self) -> Result<Vec<RunRow>, Error> {
        runs::all(&self.readers).await
    }

    async fn plan(&self, digest: &Digest) -> Result<Option<Bytes>, Error> {
        runs::plan(&self.readers, digest).await
    }

    async fn set_state(&self, run: &RunId, state: RunState, ended_at: Option<i64>) -> Result<(), Error> {
        runs::set_state(self.writer.begin().await?, run, state, ended_at).await
    }

    async fn open_session(&self, worker: &str, token: &Digest, at: i64) -> Result<u64, Error> {
        sessions::open(self.writer.begin().await?, worker, token, at).await
    }

    async fn token(&self, session: u64) -> Result<Option<Digest>, Error> {
        sessions::token(&self.readers, session).await
    }

    async fn grant(&self, leases: &[Lease], at: i64) -> Result<(), Error> {
        leases::grant(self.writer.begin().await?, leases, at).await
    }

    async fn commit(&self, commit: &Commit, at: i64) -> Result<Committed, Error> {
        // Encoded before the writer is taken: it is the one thing that all sessions share.
        let batch = commit::Encoded::of(commit)?;
        batch.write(self.writer.begin().await?, commit, at).await
    }

    async fn watermark(&self, session: u64) -> Result<Option<u64>, Error> {
        sessions::watermark(&self.readers, session).await
    }

    async fn beat(&self, session: u64, unsettled: Usd, begun: &[Lease], at: i64) -> Result<(), Error> {
        sessions::beat(self.writer.begin().await?, session, unsettled, begun, at).await
    }

    async fn release(&self, session: u64, trials: &[Lease], begun: bool, at: i64) -> Result<(), Error> {
        leases::release(self.writer.begin().await?, session, trials, begun.then_some(at)).await
    }

    async fn resume(&self, run: &RunId, again: &[u64], replays: u32) -> Result<(), Error> {
        runs::resume(self.writer.begin().await?, run, again, replays).await
    }

    async fn end_session(
        &self,
        session: u64,
        reason: &str,
        proof: bool,
        begun: &[Lease],
        at: i64,
    ) -> Result<Vec<Lease>, Error> {
        sessions::end(self.writer.begin().await?, session, reason, proof, begun, at).await
    }

    async fn recover(&self, run: &RunId) -> Result<Recovered, Error> {
        results::recover(&self.readers, run).await
    }

    async fn trials(&self, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
        results::trials(&self.readers, run, first, limit).await
    }

    async fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
        pieces::read(&self.readers, run, asked).await
    }

    async fn spend(&self, run: &RunId) -> Result<Spend, Error> {
        results::spend(&self.readers, run).await
    }

    async fn check(&self) -> Result<(), Error> {
        self.writer.check()
    }
}

/// SQLite's integers have a sign; a number beyond them is a mistake of whoever sent it.
fn integer(number: u64) -> Result<i64, Error> {
    i64::try_from(number).map_err(|_| Error::Failed(format!("{number} is not a number that can be kept")))
}

/// For bounds of a query: nothing kept is larger.
fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that was kept; only a damaged store has one that does not fit.
fn natural<T: TryFrom<i64>>(integer: i64) -> Result<T, Error> {
    T::try_from(integer).map_err(|_| Error::Failed(format!("{integer} where a natural number is kept")))
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Failed(error.to_string()))
}
