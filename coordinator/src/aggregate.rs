//! The numbers of a run: trials folded as they end, and the summary made of them.
//!
//! A summary is a function of the store alone, so an old run gives the same bytes each time it is asked for.

use std::sync::Arc;

use record::{Summary, Tally, Trial, Verdict, breakdown::Breakdown, call::Spend, summary::RunState, trial::Replay};
use scenario::{Digest, Plan, RunId};
use store::{Recovered, RunRow, Store, StoredTrial};

mod breakdown;
mod called;
mod summary;
mod totals;

/// Trials read from the store at a time.
const PAGE: u32 = 512;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("run {0} is unknown")]
    UnknownRun(RunId),
    #[error("plan {0} is not in the store")]
    PlanMissing(Digest),
    #[error("plan {digest} cannot be read")]
    Plan { digest: Digest, source: scenario::plan::Error },
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// The summary of a run as the store has it: what `report.json` holds.
pub async fn summarize(store: &impl Store, run: &RunId) -> Result<Summary, Error> {
    let row = row(store, run).await?;
    let plan = plan(store, &row.plan_digest).await?;
    let tally = tally(store, run, Which::of(row.state), nothing(&plan)).await?;
    finish(store, &row, &plan, &tally).await
}

/// As [`summarize`], with the trials folded already.
pub(crate) async fn finish(store: &impl Store, row: &RunRow, plan: &Plan, tally: &Tally) -> Result<Summary, Error> {
    let spend: Spend = store.spend(&row.id).await?;
    let recovered: Recovered = store.recover(&row.id).await?;
    Ok(summary::of(row, plan, tally, &spend, &recovered))
}

/// The fold of no trial of a plan.
pub(crate) fn nothing(plan: &Plan) -> Tally {
    Tally { breakdown: Breakdown::of(Arc::new(breakdown::parts(plan))), ..Tally::default() }
}

/// Which trials of a run are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that are done: of a run that is played, the others end once more.
    Done,
    /// All that ended, also those that are to be played again when the run goes on.
    Ended,
}

impl Which {
    pub(crate) fn of(state: RunState) -> Self {
        if state == RunState::Running { Self::Done } else { Self::Ended }
    }
}

/// Trials of the run, folded into `tally`.
pub(crate) async fn tally(store: &impl Store, run: &RunId, which: Which, mut tally: Tally) -> Result<Tally, Error> {
    let mut first = 0;
    loop {
        let page = trials(store, run, first, PAGE).await?;
        let Some(last) = page.last() else { return Ok(tally) };
        first = last.trial.number + 1;
        let wanted = page.iter().filter(|stored| which == Which::Ended || !stored.again);
        wanted.for_each(|stored| tally.add(&stored.trial));
    }
}

/// Trials with a number of at least `first`, at most `limit`. One whose record cannot be read is among them with its ids, as an error
/// of our side: it counts as what it is, it is named, and it is played again when the run is resumed.
pub(crate) async fn trials(store: &impl Store, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
    let mut page = store.trials(run, first, limit).await?;
    if page.iter().any(|stored| stored.unreadable) {
        let plan = plan(store, &row(store, run).await?.plan_digest).await?;
        for StoredTrial { trial, .. } in page.iter_mut().filter(|stored| stored.unreadable) {
            if let (Some(planned), Some(failure)) = (plan.trial(trial.number), trial.failure.take()) {
                *trial = Trial::unplayed(&planned, trial.epoch, Verdict::Error, failure);
            }
        }
    }
    Ok(page)
}

/// Trials of the run that ended and are worth another attempt: what our side broke, and what was held against the agent
/// where `failed` says so.
pub(crate) async fn to_play_again(store: &impl Store, run: &RunId, failed: bool) -> Result<Vec<u64>, Error> {
    let mut again = Vec::new();
    let mut first = 0;
    loop {
        let page = trials(store, run, first, PAGE).await?;
        let Some(last) = page.last() else { return Ok(again) };
        first = last.trial.number + 1;
        let wanted = |trial: &Trial| trial.replay() != Replay::Never || (failed && trial.is_held_against_agent());
        again.extend(page.iter().map(|stored| &stored.trial).filter(|trial| wanted(trial)).map(|trial| trial.number));
    }
}

pub(crate) async fn row(store: &impl Store, run: &RunId) -> Result<RunRow, Error> {
    store.run(run).await?.ok_or_else(|| Error::UnknownRun(run.clone()))
}

pub(crate) async fn plan(store: &impl Store, digest: &Digest) -> Result<Plan, Error> {
    let bytes = store.plan(digest).await?.ok_or_else(|| Error::PlanMissing(digest.clone()))?;
    let text = String::from_utf8_lossy(&bytes);
    Plan::from_json(&text).map_err(|source| Error::Plan { digest: digest.clone(), source })
}
