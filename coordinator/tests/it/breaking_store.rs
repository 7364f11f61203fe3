//! A store whose writes fail for a while, and that counts the bytes read back from it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use record::{Usd, call::Spend, decision::Decision, runner::Runner, summary::RunState};
use scenario::{Digest, RunId};
use store::{
    Account, Commit, Committed, Drawn, Error, JoinToken, Lease, Memory, Moved, Piece, Recovered, Redeemed, RunRow,
    Slice, Store, StoredAttempt, StoredTrial,
};

#[derive(Debug, Default)]
pub(crate) struct BreakingStore {
    memory: Memory,
    pub(crate) broken: AtomicBool,
    /// By another coordinator, so that writes are refused.
    pub(crate) taken_over: AtomicBool,
    /// Sessions cannot be looked up.
    pub(crate) away: AtomicBool,
    /// What a run has spent cannot be read.
    pub(crate) hides_spend: AtomicBool,
    /// Bytes of turns.
    pub(crate) read_bytes: AtomicUsize,
}

impl BreakingStore {
    fn writable(&self) -> Result<(), Error> {
        if self.taken_over.load(Ordering::Relaxed) {
            return Err(Error::TakenOver);
        }
        if self.broken.load(Ordering::Relaxed) { Err(Error::Unwritable("disk full".to_owned())) } else { Ok(()) }
    }
}

impl Store for BreakingStore {
    async fn create_run(&self, run: &RunRow, plan: &[u8]) -> Result<(), Error> {
        self.writable()?;
        self.memory.create_run(run, plan).await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunRow>, Error> {
        self.memory.run(run).await
    }

    async fn runs(&self) -> Result<Vec<RunRow>, Error> {
        self.memory.runs().await
    }

    async fn plan(&self, digest: &Digest) -> Result<Option<Bytes>, Error> {
        self.memory.plan(digest).await
    }

    async fn set_state(&self, run: &RunId, state: RunState, ended_at: Option<i64>) -> Result<(), Error> {
        self.writable()?;
        self.memory.set_state(run, state, ended_at).await
    }

    async fn set_load_began(&self, run: &RunId, at: i64) -> Result<(), Error> {
        self.writable()?;
        self.memory.set_load_began(run, at).await
    }

    async fn decide(&self, run: &RunId, decision: &Decision, moved: Moved) -> Result<(), Error> {
        self.writable()?;
        self.memory.decide(run, decision, moved).await
    }

    async fn set_runner(&self, run: &RunId, runner: &Runner) -> Result<(), Error> {
        self.writable()?;
        self.memory.set_runner(run, runner).await
    }

    async fn open_session(&self, worker: &str, token: &Digest, at: i64) -> Result<u64, Error> {
        self.writable()?;
        self.memory.open_session(worker, token, at).await
    }

    async fn token(&self, session: u64) -> Result<Option<Digest>, Error> {
        if self.away.load(Ordering::Relaxed) {
            return Err(Error::Unavailable("nobody listens".to_owned()));
        }
        self.memory.token(session).await
    }

    async fn grant(&self, leases: &[Lease], at: i64) -> Result<(), Error> {
        self.writable()?;
        self.memory.grant(leases, at).await
    }

    async fn commit(&self, commit: &Commit, at: i64) -> Result<Committed, Error> {
        self.writable()?;
        self.memory.commit(commit, at).await
    }

    async fn watermark(&self, session: u64) -> Result<Option<u64>, Error> {
        self.memory.watermark(session).await
    }

    async fn heartbeat(&self, session: u64, unsettled: Usd, begun: &[Lease], at: i64) -> Result<(), Error> {
        self.writable()?;
        self.memory.heartbeat(session, unsettled, begun, at).await
    }

    async fn fund(&self, run: &RunId, session: u64, account: Account, granted: Usd) -> Result<Slice, Error> {
        self.writable()?;
        self.memory.fund(run, session, account, granted).await
    }

    async fn draw(&self, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
        self.writable()?;
        self.memory.draw(limit, day, most, ask).await
    }

    async fn release(&self, session: u64, trials: &[Lease], begun: bool, at: i64) -> Result<(), Error> {
        self.writable()?;
        self.memory.release(session, trials, begun, at).await
    }

    async fn resume(&self, run: &RunId, again: &[u64], replays: u32) -> Result<(), Error> {
        self.writable()?;
        self.memory.resume(run, again, replays).await
    }

    async fn end_session(
        &self,
        session: u64,
        reason: &str,
        proof: bool,
        begun: &[Lease],
        at: i64,
    ) -> Result<Vec<Lease>, Error> {
        self.writable()?;
        self.memory.end_session(session, reason, proof, begun, at).await
    }

    async fn lost_over_time(&self, run: &RunId, limit: u32) -> Result<Vec<(i64, u64)>, Error> {
        self.memory.lost_over_time(run, limit).await
    }

    async fn recover(&self, run: &RunId) -> Result<Recovered, Error> {
        self.memory.recover(run).await
    }

    async fn trials(&self, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
        self.memory.trials(run, first, limit).await
    }

    async fn attempts(&self, run: &RunId, after: Option<(u64, u32)>, limit: u32) -> Result<Vec<StoredAttempt>, Error> {
        self.memory.attempts(run, after, limit).await
    }

    async fn delete_run(&self, run: &RunId) -> Result<(), Error> {
        self.writable()?;
        self.memory.delete_run(run).await
    }

    async fn sweep(&self, limit: u32) -> Result<bool, Error> {
        self.memory.sweep(limit).await
    }

    async fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
        let pieces = self.memory.pieces(run, asked).await?;
        self.read_bytes.fetch_add(pieces.iter().map(Bytes::len).sum(), Ordering::Relaxed);
        Ok(pieces)
    }

    async fn add_join_token(&self, token: &JoinToken, at: i64) -> Result<(), Error> {
        self.writable()?;
        self.memory.add_join_token(token, at).await
    }

    async fn redeem(&self, token: &Digest, at: i64) -> Result<Redeemed, Error> {
        self.writable()?;
        self.memory.redeem(token, at).await
    }

    async fn spend(&self, run: &RunId) -> Result<Spend, Error> {
        if self.hides_spend.load(Ordering::Relaxed) {
            return Err(Error::Unavailable("the connection was reset".to_owned()));
        }
        self.memory.spend(run).await
    }
}
