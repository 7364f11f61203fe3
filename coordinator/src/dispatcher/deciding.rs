//! A run that stops when it is decided: outcomes go in as trials are counted, and what is decided comes out.
//!
//! The decision is a function of the plan and the stored trials, so a restart makes it again.

use record::Trial;
use scenario::{Plan, RunId};
use statistics::sequential::{
    reason,
    suite::{Outcome, Suite},
};

use crate::scheduler::Event;

#[derive(Debug)]
pub(super) struct Deciding {
    suite: Suite,
    /// Cases whose trials the scheduler has given up, by their place in the plan.
    given_up: Vec<bool>,
    /// Whether there may be news for the scheduler.
    has_news: bool,
}

impl Deciding {
    pub(super) fn of(suite: Suite) -> Self {
        let given_up = vec![false; suite.cases().len()];
        Self { suite, given_up, has_news: true }
    }

    /// Takes a trial that was counted.
    pub(super) fn add(&mut self, trial: &Trial) {
        if let Ok(case) = usize::try_from(trial.case) {
            self.has_news |= self.suite.add(case, trial.repeat, Outcome::of(trial));
        }
    }

    pub(super) fn suite(&self) -> &Suite {
        &self.suite
    }

    /// Why the run is over; `None`: it is not decided.
    pub(super) fn reason(&self, plan: &Plan) -> Option<String> {
        let name_of = |case: usize| {
            let case = plan.case(case as u64);
            case.map(|case| format!("case {}", case.scenario)).unwrap_or_default()
        };
        self.suite.verdict().map(|_| reason::of(&self.suite, name_of))
    }

    /// What the scheduler does not know yet.
    pub(super) fn news(&mut self, run: &RunId, plan: &Plan) -> Option<Event> {
        if !std::mem::take(&mut self.has_news) {
            return None;
        }
        if self.suite.verdict().is_some() {
            return Some(Event::Concluded { run: run.clone() });
        }
        let playing = self.suite.playing();
        if playing.len() == self.given_up.len() {
            return None;
        }
        let (cases, most) = (plan.case_count(), u64::from(self.suite.required().most_repeats()));
        let mut trials = Vec::new();
        for ((case, state), given_up) in (0_u64..).zip(self.suite.cases()).zip(&mut self.given_up) {
            let plays = usize::try_from(case).is_ok_and(|case| playing.binary_search(&case).is_ok());
            // Cases in quarantine are played for information.
            let is_left_out = usize::try_from(case).is_ok_and(|case| self.suite.required().is_left_out(case));
            if !plays && !*given_up && !is_left_out {
                *given_up = true;
                trials.extend((state.seen.trials..most).map(|repeat| repeat * cases + case));
            }
        }
        (!trials.is_empty()).then(|| Event::Unwanted { run: run.clone(), trials })
    }
}
