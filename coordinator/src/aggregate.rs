//! The numbers of a run: trials folded as they end, and the summary made of them.
//!
//! A summary is a function of the store alone, so the summary of an old run is the same bytes every time.

use std::sync::Arc;

use record::{
    Summary, Tally, Trial, Verdict,
    breakdown::Breakdown,
    call::Spend,
    decision::{self, Decision},
    objectives::{Objectives, Watched},
    slices::Slices,
    summary::RunState,
    tally::LoadTally,
    trial::Replay,
};
use scenario::{Digest, Objective, Plan, RunId};
use statistics::sequential::suite::{Outcome, Required, Suite};
use store::{Recovered, RunRow, Store, StoredTrial};

mod breakdown;
mod called;
pub mod contents;
mod drift;
pub(crate) mod load;
mod summary;
mod totals;

/// Trials read from the store at a time.
const PAGE: u32 = 512;
/// Moments of lost attempts that a summary names.
const MOST_LOSSES: u32 = 100;

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

/// The summary of a run from the store: the contents of `report.json`.
pub async fn summarize(store: &impl Store, run: &RunId) -> Result<Summary, Error> {
    let row = row(store, run).await?;
    let plan = plan(store, &row.plan_digest).await?;
    let nothing = nothing(&row, &plan, &store.recover(run).await?.decisions);
    let tally = tally(store, run, Which::of(row.state), nothing).await?;
    let suite = suite(store, run, &plan).await?;
    finish(store, &row, &plan, &tally, suite.as_ref()).await
}

/// As [`summarize`], with the trials folded already.
pub(crate) async fn finish(
    store: &impl Store,
    row: &RunRow,
    plan: &Plan,
    tally: &Tally,
    suite: Option<&Suite>,
) -> Result<Summary, Error> {
    let spend: Spend = store.spend(&row.id).await?;
    let recovered: Recovered = store.recover(&row.id).await?;
    let lost = store.lost_over_time(&row.id, MOST_LOSSES).await?;
    let summary = summary::of(row, plan, tally, &spend, &recovered, suite);
    Ok(Summary { losses: summary::losses(row, &recovered, &lost), ..summary })
}

/// The fold of no trial of a run.
pub(crate) fn nothing(row: &RunRow, plan: &Plan, decisions: &[Decision]) -> Tally {
    let started_at = u64::try_from(row.started_at).unwrap_or(0);
    let slices = Slices::of_run_started_at(started_at);
    let load = decision::schedule(plan, decisions).map(|schedule| LoadTally::of(Arc::new(schedule)));
    let watch = |objective: &Objective| Watched { selection: objective.selection(plan), objective: objective.clone() };
    // A search judges its steps, and looks for the rate at which they break.
    let is_of_run = |objective: &&Objective| !plan.is_search() || objective.share_of_step().is_none();
    let watched = plan.gates.objectives.iter().filter(is_of_run).map(watch).collect();
    let objectives = Objectives::of(watched, plan.goodput, started_at);
    let breakdown = Breakdown::of(Arc::new(breakdown::parts(plan)));
    Tally { breakdown, slices, load, objectives, transcripts: plan.transcripts, ..Tally::default() }
}

/// Which trials of a run are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Trials that are done. If the run is active, trials that are retried later are not included.
    Done,
    /// All trials that ended, including those that are retried when the run resumes.
    Ended,
}

impl Which {
    pub(crate) fn of(state: RunState) -> Self {
        if state == RunState::Running { Self::Done } else { Self::Ended }
    }
}

/// A run that stops when it is decided, as far as its stored trials say; `None`: it plays every repeat. A trial that is played
/// again although the agent failed stays a failure.
pub(crate) async fn suite(store: &impl Store, run: &RunId, plan: &Plan) -> Result<Option<Suite>, Error> {
    let Some(mut suite) = Required::of_plan(plan).map(Suite::new) else { return Ok(None) };
    let mut first = 0;
    loop {
        let page = trials(store, run, first, PAGE).await?;
        let Some(last) = page.last() else { return Ok(Some(suite)) };
        first = last.trial.number + 1;
        let is_final = |stored: &&StoredTrial| {
            !stored.again || stored.trial.replay() == Replay::Never || stored.trial.past.failed > 0
        };
        for StoredTrial { trial, .. } in page.iter().filter(is_final) {
            if let Ok(case) = usize::try_from(trial.case) {
                suite.add(case, trial.repeat, Outcome::of(trial));
            }
        }
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

/// At most `limit` trials, starting at number `first`. A trial whose record cannot be read is returned by its ids as an
/// error on our side: the report counts and names it, and a resume plays it again.
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

/// Trials of the run that ended and deserve another attempt: those that our side broke and, if `failed`, those that
/// failed because of the agent.
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
