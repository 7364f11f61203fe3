//! People who pause runs and set the rates of their loads. What they decide is stored, as the dispatcher does, and outlives a
//! restart.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use record::{
    decision::{Decided, Decision, apply, paused_at, stands_still_since},
    summary::RunState,
};
use scenario::{
    RunId,
    load::{RateChange, Schedule, lane_and_local},
};
use store::{Moved, Recovered, Store};

use super::{
    super::{
        Event, Work,
        fixture::{even, schedule},
    },
    world::{Checked, World, at_once},
};

/// More changes of a rate would make runs that never end.
const MOST_RATES: usize = 6;

impl World {
    /// What there is to play in a run: with the rates that were stored, and as old as its load is.
    pub(super) fn work(&mut self, run: &RunId, planned: u64, recovered: &Recovered) -> Work {
        let Some(schedule) = self.schedule(run, recovered) else { return Work::Trials(planned) };
        self.ledger.events.insert("load");
        let then = stands_still_since(&recovered.decisions).map_or(self.at(), |since| since.min(self.at()));
        let elapsed = |began: i64| Duration::from_millis((then - began).max(0) as u64);
        Work::Load { schedule: Arc::new(schedule), elapsed: recovered.load_began_at.map(elapsed) }
    }

    /// `None`: the run has no load.
    fn schedule(&self, run: &RunId, recovered: &Recovered) -> Option<Schedule> {
        let seconds = self.script.load_seconds?;
        let index: usize = run.as_str().strip_prefix("run-")?.parse().ok()?;
        let planned = self.script.planned.get(index).copied().filter(|planned| *planned > 0)?;
        let mut schedule = (*schedule(vec![even(planned as f64 / seconds as f64, seconds)])).clone();
        recovered.decisions.iter().for_each(|decision| apply(&decision.what, &mut schedule));
        Some(schedule)
    }

    fn is_running(&self, run: &RunId) -> Result<bool, String> {
        Ok(at_once(self.store.run(run))?.is_some_and(|row| row.state == RunState::Running))
    }

    fn decide(&mut self, run: &RunId, what: Decided, moved: Moved) -> Checked {
        let decision = Decision { at: self.at(), load_micros: None, by: None, what };
        at_once(self.store.decide(run, &decision, moved))
    }

    /// Drains a run. Its load stands still from then on.
    pub(super) fn stop(&mut self, run: &RunId) -> Checked {
        if self.script.load_seconds.is_some() && self.is_running(run)? {
            let recovered = at_once(self.store.recover(run))?;
            if stands_still_since(&recovered.decisions).is_none() {
                self.decide(run, Decided::Interrupted, Moved::default())?;
            }
        }
        self.on(Event::RunStopped { run: run.clone(), drain: true })?;
        self.check_clock(run)
    }

    /// Pauses a run, or lets it go on if it is paused or drained.
    pub(super) fn pause_or_resume(&mut self, run: &RunId) -> Checked {
        if !self.is_running(run)? {
            return Ok(());
        }
        let recovered = at_once(self.store.recover(run))?;
        if stands_still_since(&recovered.decisions).is_none() {
            self.ledger.events.insert("paused");
            self.decide(run, Decided::Paused, Moved::default())?;
            self.on(Event::Paused { run: run.clone(), paused: true })?;
            return self.check_clock(run);
        }
        if paused_at(&recovered.decisions).is_none() {
            self.ledger.events.insert("resumed in a drain");
        }
        let moved = self.as_if_begun_at(run, &recovered);
        self.decide(run, Decided::Resumed, Moved { load_began_at: moved, ..Moved::default() })?;
        self.on(Event::Paused { run: run.clone(), paused: false })?;
        // As the dispatcher undoes a drain.
        let (work, agents) = (Work::Trials(0), BTreeSet::new());
        let recovered = Recovered::default().into();
        self.on(Event::RunStarted { run: run.clone(), work, agents, recovered, silent: BTreeMap::new() })?;
        self.check_clock(run)
    }

