//! People who pause runs and set the rates of their loads. What they decide is stored, as the dispatcher does, and outlives a
//! restart.

use std::{sync::Arc, time::Duration};

use record::{
    decision::{Decided, Decision, apply, paused_at},
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
        let then = paused_at(&recovered.decisions).map_or(self.at(), |since| since.min(self.at()));
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

    /// Pauses a run, or lets it go on if it is paused.
    pub(super) fn pause_or_resume(&mut self, run: &RunId) -> Checked {
        if !self.is_running(run)? {
            return Ok(());
        }
        let recovered = at_once(self.store.recover(run))?;
        let paused = paused_at(&recovered.decisions);
        let (what, moved) = match paused {
            Some(since) => {
                let moved = recovered.load_began_at.map(|began| began + (self.at() - since));
                (Decided::Resumed, Moved { load_began_at: moved, ..Moved::default() })
            }
            None => (Decided::Paused, Moved::default()),
        };
        self.ledger.events.insert("paused");
        self.decide(run, what, moved)?;
        self.on(Event::Paused { run: run.clone(), paused: paused.is_none() })
    }

    /// Nobody pauses a run for ever.
    pub(super) fn resume_all(&mut self) -> Checked {
        let runs: Vec<RunId> = self.ledger.planned.keys().cloned().collect();
        for run in runs {
            if paused_at(&at_once(self.store.recover(&run))?.decisions).is_some() {
                self.pause_or_resume(&run)?;
            }
        }
        Ok(())
    }

    /// Pauses outlive a restart, and nothing else ends them.
    pub(super) fn obey_stored_pause(&mut self, run: &RunId, recovered: &Recovered) -> Checked {
        match paused_at(&recovered.decisions) {
            Some(_) => self.on(Event::Paused { run: run.clone(), paused: true }),
            None => Ok(()),
        }
    }

    /// A run that ended while it was paused goes on when it is resumed.
    pub(super) fn end_pause(&mut self, run: &RunId) -> Checked {
        let recovered = at_once(self.store.recover(run))?;
        let Some(since) = paused_at(&recovered.decisions) else { return Ok(()) };
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
