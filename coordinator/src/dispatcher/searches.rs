//! Searches for the highest rate: each step is judged when its conversations have ended, and the next rate follows from all of
//! them. What was found and chosen is stored first, so a restart continues where the search was.

use record::decision::{Decided, searched};
use scenario::{
    RunId,
    load::{Schedule, Tried},
    plan::MAX_TRIALS,
};
use store::{Moved, Store};

use super::{Dispatcher, Error, active::Active, control::micros};
use crate::aggregate::{self, load::judged};

/// What a search does next.
#[derive(Debug)]
enum Turn {
    Found(Decided),
    Step(f64),
    End(String),
}

impl<S: Store> Dispatcher<S> {
    pub(super) async fn steer_searches(&mut self) {
        let searching: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.is_searching()).map(|(id, _)| id.clone()).collect();
        for run in searching {
            while let Some(turn) = self.turn_of(&run) {
                match self.take_turn(&run, turn).await {
                    Ok(()) => {}
                    Err(Error::Read(aggregate::Error::Store(error))) => return self.store_failed(&error).await,
                    // The run ended meanwhile.
                    Err(error) => {
                        tracing::warn!(run = %run, %error, "the search does not go on");
                        break;
                    }
                }
            }
        }
    }

    fn turn_of(&self, run: &RunId) -> Option<Turn> {
        let active = self.runs.get(run).filter(|run| run.is_searching())?;
        let (schedule, gates) = (active.schedule()?, &active.plan.gates);
        let (found, _) = searched(&active.decisions);
        let step = schedule.search_steps().get(found.len());
        if let Some(step) = step {
            if self.scheduler.load_elapsed_at(run, self.now()) < step.until {
                return None;
            }
            let (verdict, reason) = judged(active.tally.load.as_ref()?, found.len(), gates)?;
            return Some(Turn::Found(Decided::SearchFound { rate: step.rate, verdict, reason }));
        }
        let tried: Vec<Tried> =
            found.iter().map(|(rate, verdict, _)| Tried { rate: *rate, verdict: *verdict }).collect();
        Some(match schedule.search()?.next(&tried) {
            Ok(rate) => Turn::Step(rate),
            Err(end) => Turn::End(end.to_string()),
        })
    }

    async fn take_turn(&mut self, run: &RunId, turn: Turn) -> Result<(), Error> {
        let from = self.scheduler.rates_may_change_from(run, self.now());
        let from_micros = micros(from);
        let refused = match (&turn, self.runs.get(run).and_then(Active::schedule)) {
            (Turn::Step(rate), Some(schedule)) => refuses(schedule, *rate, from),
            _ => None,
        };
        match (refused, turn) {
            (_, Turn::Found(found)) => Ok(self.decide(run, None, found, Moved::default()).await?),
            (None, Turn::Step(rate)) => self.reschedule(run, None, Decided::SearchStep { rate, from_micros }).await,
            (Some(reason), _) | (None, Turn::End(reason)) => {
                self.reschedule(run, None, Decided::SearchEnded { reason, from_micros }).await
            }
        }
    }
}

impl Active {
    /// Whether a search goes on in it: it is not paused, and nothing stops it.
    fn is_searching(&self) -> bool {
        let plays = self.is_running() && self.hopeless.is_none() && self.paused_at().is_none();
        plays && self.load_has_begun() && self.schedule().is_some_and(Schedule::is_searching)
    }
}

/// Why another step is not possible.
fn refuses(schedule: &Schedule, rate: f64, from: std::time::Duration) -> Option<String> {
    schedule.refuses_search_step(rate, from).or_else(|| {
        let mut next = schedule.clone();
        next.add_search_step(rate, from);
        let starts = next
            .search_steps()
            .last()
            .map_or(0, |step| next.lanes().first().map_or(0, |lane| lane.due_before(step.until)));
        (starts > MAX_TRIALS).then(|| format!("with another step it would have more than {MAX_TRIALS} starts"))
    })
}
