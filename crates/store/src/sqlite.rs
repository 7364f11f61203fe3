//! The store of one machine: a SQLite file that survives `kill -9` and a power failure.
//!
//! One process has it open at a time. A commit is on disk when it returns (write-ahead log, synchronous FULL). This
//! file maps the trait to statements; each concern has its statements in a separate file.
//!
//! Lock order: the writer is one connection behind one mutex, so write transactions wait for each other in memory and
//! not in SQLite, whose busy handler polls. Readers have their own pool and never wait for the writer (write-ahead
//! log). A method takes the writer last, after everything that can be prepared without it.

mod attempts;
mod audit;
mod commit;
mod days;
mod deleting;
mod file_identity;
mod join_tokens;
mod leases;
mod money;
mod open;
mod pieces;
mod results;
mod runs;
mod sessions;
mod spend;
mod writer;

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use record::{Usd, call::Spend, decision::Decision, runner::Runner, summary::RunState};
use scenario::{Digest, RunId};
use sqlx::SqlitePool;

use crate::{
    Account, Commit, Committed, Drawn, Error, Fault, JoinToken, Lease, Moved, Piece, Recovered, Redeemed, RunRow,
    Schema, Slice, Store, StoredAttempt, StoredTrial,
};

#[derive(Debug)]
pub struct Sqlite {
    writer: writer::Writer,
    readers: SqlitePool,
    /// The file beside the store whose lock marks the store as open.
    lock: File,
    /// Where requests of a day are counted; `None`: in the store.
    days: Option<PathBuf>,
}

impl Sqlite {
    /// The name of the threads that work for an open store. Linux keeps 15 letters.
    pub const THREAD: &'static str = "gabfest-store";

    /// Opens the store at `path`, and creates it with its folder if there is none. [`Error::InUse`] if another process has
    /// it open, [`Error::Version`] if this program cannot read it.
    pub async fn open(path: &Path) -> Result<Self, Error> {
        let open::Opened { writer, readers, lock } = open::open(path).await?;
        Ok(Self { writer, readers, lock, days: None })
    }

    /// Counts requests of a day in another file, which many stores share.
    #[must_use]
    pub fn counting_days_in(self, path: PathBuf) -> Self {
        Self { days: Some(path), ..self }
    }

    /// Which steps the schema of the store at `path` lacks; a store that is open elsewhere can be asked too.
    /// [`Error::Version`] if a newer program made it, or if it is no store.
    pub async fn schema(path: &Path) -> Result<Schema, Error> {
        open::schema(path).await
    }

    /// What is wrong in the tables; nothing if they are sound. Reads all of them.
    pub async fn audit(&self) -> Result<Vec<Fault>, Error> {
        audit::read(&self.readers).await
    }

    /// Waits until everything is written back into the one file. Dropping a store loses nothing either.
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

    async fn set_load_began(&self, run: &RunId, at: i64) -> Result<(), Error> {
        runs::set_load_began(self.writer.begin().await?, run, at).await
    }

    async fn decide(&self, run: &RunId, decision: &Decision, moved: Moved) -> Result<(), Error> {
        runs::decide(self.writer.begin().await?, run, decision, moved).await
    }

    async fn set_runner(&self, run: &RunId, runner: &Runner) -> Result<(), Error> {
        runs::set_runner(self.writer.begin().await?, run, runner).await
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
        // Encoded before the writer is taken: all sessions share the writer.
        let batch = commit::Encoded::of(commit).await?;
        batch.write(self.writer.begin().await?, commit, at).await
    }

    async fn watermark(&self, session: u64) -> Result<Option<u64>, Error> {
        sessions::watermark(&self.readers, session).await
    }

    async fn heartbeat(&self, session: u64, unsettled: Usd, begun: &[Lease], at: i64) -> Result<(), Error> {
        sessions::heartbeat(self.writer.begin().await?, session, unsettled, begun, at).await
    }

    async fn fund(&self, run: &RunId, session: u64, account: Account, granted: Usd) -> Result<Slice, Error> {
        money::fund(self.writer.begin().await?, run, session, account, granted).await
    }

    async fn draw(&self, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
        match &self.days {
            Some(path) => days::draw_in(path, limit, day, most, ask).await,
            None => days::draw(self.writer.begin().await?, limit, day, most, ask).await,
        }
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

    async fn lost_over_time(&self, run: &RunId, limit: u32) -> Result<Vec<(i64, u64)>, Error> {
        results::lost_over_time(&self.readers, run, limit).await
    }

    async fn trials(&self, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
        results::trials(&self.readers, run, first, limit).await
    }

    async fn attempts(&self, run: &RunId, after: Option<(u64, u32)>, limit: u32) -> Result<Vec<StoredAttempt>, Error> {
        attempts::read(&self.readers, run, after, limit).await
    }

    async fn delete_run(&self, run: &RunId) -> Result<(), Error> {
        deleting::delete(self.writer.begin().await?, run).await
    }

    async fn sweep(&self, limit: u32) -> Result<bool, Error> {
        deleting::sweep(self.writer.begin().await?, limit).await
    }

    async fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
        pieces::read(&self.readers, run, asked).await
    }

    async fn add_join_token(&self, token: &JoinToken, at: i64) -> Result<(), Error> {
        join_tokens::add(self.writer.begin().await?, token, at).await
    }

    async fn redeem(&self, token: &Digest, at: i64) -> Result<Redeemed, Error> {
        join_tokens::redeem(self.writer.begin().await?, token, at).await
    }

    async fn spend(&self, run: &RunId) -> Result<Spend, Error> {
        results::spend(&self.readers, run).await
    }

    async fn check(&self) -> Result<(), Error> {
        self.writer.check()
    }
}
