//! The store of a fleet: a PostgreSQL database, version 14 or later, that outlives the machines of coordinators.
//!
//! One coordinator writes at a time: it holds a [`duty`] with an epoch, and each transaction first checks that epoch. Another
//! one, a [`candidate`], takes the duty over when its holder has not renewed it for [`crate::duty::TTL`]. This file maps the trait to
//! statements; each concern has its statements in a separate file.
//!
//! Lock order: the duty, the session, the run, then the rows of the run. Each method is one transaction. A method that lost
//! its connection is repeated, and each can be: those whose answer would differ the second time take `again`.

mod attempts;
mod audit;
mod candidate;
mod commit;
mod days;
mod deleting;
mod duty;
mod join_tokens;
mod leases;
mod money;
mod open;
mod pieces;
mod results;
mod runs;
mod schema;
mod server;
mod sessions;
mod spend;

use std::time::Duration;

use bytes::Bytes;
use record::{Usd, call::Spend, decision::Decision, runner::Runner, summary::RunState};
use scenario::{Digest, RunId};

use crate::{
    Account, Commit, Committed, Drawn, Error, Fault, Held, JoinToken, Lease, Moved, Piece, Recovered, Redeemed, RunRow,
    Schema, Slice, Store, StoredAttempt, StoredTrial,
};

pub use candidate::Candidate;

#[derive(Debug)]
pub struct Postgres {
    server: server::Server,
}

impl Postgres {
    /// Opens the store at `address` (`postgres://…`), and creates its tables if there are none. `holder` names this
    /// coordinator to others. [`Error::InUse`] if another coordinator holds the store, [`Error::Version`] if this program
    /// cannot read it, [`Error::Unavailable`] if the server does not answer.
    ///
    /// The search path of the connection decides the schema, `?options[search_path]=gabfest` in an address.
    pub async fn open(address: &str, holder: &str) -> Result<Self, Error> {
        Candidate::connect(address).await?.take(holder, "").await
    }

    /// Opens the store at `address` to read, beside a coordinator that holds it. Every write is [`Error::TakenOver`].
    /// [`Error::Version`] if its schema is not this program's: nothing is migrated.
    pub async fn read(address: &str) -> Result<Self, Error> {
        let pool = open::connect(address).await?;
        let schema = schema::of(&pool).await?;
        if let Some(step) = schema.pending.first() {
            let hint = "`gabfest store migrate` brings it to this version";
            let from = step.version;
            return Err(Error::Version(format!("the store in PostgreSQL lacks schema {from}; {hint}")));
        }
        Ok(Self { server: server::Server { pool, duty: duty::Duty::none() } })
    }

    /// Which steps the schema at `address` lacks. [`Error::Version`] if a newer program made it.
    pub async fn schema(address: &str) -> Result<Schema, Error> {
        let pool = open::connect(address).await?;
        let schema = schema::of(&pool).await;
        pool.close().await;
        schema
    }

    /// What is wrong in the tables; nothing if they are sound. Reads all of them.
    pub async fn audit(&self) -> Result<Vec<Fault>, Error> {
        audit::read(&self.server.pool).await
    }
}

impl Held for Postgres {
    fn silent_for(&self) -> Option<Duration> {
        Some(self.server.duty.term().silent_for())
    }

    async fn hand_over(&self) -> Result<(), Error> {
        self.server.duty.release(&self.server.pool).await
    }
}

