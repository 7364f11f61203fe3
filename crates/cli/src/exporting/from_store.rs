//! A run in a store that this process has open.

use std::sync::Arc;

use anyhow::Context as _;
use coordinator::{aggregate, service::transcripts::Transcripts};
use lake::{Attempt, Ending};
use record::{Summary, call::Spend, summary::RunState};
use scenario::{Plan, RunId};
use store::{AttemptEnd, Store, StoredAttempt};

use super::Source;
use crate::export::{self, Exported};

/// Attempts that are read at a time.
const PAGE: u32 = 256;

pub(crate) struct FromStore<S> {
    store: Arc<S>,
    run: RunId,
    trials: Transcripts<S>,
    /// Nothing plays the run, whatever its state says: its process was killed.
    is_idle: bool,
}

impl<S: Store> FromStore<S> {
    pub(crate) fn new(store: Arc<S>, run: RunId, is_idle: bool) -> Self {
        let trials = Transcripts::new(Arc::clone(&store), run.clone(), 0);
        Self { store, run, trials, is_idle }
    }
}

impl<S: Store> Source for FromStore<S> {
    async fn summary(&mut self) -> anyhow::Result<Summary> {
        let mut summary =
            aggregate::summarize(&*self.store, &self.run).await.context("failed to read the numbers of the run")?;
        if self.is_idle && summary.run.state == RunState::Running {
            summary.run.state = RunState::Interrupted;
        }
        Ok(summary)
    }

    async fn plan(&mut self, summary: &Summary) -> anyhow::Result<Plan> {
        let bytes = self.store.plan(&summary.run.plan_digest).await?.context("the store holds no plan")?;
        Plan::from_json(std::str::from_utf8(&bytes).context("failed to read the plan")?)
            .context("failed to read the plan")
    }

    async fn next(&mut self) -> anyhow::Result<Option<Exported>> {
        let next = self.trials.next().await.context("failed to read the trials of the run")?;
        next.map(export::read).transpose()
    }

    async fn attempts(&mut self, after: Option<(u64, u32)>) -> anyhow::Result<Vec<Attempt>> {
        let page =
            self.store.attempts(&self.run, after, PAGE).await.context("failed to read the attempts of the run")?;
        Ok(page.into_iter().map(attempt).collect())
    }

    async fn spend(&mut self) -> anyhow::Result<Spend> {
        self.store.spend(&self.run).await.context("failed to read the spend of the run")
    }
}

fn attempt(stored: StoredAttempt) -> Attempt {
    let StoredAttempt { number, epoch, session: _, end } = stored;
    let ending = match end {
        AttemptEnd::Lost { begun, given_up, at } => Ending::Lost { begun, given_up, at },
        AttemptEnd::Replaced(trial) => Ending::Replaced(trial),
    };
    Attempt { number, epoch, ending }
}
