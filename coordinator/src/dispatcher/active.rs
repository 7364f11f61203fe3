//! A run in memory: its plan, its numbers so far, and its observers.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use record::{
    Tally, Tokens, Trial, Usd,
    call::Spend,
    decision::{self, Decision, stands_still_since},
    runner::{Runner, Sample},
    summary::RunState,
    tally::{LaneCounts, LoadTally},
    trial::Past,
};
use scenario::{
    Plan,
    load::{Lane, RateChange, Schedule, lane_and_local},
    plan::Trials,
};
use statistics::objective::{self, Used};
use store::{Recovered, RunRow};
use tokio::{sync::watch, time::Instant};

use super::{
    allocator::Allocator,
    deciding::Deciding,
    early_stop::{EarlyStop, Player},
    load_progress,
};
use crate::{Observers, Progress, scheduler::Work};

/// Why a load stopped. Such a run is `exhausted`, which has an exit code of its own.
pub(super) const QUOTA_USED_UP: &str = "a provider's quota or credit is used up";
/// Each time costs a disk write, and many workers send a heartbeat every 2 s.
const RUNNER_STORED_MS: i64 = 1_500;

#[derive(Debug)]
pub(super) struct Active {
    pub(super) row: RunRow,
    pub(super) plan: Arc<Plan>,
    /// Of the plan.
    trials: Trials,
    /// Of a plan with a load.
    schedule: Option<Arc<Schedule>>,
    /// When its load began, in unix milliseconds.
    load_began_at: Option<i64>,
    /// How loaded the machines of workers were, if it is a load.
    runner: Runner,
    /// When `runner` was stored last, in unix milliseconds.
    runner_stored_at: i64,
    cases: u64,
    pub(super) tally: Tally,
    /// Of all attempts.
    spend: Spend,
    pub(super) lost_attempts: u64,
    trouble: Option<String>,
    early_stop: EarlyStop,
    /// Why the run takes no more trials, although nobody stopped it.
    pub(super) hopeless: Option<String>,
    /// What was decided while it played, in order.
    pub(super) decisions: Vec<Decision>,
    /// When its objectives were judged last.
    pub(super) objectives_judged: Option<Instant>,
    /// Of a run that stops when it is decided.
    pub(super) deciding: Option<Deciding>,
    /// Of a run with a budget.
    pub(super) money: Option<Allocator>,
    progress: watch::Sender<Progress>,
}

impl Active {
    pub(super) fn new(
        row: RunRow,
        plan: Arc<Plan>,
        (tally, deciding): (Tally, Option<Deciding>),
        spend: Spend,
        recovered: &Recovered,
        now: i64,
    ) -> Self {
        let (lost_attempts, load_began_at) = (recovered.lost_attempts, recovered.load_began_at);
        let mut runner = recovered.runner.clone();
        runner.memory.coordinator_restarted();
        let cases = plan.case_count();
        let trouble = None;
        let decisions = recovered.decisions.clone();
        let progress = progress(&row, &tally, &spend, lost_attempts, &decisions, Fleet::default(), now);
        let progress = watch::Sender::new(progress);
        let early_stop = EarlyStop::default();
        let hopeless = decision::stopped(&decisions).filter(|why| *why != QUOTA_USED_UP).map(str::to_owned);
        let schedule = decision::schedule(&plan, &decisions).map(Arc::new);
        let mut money = Allocator::new(&recovered.ledger);
        if decision::is_out_of_money(&decisions) {
            money.iter_mut().for_each(Allocator::use_up);
        }
        Self {
            row,
            trials: Trials::of(Arc::clone(&plan)),
            plan,
            schedule,
            load_began_at,
            runner,
            runner_stored_at: 0,
            cases,
            tally,
            spend,
            lost_attempts,
            trouble,
            early_stop,
            hopeless,
            decisions,
            objectives_judged: None,
            deciding,
            money,
            progress,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.row.state == RunState::Running
    }

    /// Since when it is paused, in unix milliseconds.
    pub(super) fn paused_at(&self) -> Option<i64> {
        decision::paused_at(&self.decisions)
    }

    /// Whether nothing but an interruption lets its load stand still.
    pub(super) fn is_interrupted(&self) -> bool {
        let stands_still = stands_still_since(&self.decisions).is_some();
        stands_still && self.paused_at().is_none() && decision::stopped(&self.decisions).is_none()
    }

    /// The first objective that is broken and stops the run, and why.
    pub(super) fn broken_objective(&self, now: i64) -> Option<(String, String)> {
        let elapsed_ms = match (&self.schedule, self.load_began_at) {
            (Some(_), Some(began)) => decision::load_age_ms(&self.decisions, began, now),
            // Nothing has started.
            (Some(_), None) => 0,
            (None, _) => u64::try_from(millis_between(self.row.started_at, now).as_millis()).unwrap_or(u64::MAX),
        };
        let stopped = decision::stopping_objectives(&self.decisions).into_iter().map(|(name, _)| name).collect();
        let used = Used { all: &self.spend, warm_up: self.tally.warm_up_spend() };
        objective::breaks(&self.tally.objectives, used, elapsed_ms.saturating_mul(1_000), &stopped)
    }

    /// The schedule of its load, with what was decided about it.
    pub(super) fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_deref()
    }