    /// When the load began, as if its time had never stood still.
    fn as_if_begun_at(&self, run: &RunId, recovered: &Recovered) -> Option<i64> {
        recovered.load_began_at?;
        Some(self.at() - self.scheduler.load_elapsed_at(run, self.now).as_millis() as i64)
    }

    /// The load is as old in the scheduler as what is stored says.
    fn check_clock(&self, run: &RunId) -> Checked {
        let recovered = at_once(self.store.recover(run))?;
        let Some(began) = recovered.load_began_at.filter(|_| self.scheduler.has_run(run)) else { return Ok(()) };
        let then = stands_still_since(&recovered.decisions).map_or(self.at(), |since| since.min(self.at()));
        let (stored, known) = ((then - began).max(0), self.scheduler.load_elapsed_at(run, self.now).as_millis() as i64);
        if (stored - known).abs() > 1 {
            let decisions = recovered.decisions;
            return Err(format!("{run}: its load is {known} ms old, and {stored} ms by {decisions:?} since {began}"));
        }
        Ok(())
    }

    /// Nobody pauses or drains a run for ever.
    pub(super) fn resume_all(&mut self) -> Checked {
        let runs: Vec<RunId> = self.ledger.planned.keys().cloned().collect();
        for run in runs {
            if stands_still_since(&at_once(self.store.recover(&run))?.decisions).is_some() {
                self.pause_or_resume(&run)?;
            }
        }
        Ok(())
    }

    /// Pauses outlive a restart. A drain does not.
    pub(super) fn obey_stored_pause(&mut self, run: &RunId, recovered: &Recovered) -> Checked {
        let paused = paused_at(&recovered.decisions).is_some();
        if paused {
            self.on(Event::Paused { run: run.clone(), paused: true })?;
        }
        if stands_still_since(&recovered.decisions).is_some() {
            let moved = if paused { None } else { self.as_if_begun_at(run, recovered) };
            self.decide(run, Decided::Restarted, Moved { load_began_at: moved, ..Moved::default() })?;
        }
        self.check_clock(run)
    }

    /// A run that ended while its load stood still goes on when it is resumed.
    pub(super) fn end_pause(&mut self, run: &RunId) -> Checked {
        let recovered = at_once(self.store.recover(run))?;
        let Some(since) = stands_still_since(&recovered.decisions) else { return Ok(()) };
        let moved = recovered.load_began_at.map(|began| began + (self.at() - since));
        self.decide(run, Decided::Resumed, Moved { load_began_at: moved, ..Moved::default() })
    }

    /// Gives the load of a run another rate, if it has one that can still change.
    pub(super) fn set_rate(&mut self, run: &RunId) -> Checked {
        let recovered = at_once(self.store.recover(run))?;
        let Some(before) = self.schedule(run, &recovered).filter(|_| recovered.decisions.len() < MOST_RATES) else {
            return Ok(());
        };
        let rate = 0.5 + self.chance.below(40) as f64 / 10.0;
        let from = self.scheduler.rates_may_change_from(run, self.now);
        let lane = &before.lanes()[0];
        let last = lane.rates().last().map_or(Duration::ZERO, |change| change.from);
        let change = RateChange { from: from.max(last), rate };
        if !self.is_running(run)? || lane.refuses_rate(change).is_some() {
            return Ok(());
        }
        self.ledger.events.insert("another rate");
        let from_micros = change.from.as_micros() as u64;
        let what = Decided::Rate { group: None, rate, from_micros };
        let mut after = before.clone();
        apply(&what, &mut after);
        for (_, trial) in self.ledger.leased_of(run) {
            let (lane, local) = lane_and_local(trial);
            let due = |of: &Schedule| of.lanes()[lane].due(local);
            if due(&before) != due(&after) {
                return Err(format!("{run}: trial {trial} is leased, and another rate moves it to {:?}", due(&after)));
            }
        }
        let planned = after.count().ok_or("the load has no end")?;
        self.ledger.planned.insert(run.clone(), planned);
        self.decide(run, what, Moved { planned: Some(planned), ..Moved::default() })?;
        self.on(Event::Rescheduled { run: run.clone(), schedule: Arc::new(after) })
    }
}
