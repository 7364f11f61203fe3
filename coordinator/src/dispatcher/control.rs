//! Live control: people pause a run, let it continue, and set its rates and slots. Each decision is stored before it is obeyed.

use std::{sync::Arc, time::Duration};

use record::decision::{Decided, Decision, apply, load_age_ms, stands_still_since, stopped};
use scenario::{
    RunId,
    load::{Lane, RateChange},
    plan::MAX_TRIALS,
};
use store::{Moved, RunRow, Store};

use super::{Dispatcher, Error, active::Active};
use crate::{aggregate, scheduler::Event};

/// More conversations than this do not fit a machine.
const MOST_SLOTS: u32 = 100_000;
/// Each lease has all changes of its lane's rate.
const MOST_RATES: usize = 100;

impl<S: Store> Dispatcher<S> {
    /// Stores a decision about a run. `by`: the name in the certificate of who made it.
    pub(super) async fn decide(
        &mut self,
        run: &RunId,
        by: Option<&str>,
        what: Decided,
        moved: Moved,
    ) -> Result<(), store::Error> {
        let (at, active) = (self.clock.now(), self.runs.get(run));
        let load_micros = match (moved.load_began_at, active.and_then(Active::load_began_at)) {
            (Some(began), _) => Some(u64::try_from(at.saturating_sub(began)).unwrap_or(0).saturating_mul(1_000)),
            (None, Some(_)) if self.scheduler.has_run(run) => {
                Some(micros(self.scheduler.load_elapsed_at(run, self.now())))
            }
            (None, Some(began)) => active.map(|active| {
                let until = active.row.ended_at.map_or(at, |ended| ended.min(at));
                load_age_ms(&active.decisions, began, until).saturating_mul(1_000)
            }),
            (None, None) => None,
        };
        let decision = Decision { at, load_micros, by: by.map(str::to_owned), what };
        self.store.decide(run, &decision, moved).await?;
        if let Some(active) = self.runs.get_mut(run) {
            active.decisions.push(decision);
            moved.load_began_at.into_iter().for_each(|began| active.load_began(began));
        }
        Ok(())
    }

    /// Stores since when the load of a run stands still, if it does not already. The rest of it is due after that time.
    pub(super) async fn stand_still(
        &mut self,
        run: &RunId,
        by: Option<&str>,
        why: Decided,
    ) -> Result<(), store::Error> {
        let stands_still = |active: &Active| match why {
            Decided::Interrupted => stands_still_since(&active.decisions).is_some(),
            // A restart ends an interruption, and not this.
            _ => active.paused_at().is_some() || stopped(&active.decisions).is_some(),
        };
        let plays = |active: &&Active| active.is_running() && active.schedule().is_some() && !stands_still(active);
        match self.runs.get(run).filter(plays) {
            Some(_) => self.decide(run, by, why, Moved::default()).await,
            None => Ok(()),
        }
    }

    /// Nothing more of the run is leased until it is resumed. What workers hold, they play.
    pub(super) async fn pause(&mut self, run: &RunId, by: Option<&str>) -> Result<(), Error> {
        if self.playing(run, "paused").await?.paused_at().is_some() {
            return Ok(());
        }
        self.decide(run, by, Decided::Paused, Moved::default()).await?;
        self.hear(Event::Paused { run: run.clone(), paused: true }).await;
        self.publish(run);
        Ok(())
    }

    /// A running run continues after a pause or a stop.
    pub(super) async fn unpause(&mut self, run: &RunId, by: Option<&str>) -> Result<(), Error> {
        let Some(active) = self.runs.get_mut(run) else { return Ok(()) };
        let stood_still = stands_still_since(&active.decisions).is_some() || active.row.exhausted;
        if active.hopeless.take().is_some() || stood_still {
            let moved = Moved { load_began_at: self.load_as_if_begun_at(run), ..Moved::default() };
            self.decide(run, by, Decided::Resumed, moved).await?;
            self.hear(Event::Paused { run: run.clone(), paused: false }).await;
        }
        Ok(())
    }

