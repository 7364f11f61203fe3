//! The connections to the server: transactions, and repeating what a lost connection broke.

use std::{future::Future, time::Duration};

use sqlx::{PgPool, Transaction};
use tokio::time::Instant;

use super::duty::Duty;
use crate::Error;

/// How long a server may be away, for example while it restarts, before a run is interrupted.
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// An open transaction of the coordinator that holds the store. Dropped, it is rolled back.
pub(super) type Writing = Transaction<'static, sqlx::Postgres>;

#[derive(Debug)]
pub(super) struct Server {
    pub(super) pool: PgPool,
    pub(super) duty: Duty,
}

impl Server {
    /// [`Error::TakenOver`] if another coordinator holds the store now.
    pub(super) async fn begin(&self) -> Result<Writing, Error> {
        let mut writing = self.pool.begin().await?;
        self.duty.hold(&mut writing).await?;
        Ok(writing)
    }

    /// Repeats a method while the server does not answer, up to [`PATIENCE`]. The method gets whether an earlier try may have
    /// been committed without an answer.
    pub(super) async fn patiently<T, F>(&self, mut method: impl FnMut(bool) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut again = false;
        loop {
            match method(again).await {
                Err(Error::Unavailable(reason)) if began.elapsed() + pause < PATIENCE => {
                    tracing::warn!(reason, "the store does not answer; trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    again = true;
                }
                answer => return answer,
            }
        }
    }
}
