//! The engine that an address names, behind one type.

use std::time::Duration;

use bytes::Bytes;
use record::{Usd, call::Spend, decision::Decision, runner::Runner, summary::RunState};
use scenario::{Digest, RunId};

use crate::{
    Account, Candidate, Commit, Committed, Contender, Drawn, Error, Held, Holder, JoinToken, Lease, Moved, Piece,
    Postgres, Recovered, Redeemed, RunRow, Slice, Sqlite, Store, StoredAttempt, StoredTrial,
};

/// One of the engines with files or a server. The program contains its coordinator once for both.
#[derive(Debug)]
pub enum Engine {
    Sqlite(Box<Sqlite>),
    Postgres(Postgres),
}

impl Engine {
    /// Whether the address names a PostgreSQL database.
    #[must_use]
    pub fn is_postgres(address: &str) -> bool {
        ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme))
    }
}

/// A file is free when it is dropped, and not before.
impl Held for Engine {
    fn silent_for(&self) -> Option<Duration> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(store) => store.silent_for(),
        }
    }

    async fn hand_over(&self) -> Result<(), Error> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(store) => store.hand_over().await,
        }
    }
}

impl Contender for Candidate {
    type Store = Engine;

    async fn look(&self) -> Result<Option<Holder>, Error> {
        Candidate::look(self).await
    }

    async fn take(&self, name: &str, address: &str) -> Result<Engine, Error> {
        Candidate::take(self, name, address).await.map(Engine::Postgres)
    }
}

/// Hands a method to the engine.
macro_rules! hand {
    ($self:ident . $method:ident ( $($argument:expr),* )) => {
        match $self {
            Self::Sqlite(store) => store.$method($($argument),*).await,
            Self::Postgres(store) => store.$method($($argument),*).await,
        }
    };
}

impl Store for Engine {
    async fn create_run(&self, run: &RunRow, plan: &[u8]) -> Result<(), Error> {
        hand!(self.create_run(run, plan))
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunRow>, Error> {
        hand!(self.run(run))
    }

    async fn runs(&self) -> Result<Vec<RunRow>, Error> {
        hand!(self.runs())
    }

    async fn plan(&self, digest: &Digest) -> Result<Option<Bytes>, Error> {
        hand!(self.plan(digest))
    }

    async fn set_state(&self, run: &RunId, state: RunState, ended_at: Option<i64>) -> Result<(), Error> {
        hand!(self.set_state(run, state, ended_at))
    }

    async fn set_load_began(&self, run: &RunId, at: i64) -> Result<(), Error> {
        hand!(self.set_load_began(run, at))
    }

    async fn decide(&self, run: &RunId, decision: &Decision, moved: Moved) -> Result<(), Error> {
        hand!(self.decide(run, decision, moved))
    }

    async fn set_runner(&self, run: &RunId, runner: &Runner) -> Result<(), Error> {
        hand!(self.set_runner(run, runner))
    }

    async fn open_session(&self, worker: &str, token: &Digest, at: i64) -> Result<u64, Error> {
        hand!(self.open_session(worker, token, at))
    }

    async fn token(&self, session: u64) -> Result<Option<Digest>, Error> {
        hand!(self.token(session))
    }

    async fn grant(&self, leases: &[Lease], at: i64) -> Result<(), Error> {
        hand!(self.grant(leases, at))
    }

    async fn commit(&self, commit: &Commit, at: i64) -> Result<Committed, Error> {
        hand!(self.commit(commit, at))
    }

    async fn watermark(&self, session: u64) -> Result<Option<u64>, Error> {
        hand!(self.watermark(session))
    }

    async fn heartbeat(&self, session: u64, unsettled: Usd, begun: &[Lease], at: i64) -> Result<(), Error> {
        hand!(self.heartbeat(session, unsettled, begun, at))
    }

    async fn fund(&self, run: &RunId, session: u64, account: Account, granted: Usd) -> Result<Slice, Error> {
        hand!(self.fund(run, session, account, granted))
    }

    async fn draw(&self, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
        hand!(self.draw(limit, day, most, ask))
    }

    async fn release(&self, session: u64, trials: &[Lease], begun: bool, at: i64) -> Result<(), Error> {
        hand!(self.release(session, trials, begun, at))
    }

    async fn resume(&self, run: &RunId, again: &[u64], replays: u32) -> Result<(), Error> {
        hand!(self.resume(run, again, replays))
    }

    async fn end_session(
        &self,
        session: u64,
        reason: &str,
        proof: bool,
        begun: &[Lease],
        at: i64,
    ) -> Result<Vec<Lease>, Error> {
        hand!(self.end_session(session, reason, proof, begun, at))
    }

    async fn recover(&self, run: &RunId) -> Result<Recovered, Error> {
        hand!(self.recover(run))
    }

    async fn lost_over_time(&self, run: &RunId, limit: u32) -> Result<Vec<(i64, u64)>, Error> {
        hand!(self.lost_over_time(run, limit))
    }

    async fn trials(&self, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
        hand!(self.trials(run, first, limit))
    }

    async fn attempts(&self, run: &RunId, after: Option<(u64, u32)>, limit: u32) -> Result<Vec<StoredAttempt>, Error> {
        hand!(self.attempts(run, after, limit))
    }

    async fn delete_run(&self, run: &RunId) -> Result<(), Error> {
        hand!(self.delete_run(run))
    }

    async fn sweep(&self, limit: u32) -> Result<bool, Error> {
        hand!(self.sweep(limit))
    }

    async fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
        hand!(self.pieces(run, asked))
    }

    async fn add_join_token(&self, token: &JoinToken, at: i64) -> Result<(), Error> {
        hand!(self.add_join_token(token, at))
    }

    async fn redeem(&self, token: &Digest, at: i64) -> Result<Redeemed, Error> {
        hand!(self.redeem(token, at))
    }

    async fn spend(&self, run: &RunId) -> Result<Spend, Error> {
        hand!(self.spend(run))
    }

    async fn check(&self) -> Result<(), Error> {
        hand!(self.check())
    }
}
