//! The trait that SQLite, and later PostgreSQL, implement.

use std::future::Future;

use bytes::Bytes;
use record::{Usd, call::Spend, summary::RunState};
use scenario::{Digest, RunId};

use crate::{Commit, Committed, Lease, Piece, Recovered, RunRow, StoredTrial};

/// Where runs are kept. Times are arguments (unix milliseconds), never read here.
///
/// A run that was never created is [`Error::UnknownRun`] everywhere but in [`Store::run`].
pub trait Store: Send + Sync + 'static {
    /// Idempotent by id; [`Error::Conflict`] if the id exists with another plan. The run's preflight begins its spend.
    fn create_run(&self, run: &RunRow, plan: &[u8]) -> impl Future<Output = Result<(), Error>> + Send;

    fn run(&self, run: &RunId) -> impl Future<Output = Result<Option<RunRow>, Error>> + Send;

    /// Newest first.
    fn runs(&self) -> impl Future<Output = Result<Vec<RunRow>, Error>> + Send;

    fn plan(&self, digest: &Digest) -> impl Future<Output = Result<Option<Bytes>, Error>> + Send;

    fn set_state(
        &self,
        run: &RunId,
        state: RunState,
        ended_at: Option<i64>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Opens a session for a worker and returns its id, unique in the store and ascending. `token`: the digest of the
    /// secret that proves that a stream belongs to the session.
    fn open_session(&self, worker: &str, token: &Digest, at: i64) -> impl Future<Output = Result<u64, Error>> + Send;

    /// The token of the session; `None` if the session is over or unknown.
    fn token(&self, session: u64) -> impl Future<Output = Result<Option<Digest>, Error>> + Send;

    /// Grants leases, all or none. [`Error::SessionOver`] if the session of one of them is over or unknown.
    /// A lease lives until its session ends, its trials are released, or all of them are done.
    fn grant(&self, leases: &[Lease], at: i64) -> impl Future<Output = Result<(), Error>> + Send;

    /// Writes a batch: the segment, the trials whose lease is live with their epoch and that are not done, and
    /// the session's watermark, all or nothing; the session lives. A run that is finished or cancelled counts no more trials, but
    /// what they used still adds to its spend. A gap in the sequence is [`Error::Failed`].
    ///
    /// A trial that [may be played again](record::Trial::replay) is stored and not done; its next attempt that ends replaces
    /// it. A trial for which a provider's quota was used up marks the run as exhausted.
    fn commit(&self, commit: &Commit, at: i64) -> impl Future<Output = Result<Committed, Error>> + Send;

    /// The highest sequence that the session has committed; `None` if the session is over or unknown.
    fn watermark(&self, session: u64) -> impl Future<Output = Result<Option<u64>, Error>> + Send;

    /// A heartbeat: the session lives. Stores what its calls in flight may cost at most, and which of its trials have begun
    /// (found by run and epoch). [`Error::SessionOver`] if it is over or unknown.
    fn heartbeat(
        &self,
        session: u64,
        unsettled: Usd,
        begun: &[Lease],
        at: i64,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Releases trials of a session. Parts of a lease may be released; they are found by run and epoch, whatever their `id`.
    /// Trials that are not leased are ignored. If they were `begun`, their attempts count as lost, without suspicion; if
    /// not, the next attempt has the same epoch.
    fn release(
        &self,
        session: u64,
        trials: &[Lease],
        begun: bool,
        at: i64,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Resumes a run: it is running and not exhausted. The trials `again` are played again, and so are those that are
    /// played again anyway. `replays` counts from zero.
    fn resume(&self, run: &RunId, again: &[u64], replays: u32) -> impl Future<Output = Result<(), Error>> + Send;

    /// Ends a session and returns the trials of its leases that are not done, as ranges. Each such trial has another epoch
    /// from now on; those that had begun are lost attempts. `begun`: such trials that the store does not know yet, found by
    /// run and epoch. `proof`: only the trial can have crashed the worker. Unsettled costs of the session are added to every
    /// run of which it lost a trial, since all of them may be that run's. A session that is over or unknown loses nothing.
    fn end_session(
        &self,
        session: u64,
        reason: &str,
        proof: bool,
        begun: &[Lease],
        at: i64,
    ) -> impl Future<Output = Result<Vec<Lease>, Error>> + Send;

    /// The state of a run after a restart.
    fn recover(&self, run: &RunId) -> impl Future<Output = Result<Recovered, Error>> + Send;

    /// The latest attempts that ended of trials with a number of at least `first`, ascending, at most `limit`.
    fn trials(
        &self,
        run: &RunId,
        first: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<StoredTrial>, Error>> + Send;

    /// The pieces of sessions (session, which piece), one for each that is asked for, without reading others. Empty
    /// where there is none, or where the segment belongs to another run: a session serves several, and a segment
    /// names its trials by number alone.
    fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> impl Future<Output = Result<Vec<Bytes>, Error>> + Send;

    /// What all attempts used.
    fn spend(&self, run: &RunId) -> impl Future<Output = Result<Spend, Error>> + Send;

    /// [`Error::Gone`] if what is written now cannot be found again. Writes nothing to find out.
    fn check(&self) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("run {0} exists with another plan")]
    Conflict(RunId),
    #[error("run {0} is unknown")]
    UnknownRun(RunId),
    #[error("session {0} is over")]
    SessionOver(u64),
    /// Another process has the store open.
    #[error("{0} is in use by another process")]
    InUse(String),
    /// The disk is full or may not be written.
    #[error("the store cannot be written: {0}")]
    Unwritable(String),
    /// Its file was removed or replaced while it was open, so its data is lost.
    #[error("the store is gone: {0}")]
    Gone(String),
    /// Its schema is not this program's. Says which file, and what to do.
    #[error("{0}")]
    Version(String),
    #[error("the store failed: {0}")]
    Failed(String),
}

/// A sequence that does not follow the watermark: the worker's buffer and the store disagree.
pub(crate) fn gap(session: u64, sequence: u64, watermark: u64) -> Error {
    Error::Failed(format!("session {session} sent sequence {sequence} after {watermark}"))
}