    /// Somebody changed a rate or slots of its load.
    pub(super) fn rescheduled(&mut self, schedule: &Arc<Schedule>, planned: u64) {
        if let Some(load) = &mut self.tally.load {
            load.reschedule(Arc::clone(schedule));
        }
        (self.schedule, self.row.planned) = (Some(Arc::clone(schedule)), planned);
    }

    /// How the rate of a trial's lane was changed.
    pub(super) fn rates_of(&self, trial: u64) -> Vec<RateChange> {
        let lane = self.schedule.as_ref().and_then(|schedule| schedule.lanes().get(lane_and_local(trial).0));
        lane.map(|lane| lane.rates().to_vec()).unwrap_or_default()
    }

    /// The agents that a worker must know to play the run.
    pub(super) fn agents(&self) -> BTreeSet<String> {
        self.plan.agents.iter().cloned().collect()
    }

    /// What there is to play. `load_began_at`: in unix milliseconds.
    pub(super) fn work(&self, load_began_at: Option<i64>, now: i64) -> Work {
        let Some(schedule) = &self.schedule else {
            let trials = self.numbers();
            return if self.deciding.is_some() { Work::Rounds(trials) } else { Work::Trials(trials) };
        };
        let elapsed = load_began_at.map(|began| millis_between(began, now));
        Work::Load { schedule: Arc::clone(schedule), elapsed }
    }

    pub(super) fn load_has_begun(&self) -> bool {
        self.load_began_at.is_some()
    }

    /// In Unix milliseconds, as if it had never stood still.
    pub(super) fn load_began_at(&self) -> Option<i64> {
        self.load_began_at
    }

    pub(super) fn load_began(&mut self, at: i64) {
        self.load_began_at = Some(at);
    }

    /// Now, or since when the load stands still, in Unix milliseconds: it does not age meanwhile.
    pub(super) fn load_now(&self, now: i64) -> i64 {
        stands_still_since(&self.decisions).map_or(now, |since| since.min(now))
    }

    /// So many slots have the workers that can play the load, now that it begins.
    pub(super) fn begins_with(&mut self, slots: u64) {
        if let Some(asked) = self.asked(Duration::ZERO) {
            self.runner.slots.add(asked, slots);
        }
    }

    /// How many conversations at once closed groups ask for, of those that have not ended; `None` in the warm-up, and while the
    /// load stands still.
    fn asked(&self, after: Duration) -> Option<u64> {
        let schedule = self.schedule.as_ref()?;
        if schedule.is_warm_up(after) || stands_still_since(&self.decisions).is_some() {
            return None;
        }
        let ended = |lane| self.tally.load.as_ref().and_then(|load| load.lanes.get(&lane)).map_or(0, LaneCounts::ended);
        let of_lane = |(index, lane): (usize, &Lane)| lane.asked_at(after, ended(index));
        Some(schedule.lanes().iter().enumerate().map(of_lane).sum())
    }

    /// A worker measured its machine, and `slots` is how many all workers have that can play the run. Returns what is to be
    /// stored of that: nothing without a load, or if something was stored recently.
    pub(super) fn measured(&mut self, sample: Sample, slots: u64, coordinator_bytes: u64, now: i64) -> Option<&Runner> {
        self.schedule.as_ref().filter(|_| self.row.state == RunState::Running)?;
        let after = millis_between(self.load_began_at?, self.load_now(now));
        if let Some(asked) = self.asked(after) {
            self.runner.slots.add(asked, slots);
        }
        self.runner.add(sample, u64::try_from(after.as_millis()).unwrap_or(u64::MAX), coordinator_bytes);
        if now.saturating_sub(self.runner_stored_at) < RUNNER_STORED_MS {
            return None;
        }
        self.runner_stored_at = now;
        Some(&self.runner)
    }

    /// How many trials the plan has without a load. Of a run that was decided, fewer are planned.
    fn numbers(&self) -> u64 {
        if self.deciding.is_some() { self.plan.planned().unwrap_or(0) } else { self.row.planned }
    }

