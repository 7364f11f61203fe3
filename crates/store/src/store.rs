//! The trait that every engine implements.

use std::future::Future;

use bytes::Bytes;
use record::{Usd, call::Spend, decision::Decision, runner::Runner, summary::RunState};
use scenario::{Digest, RunId};

use crate::{
    Account, Commit, Committed, Drawn, JoinToken, Lease, Moved, Piece, Recovered, Redeemed, RunRow, Slice,
    StoredAttempt, StoredTrial,
};

/// The storage of runs. Times are arguments (unix milliseconds), never read here.
///
/// An unknown run is [`Error::UnknownRun`] everywhere except in [`Store::run`].
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

    /// The load of the run began then.
    fn set_load_began(&self, run: &RunId, at: i64) -> impl Future<Output = Result<(), Error>> + Send;

    /// Appends a decision about the run, with what it changes of the run.
    fn decide(&self, run: &RunId, decision: &Decision, moved: Moved) -> impl Future<Output = Result<(), Error>> + Send;

    /// How loaded the machines of workers were until now.
    fn set_runner(&self, run: &RunId, runner: &Runner) -> impl Future<Output = Result<(), Error>> + Send;

    /// Opens a session for a worker and returns its id, unique in the store and ascending. `token`: the digest of the
    /// secret that proves that a stream belongs to the session.
    fn open_session(&self, worker: &str, token: &Digest, at: i64) -> impl Future<Output = Result<u64, Error>> + Send;

    /// The token of the session; `None` if the session is over or unknown.
    fn token(&self, session: u64) -> impl Future<Output = Result<Option<Digest>, Error>> + Send;

    /// Grants leases, all or none. [`Error::SessionOver`] if the session of one of them is over or unknown.
    /// A lease lives until its session ends, its trials are released, or all of them are done.
    fn grant(&self, leases: &[Lease], at: i64) -> impl Future<Output = Result<(), Error>> + Send;

    /// Writes a batch completely or not at all: the segment, the trials that are not done and whose lease is live with
    /// their epoch, and the session's watermark. Renews the session. A finished or cancelled run counts no more trials,
    /// but their usage is still added to its spend. A gap in the sequence is [`Error::Failed`].
    ///
    /// A trial that [may be replayed](record::Trial::replay) is stored and not done; the end of its next attempt
    /// replaces it. A trial that used up a provider's quota marks the run as exhausted.
    fn commit(&self, commit: &Commit, at: i64) -> impl Future<Output = Result<Committed, Error>> + Send;

    /// The highest sequence that the session has committed; `None` if the session is over or unknown.
    fn watermark(&self, session: u64) -> impl Future<Output = Result<Option<u64>, Error>> + Send;

    /// Renews the session. Stores the possible cost of its calls in flight, and which of its trials have begun (matched
    /// by run and epoch). [`Error::SessionOver`] if it is over or unknown.
    fn heartbeat(
        &self,
        session: u64,
        unsettled: Usd,
        begun: &[Lease],
        at: i64,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Keeps what a session says about its slice of the money of a run, and raises what it got to `granted` in all, if the
    /// run's budget covers that together with all other slices and all spending. Returns the slice as it is then. A run
    /// without a budget grants nothing. [`Error::SessionOver`] if the session is over or unknown.
    fn fund(
        &self,
        run: &RunId,
        session: u64,
        account: Account,
        granted: Usd,
    ) -> impl Future<Output = Result<Slice, Error>> + Send;

    /// Draws requests of a limit on a day, or gives them back (`ask` below 0). All that is drawn and not given back counts as
    /// used, over all runs; more than `most` is never given out. `day`: since 1970, in UTC.
    fn draw(&self, limit: &str, day: i64, most: u64, ask: i64) -> impl Future<Output = Result<Drawn, Error>> + Send;

    /// Releases trials of a session. Parts of a lease may be released; they are matched by run and epoch, not by `id`.
    /// Trials that are not leased are ignored. If they were `begun`, their attempts count as lost, without suspicion;
    /// if not, the next attempt has the same epoch.
    fn release(
        &self,
        session: u64,
        trials: &[Lease],
        begun: bool,
        at: i64,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Resumes a run: it is running and not exhausted. Replays the trials `again`, and all trials that are replayed
    /// anyway. `replays` counts from zero.
    fn resume(&self, run: &RunId, again: &[u64], replays: u32) -> impl Future<Output = Result<(), Error>> + Send;

    /// Ends a session and returns the trials of its leases that are not done, as ranges. Each such trial gets a new
    /// epoch; those that had begun are lost attempts. `begun`: begun trials that are not stored yet, matched by run and
    /// epoch. `proof`: only the trial can have crashed the worker. Unsettled costs of the session are added to every
    /// run of which it lost a trial, because all of them may belong to that run. A session that is over or unknown
    /// loses nothing.
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

    /// When trials of the run were lost with their workers, in Unix milliseconds, and how many attempts had begun: the first
    /// `limit` moments, ascending.
    fn lost_over_time(&self, run: &RunId, limit: u32) -> impl Future<Output = Result<Vec<(i64, u64)>, Error>> + Send;

    /// The latest attempts that ended of trials with a number of at least `first`, ascending, at most `limit`.
    fn trials(
        &self,
        run: &RunId,
        first: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<StoredTrial>, Error>> + Send;

    /// The attempts that do not count, behind `after` (trial, epoch), ascending, at most `limit`. An attempt whose record
    /// cannot be read is an unreadable trial. Older stores did not keep replaced ends, so those are unknown.
    fn attempts(
        &self,
        run: &RunId,
        after: Option<(u64, u32)>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<StoredAttempt>, Error>> + Send;

    /// The pieces of sessions (session, piece), one for each request, without reading others. Empty if there is none,
    /// or if the segment belongs to another run: a session serves several runs, and a segment identifies its trials by
    /// number alone.
    fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> impl Future<Output = Result<Vec<Bytes>, Error>> + Send;

    /// Deletes a run that is not running: nobody sees it any more, and its id is free. [`Store::sweep`] removes its rows.
    /// [`Error::Running`] if it is running, or if a worker still holds trials of it.
    fn delete_run(&self, run: &RunId) -> impl Future<Output = Result<(), Error>> + Send;

    /// Removes about `limit` rows of deleted runs. Returns whether there are more.
    fn sweep(&self, limit: u32) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Keeps a join token until a day after its end. Idempotent.
    fn add_join_token(&self, token: &JoinToken, at: i64) -> impl Future<Output = Result<(), Error>> + Send;

    /// Uses the join token with this digest. Of all that redeem a token, one gets its role.
    fn redeem(&self, token: &Digest, at: i64) -> impl Future<Output = Result<Redeemed, Error>> + Send;

    /// The usage of all attempts.
    fn spend(&self, run: &RunId) -> impl Future<Output = Result<Spend, Error>> + Send;

    /// [`Error::Gone`] or [`Error::TakenOver`] if new writes are lost or refused. Does not write.
    fn check(&self) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }
}

/// The beginning of [`Error::Gone`], by which a client recognises that nothing of a run is kept.
pub const GONE: &str = "the store is gone";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("run {0} exists with another plan")]
    Conflict(RunId),
    #[error("run {0} is unknown")]
    UnknownRun(RunId),
    #[error("run {0} is running")]
    Running(RunId),
    #[error("session {0} is over")]
    SessionOver(u64),
    /// Another process has the store open.
    #[error("{0} is in use by another process")]
    InUse(String),
    /// The disk is full or read-only.
    #[error("the store cannot be written: {0}")]
    Unwritable(String),
    /// Its file was removed or replaced while it was open, so its data is lost.
    #[error("{GONE}: {0}")]
    Gone(String),
    /// Another coordinator holds it, and plays its runs.
    #[error("another coordinator has taken over")]
    TakenOver,
    /// Its schema is not this program's. The message names the file and the fix.
    #[error("{0}")]
    Version(String),
    /// The server of the store does not answer.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    #[error("the store failed: {0}")]
    Failed(String),
}

/// A sequence that does not follow the watermark: the worker's buffer and the store disagree.
pub(crate) fn gap(session: u64, sequence: u64, watermark: u64) -> Error {
    Error::Failed(format!("session {session} sent sequence {sequence} after {watermark}"))
}
