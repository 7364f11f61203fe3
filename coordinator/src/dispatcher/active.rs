//! A run in memory: its plan, its numbers so far, and who watches it.

use std::{collections::BTreeSet, sync::Arc};

use record::{Tally, Tokens, Trial, call::Spend, summary::RunState, trial::Past};
use scenario::Plan;
use store::RunRow;
use tokio::sync::watch;

use super::early_stop::EarlyStop;
use crate::{Observers, Progress};

#[derive(Debug)]
pub(super) struct Active {
    pub(super) row: RunRow,
    pub(super) plan: Arc<Plan>,
    cases: u64,
    pub(super) tally: Tally,
    /// Of all attempts.
    spend: Spend,
    pub(super) lost_attempts: u64,
    trouble: Option<String>,
    early_stop: EarlyStop,
    /// Why the run takes no more trials, though it was not stopped.
    pub(super) hopeless: Option<String>,
    progress: watch::Sender<Progress>,
}

impl Active {
    pub(super) fn new(row: RunRow, plan: Arc<Plan>, tally: Tally, spend: Spend, lost_attempts: u64, now: i64) -> Self {
        let cases = plan.case_count();
        let trouble = None;
        let progress = progress(&row, &tally, &spend, lost_attempts, None, Fleet::default(), now);
        let progress = watch::Sender::new(progress);
        let (early_stop, hopeless) = (EarlyStop::default(), None);
        Self { row, plan, cases, tally, spend, lost_attempts, trouble, early_stop, hopeless, progress }
    }

    pub(super) fn is_running(&self) -> bool {
        self.row.state == RunState::Running
    }

    /// The agents that a worker must know to play the run.
    pub(super) fn agents(&self) -> BTreeSet<String> {
        self.plan.agents.iter().cloned().collect()
    }

    /// Why the plan has no such trial, if it has none.
    pub(super) fn refuses(&self, trial: &Trial) -> Option<String> {
        let (run, number) = (&self.row.id, trial.number);
        let planned = Some(number).filter(|number| *number < self.row.planned && trial.case < self.cases);
        let Some(planned) = planned.and_then(|number| self.plan.trial(number)) else {
            return Some(format!("run {run} has no trial {number}"));
        };
        let names = (&planned.id, &planned.case_id, planned.case, planned.repeat, planned.seed);
        let said = (&trial.trial_id, &trial.case_id, trial.case, trial.repeat, trial.seed);
        (names != said).then(|| format!("trial {number} of run {run} has another id, case, repeat or seed"))
    }

    /// The store has the trial, and knows its past.
    pub(super) fn count(&mut self, trial: &Trial, past: Past, observers: &Observers) {
        if past == trial.past {
            self.tally.add(trial);
        } else {
            self.tally.add(&Trial { past, ..trial.clone() });
        }
        if !self.plan.plays_on
            && self.hopeless.is_none()
            && !self.early_stop.is_over(self.plan.agents.len())
            && let Some(case) = self.plan.case(trial.case)
        {
            let cases = self.cases / u64::try_from(self.plan.agents.len().max(1)).unwrap_or(1);
            self.hopeless = self.early_stop.add(&case.agent, cases, trial);
        }
        if observers.metrics.is_on() {
            let scenario = self.plan.case(trial.case).map(|case| case.scenario).unwrap_or_default();
            observers.metrics.counted(&self.row.name, &scenario, trial);
        }
    }

    pub(super) fn spent(&mut self, spend: &Spend) {
        self.spend.add(spend);
    }

    pub(super) fn stop(&mut self, state: RunState, at: i64, trouble: Option<String>) {
        self.row.state = state;
        self.row.ended_at = Some(at);
        self.trouble = trouble;
    }

    pub(super) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Shows the progress to watchers, if it has changed.
    pub(super) fn publish(&self, fleet: Fleet, now: i64) {
        let trouble = self.trouble.clone();
        let next = progress(&self.row, &self.tally, &self.spend, self.lost_attempts, trouble, fleet, now);
        self.progress.send_if_modified(|shown| {
            let new = *shown != next;
            *shown = next;
            new
        });
    }
}

/// Who plays it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fleet {
    pub(crate) workers: u32,
    pub(crate) running: u64,
    pub(crate) waiting_for: Option<String>,
}

pub(crate) fn progress(
    row: &RunRow,
    tally: &Tally,
    spend: &Spend,
    lost_attempts: u64,
    trouble: Option<String>,
    fleet: Fleet,
    now: i64,
) -> Progress {
    let mut tokens = Tokens::default();
    spend.lines.values().for_each(|line| tokens.add(line.tokens));
    let elapsed = row.ended_at.unwrap_or(now) - row.started_at;
    Progress {
        run: row.id.clone(),
        state: row.state,
        planned: row.planned,
        counts: tally.total,
        turns: tally.turns,
        tokens,
        cost: spend.cost(),
        unpriced_calls: spend.unpriced_calls(),
        estimated_calls: spend.estimated_calls(),
        workers: fleet.workers,
        running: fleet.running,
        lost_attempts,
        elapsed_millis: u64::try_from(elapsed).unwrap_or(0),
        trouble,
        waiting_for: fleet.waiting_for,
    }
}