    fn has_trial(&self, number: u64) -> bool {
        let Some(schedule) = &self.schedule else { return number < self.numbers() };
        let (lane, local) = lane_and_local(number);
        schedule.lanes().get(lane).is_some_and(|lane| lane.count().is_none_or(|count| local < count))
    }

    /// Why the trial does not belong to the plan; `None` if it does.
    pub(super) fn refuses(&self, trial: &Trial) -> Option<String> {
        let (run, number) = (&self.row.id, trial.number);
        let planned = Some(number).filter(|number| self.has_trial(*number) && trial.case < self.cases);
        let Some(planned) = planned.and_then(|number| self.trials.get(number)) else {
            return Some(format!("run {run} has no trial {number}"));
        };
        let names = (&planned.id, &planned.case_id, planned.case, planned.repeat, planned.seed);
        let said = (&trial.trial_id, &trial.case_id, trial.case, trial.repeat, trial.seed);
        (names != said).then(|| format!("trial {number} of run {run} has another id, case, repeat or seed"))
    }

    /// Counts a trial that the store has committed.
    pub(super) fn count(&mut self, trial: &Trial, past: Past, by: Player, observers: &Observers) {
        let with_past = (past != trial.past).then(|| Trial { past, ..trial.clone() });
        let counted = with_past.as_ref().unwrap_or(trial);
        self.tally.add(counted);
        if let Some(deciding) = &mut self.deciding {
            deciding.add(counted);
        }
        if !self.plan.plays_on
            && self.hopeless.is_none()
            && !self.early_stop.is_over(self.plan.agents.len())
            && let Some(case) = self.plan.case(trial.case)
        {
            let cases = self.cases / u64::try_from(self.plan.agents.len().max(1)).unwrap_or(1);
            self.hopeless = self.early_stop.add(&case.agent, cases, by, trial);
        }
        if observers.metrics.is_on() {
            let scenario = self.plan.case(trial.case).map(|case| case.scenario).unwrap_or_default();
            observers.metrics.counted(&self.row.name, &scenario, trial);
        }
    }

    pub(super) fn spent(&mut self, spend: &Spend) {
        self.spend.add(spend);
    }

    /// Of all attempts, as far as it is known.
    pub(super) fn cost(&self) -> Usd {
        self.spend.cost()
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
        let Self { row, tally, spend, decisions, .. } = self;
        let mut next = progress(row, tally, spend, self.lost_attempts, decisions, fleet, now);
        next.trouble = self.trouble.clone();
        next.reserved = self.money.as_ref().map(Allocator::reserved).unwrap_or_default();
        self.progress.send_if_modified(|shown| {
            let new = *shown != next;
            *shown = next;
            new
        });
    }
}

/// Zero if the clock was set back meanwhile.
pub(super) fn millis_between(earlier: i64, later: i64) -> Duration {
    Duration::from_millis(u64::try_from(later.saturating_sub(earlier)).unwrap_or(0))
}

/// The worker that plays a trial.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fleet {
    pub(crate) workers: u32,
    pub(crate) running: u64,
    pub(crate) waiting_for: Option<String>,
    pub(crate) paused: bool,
    /// How old its load is.
    pub(crate) load_elapsed: Duration,
}

pub(crate) fn progress(
    row: &RunRow,
    tally: &Tally,
    spend: &Spend,
    lost_attempts: u64,
    decisions: &[Decision],
    fleet: Fleet,
    now: i64,
) -> Progress {
    let mut tokens = Tokens::default();
    spend.lines.values().for_each(|line| tokens.add(line.tokens));
    let mut counts = tally.total;
    // What a load leaves out of all other figures has ended too.
    counts.skipped += tally.load.as_ref().map_or(0, LoadTally::apart);
    let elapsed = row.ended_at.unwrap_or(now) - row.started_at;
    // A finished load has offered everything.
    let over = row.state == RunState::Finished;
    let load_elapsed = if over { Duration::MAX } else { fleet.load_elapsed };
    Progress {
        load: tally.load.as_ref().map(|load| load_progress::of(load, load_elapsed, fleet.running)),
        run: row.id.clone(),
        state: row.state,
        // The trials of a load that ends by time are counted as they begin.
        planned: if row.planned == 0 { counts.ended() + fleet.running } else { row.planned },
        counts,
        turns: tally.turns,
        tokens,
        cost: spend.cost(),
        unpriced_calls: spend.unpriced_calls(),
        estimated_calls: spend.estimated_calls(),
        workers: fleet.workers,
        running: fleet.running,
        lost_attempts,
        elapsed_millis: u64::try_from(elapsed).unwrap_or(0),
        trouble: None,
        waiting_for: fleet.waiting_for,
        paused: fleet.paused,
        max_cost: row.max_cost,
        reserved: Usd(0),
        out_of_money: decision::is_out_of_money(decisions),
    }
}