impl Store for Postgres {
    async fn create_run(&self, run: &RunRow, plan: &[u8]) -> Result<(), Error> {
        self.server.patiently(move |_| runs::create(&self.server, run, plan)).await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunRow>, Error> {
        self.server.patiently(move |_| runs::one(&self.server.pool, run)).await
    }

    async fn runs(&self) -> Result<Vec<RunRow>, Error> {
        self.server.patiently(move |_| runs::all(&self.server.pool)).await
    }

    async fn plan(&self, digest: &Digest) -> Result<Option<Bytes>, Error> {
        self.server.patiently(move |_| runs::plan(&self.server.pool, digest)).await
    }

    async fn set_state(&self, run: &RunId, state: RunState, ended_at: Option<i64>) -> Result<(), Error> {
        self.server.patiently(move |_| runs::set_state(&self.server, run, state, ended_at)).await
    }

    async fn set_load_began(&self, run: &RunId, at: i64) -> Result<(), Error> {
        self.server.patiently(move |_| runs::set_load_began(&self.server, run, at)).await
    }

    async fn decide(&self, run: &RunId, decision: &Decision, moved: Moved) -> Result<(), Error> {
        self.server.patiently(move |again| runs::decide(&self.server, run, decision, moved, again)).await
    }

    async fn set_runner(&self, run: &RunId, runner: &Runner) -> Result<(), Error> {
        self.server.patiently(move |_| runs::set_runner(&self.server, run, runner)).await
    }

    async fn open_session(&self, worker: &str, token: &Digest, at: i64) -> Result<u64, Error> {
        self.server.patiently(move |_| sessions::open(&self.server, worker, token, at)).await
    }

    async fn token(&self, session: u64) -> Result<Option<Digest>, Error> {
        self.server.patiently(move |_| sessions::token(&self.server.pool, session)).await
    }

    async fn grant(&self, leases: &[Lease], at: i64) -> Result<(), Error> {
        self.server.patiently(move |again| leases::grant(&self.server, leases, at, again)).await
    }

    async fn commit(&self, commit: &Commit, at: i64) -> Result<Committed, Error> {
        // Encoded before a connection is taken.
        let batch = &commit::Encoded::of(commit).await?;
        self.server.patiently(move |again| batch.write(&self.server, commit, at, again)).await
    }

    async fn watermark(&self, session: u64) -> Result<Option<u64>, Error> {
        self.server.patiently(move |_| sessions::watermark(&self.server.pool, session)).await
    }

    async fn heartbeat(&self, session: u64, unsettled: Usd, begun: &[Lease], at: i64) -> Result<(), Error> {
        self.server.patiently(move |_| sessions::heartbeat(&self.server, session, unsettled, begun, at)).await
    }

    async fn fund(&self, run: &RunId, session: u64, account: Account, granted: Usd) -> Result<Slice, Error> {
        self.server.patiently(move |_| money::fund(&self.server, run, session, account, granted)).await
    }

    async fn draw(&self, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
        self.server.patiently(move |_| days::draw(&self.server, limit, day, most, ask)).await
    }

    async fn release(&self, session: u64, trials: &[Lease], begun: bool, at: i64) -> Result<(), Error> {
        self.server.patiently(move |_| leases::release(&self.server, session, trials, begun.then_some(at))).await
    }

    async fn resume(&self, run: &RunId, again: &[u64], replays: u32) -> Result<(), Error> {
        self.server.patiently(move |_| runs::resume(&self.server, run, again, replays)).await
    }

    async fn end_session(
        &self,
        session: u64,
        reason: &str,
        proof: bool,
        begun: &[Lease],
        at: i64,
    ) -> Result<Vec<Lease>, Error> {
        let end = &sessions::End { session, reason, proof, begun, at };
        self.server.patiently(move |again| sessions::end(&self.server, end, again)).await
    }

    async fn recover(&self, run: &RunId) -> Result<Recovered, Error> {
        self.server.patiently(move |_| results::recover(&self.server.pool, run)).await
    }

    async fn lost_over_time(&self, run: &RunId, limit: u32) -> Result<Vec<(i64, u64)>, Error> {
        self.server.patiently(move |_| results::lost_over_time(&self.server.pool, run, limit)).await
    }

    async fn trials(&self, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
        self.server.patiently(move |_| results::trials(&self.server.pool, run, first, limit)).await
    }

    async fn attempts(&self, run: &RunId, after: Option<(u64, u32)>, limit: u32) -> Result<Vec<StoredAttempt>, Error> {
        self.server.patiently(move |_| attempts::read(&self.server.pool, run, after, limit)).await
    }

    async fn delete_run(&self, run: &RunId) -> Result<(), Error> {
        self.server.patiently(move |again| deleting::delete(&self.server, run, again)).await
    }

    async fn sweep(&self, limit: u32) -> Result<bool, Error> {
        self.server.patiently(move |_| deleting::sweep(&self.server, limit)).await
    }

    async fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
        self.server.patiently(move |_| pieces::read(&self.server.pool, run, asked)).await
    }

    async fn add_join_token(&self, token: &JoinToken, at: i64) -> Result<(), Error> {
        self.server.patiently(move |_| join_tokens::add(&self.server, token, at)).await
    }

    async fn redeem(&self, token: &Digest, at: i64) -> Result<Redeemed, Error> {
        self.server.patiently(move |_| join_tokens::redeem(&self.server, token, at)).await
    }

    async fn spend(&self, run: &RunId) -> Result<Spend, Error> {
        self.server.patiently(move |_| results::spend(&self.server.pool, run)).await
    }

    async fn check(&self) -> Result<(), Error> {
        self.server.duty.term().check()
    }
}