    /// When the load of a running run began, as if its time had never stood still. In unix milliseconds.
    pub(super) fn load_as_if_begun_at(&self, run: &RunId) -> Option<i64> {
        self.runs.get(run).filter(|active| active.load_has_begun())?;
        let elapsed = self.scheduler.load_elapsed_at(run, self.now());
        Some(self.clock.now().saturating_sub(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The same of a run that has ended: its time stood still since it was paused, stopped or ended.
    pub(super) async fn load_moved(&self, row: &RunRow) -> Result<Option<i64>, store::Error> {
        let recovered = self.store.recover(&row.id).await?;
        let stopped = [stands_still_since(&recovered.decisions), row.ended_at].into_iter().flatten().min();
        // A resume that failed half way has moved it already.
        let resumed = recovered.decisions.iter().rfind(|decision| decision.what == Decided::Resumed);
        let stood_still = stopped.map(|since| resumed.map_or(since, |resumed| since.max(resumed.at)));
        let moved = recovered.load_began_at.zip(stood_still).map(|(began, since)| {
            let pause = self.clock.now().saturating_sub(since).max(0);
            began.saturating_add(pause)
        });
        Ok(moved)
    }

    /// From now on so many conversations of closed paces run at once.
    pub(super) async fn set_slots(
        &mut self,
        run: &RunId,
        by: Option<&str>,
        group: Option<&str>,
        slots: u32,
    ) -> Result<(), Error> {
        let lanes = self.playing(run, "given other slots").await?.lanes_of_load(group, "slots")?;
        if !(1..=MOST_SLOTS).contains(&slots) {
            return Err(Error::Refused(format!("{slots} slots are not possible; 1 to {MOST_SLOTS} are")));
        }
        if lanes.iter().all(|lane| lane.is_open()) {
            let why = format!("run {run} plays at a rate, not in slots ({})", names(&lanes));
            return Err(Error::Refused(why));
        }
        let from_micros = micros(self.scheduler.load_elapsed_at(run, self.now()));
        self.reschedule(run, by, Decided::Slots { group: group.map(str::to_owned), slots, from_micros }).await
    }

    /// As soon as possible, so many conversations of open paces start each second. Returns in how long.
    pub(super) async fn set_rate(
        &mut self,
        run: &RunId,
        by: Option<&str>,
        group: Option<&str>,
        rate: f64,
    ) -> Result<Duration, Error> {
        let active = self.playing(run, "given another rate").await?;
        if active.plan.is_search() {
            return Err(Error::Refused(format!("run {run} searches for the highest rate, and sets the rates itself")));
        }
        let lanes = active.lanes_of_load(group, "rate")?;
        let changes = active.decisions.iter().filter(|decision| matches!(decision.what, Decided::Rate { .. })).count();
        if changes >= MOST_RATES {
            return Err(Error::Refused(format!(
                "the rate of run {run} was changed {MOST_RATES} times, which is the most"
            )));
        }
        let now = self.now();
        let last = lanes.iter().filter_map(|lane| lane.rates().last()).map(|change| change.from).max();
        let from = self.scheduler.rates_may_change_from(run, now).max(last.unwrap_or_default());
        let has_rate = lanes.iter().any(|lane| lane.has_rate());
        let refusals: Vec<String> = lanes
            .iter()
            .filter(|lane| lane.has_rate() || !has_rate)
            .filter_map(|lane| Some(format!("{}: {}", lane.name(), lane.refuses_rate(RateChange { from, rate })?)))
            .collect();
        if !refusals.is_empty() {
            let others = if lanes.len() > 1 && has_rate { "; `--group` sets the rate of one group" } else { "" };
            let why = refusals.join("; ");
            return Err(Error::Refused(format!("the rate of run {run} cannot be set: {why}{others}")));
        }
        let elapsed = self.scheduler.load_elapsed_at(run, now);
        let what = Decided::Rate { group: group.map(str::to_owned), rate, from_micros: micros(from) };
        self.reschedule(run, by, what).await?;
        Ok(from.saturating_sub(elapsed))
    }

    /// Stores a decision about the schedule of a load, then plays by it.
    pub(super) async fn reschedule(&mut self, run: &RunId, by: Option<&str>, what: Decided) -> Result<(), Error> {
        let Some((mut schedule, mut planned)) =
            self.runs.get(run).and_then(|active| Some((active.schedule()?.clone(), active.row.planned)))
        else {
            return Ok(());
        };
        apply(&what, &mut schedule);
        // A load that ends by time alone has no number of trials.
        if let Some(count) = schedule.count() {
            if count > MAX_TRIALS {
                let why = format!("until its end run {run} would have {count} trials; at most {MAX_TRIALS} are played");
                return Err(Error::Refused(why));
            }
            planned = count;
        }
        let schedule = Arc::new(schedule);
        self.decide(run, by, what, Moved { planned: Some(planned), ..Moved::default() }).await?;
        if let Some(active) = self.runs.get_mut(run) {
            active.rescheduled(&schedule, planned);
        }
        self.hear(Event::Rescheduled { run: run.clone(), schedule }).await;
        self.publish(run);
        Ok(())
    }

    /// Repeats the pauses and stops that were stored before a restart. Its rates and slots are in the run's schedule.
    pub(super) async fn obey_stored_decisions(&mut self, run: &RunId) {
        let Some(active) = self.runs.get(run) else { return };
        let mut events = Vec::new();
        if active.paused_at().is_some() {
            events.push(Event::Paused { run: run.clone(), paused: true });
        }
        if active.hopeless.is_some() || active.row.exhausted {
            // The last process stored why the run stops, and had no time to stop it.
            events.push(Event::RunStopped { run: run.clone(), drain: true });
        }
        for event in events {
            self.hear(event).await;
        }
        // A client that asks before the next event sees a paused run as paused.
        self.publish(run);
    }

    async fn playing(&self, run: &RunId, what: &str) -> Result<&Active, Error> {
        if let Some(active) = self.runs.get(run).filter(|active| active.is_running()) {
            return Ok(active);
        }
        let state = format!("{:?}", aggregate::row(&*self.store, run).await?.state).to_lowercase();
        Err(Error::Refused(format!("run {run} is {state}, so it cannot be {what}")))
    }
}

impl Active {
    /// The lanes of a load that `group` names, or all. `what`: which the load has of its own.
    fn lanes_of_load(&self, group: Option<&str>, what: &str) -> Result<Vec<&Lane>, Error> {
        let run = &self.row.id;
        let Some(schedule) = self.schedule() else {
            return Err(Error::Refused(format!("run {run} plays no load, so it has no {what} of its own")));
        };
        let is_meant = |lane: &&Lane| group.is_none_or(|name| lane.name() == name);
        let lanes: Vec<&Lane> = schedule.lanes().iter().filter(is_meant).collect();
        if let (Some(name), true) = (group, lanes.is_empty()) {
            let all = names(&schedule.lanes().iter().collect::<Vec<_>>());
            return Err(Error::Refused(format!("run {run} has no group {name:?}; it has {all}")));
        }
        Ok(lanes)
    }
}

fn names(lanes: &[&Lane]) -> String {
    lanes.iter().map(|lane| lane.name()).collect::<Vec<_>>().join(", ")
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
