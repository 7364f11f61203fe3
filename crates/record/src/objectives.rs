//! What objectives need of the trials of a run: a few counters for each stretch of time.
//!
//! An objective with a window gets cells of a sixth of its length, so that windows slide; one without gets a single cell. A cell
//! counts the times that miss the bound instead of keeping them, so a day of one-minute windows takes a few hundred kilobytes, and
//! whether a percentile holds is exact. Merging is associative and commutative.

use std::{collections::BTreeMap, sync::Arc};

use scenario::{
    Goodput, Objective,
    objective::{CostPer, Count, Figure, Selection, Share, Time},
};

use crate::{Role, Trial, goodput, histogram::Histogram, slices::began_after_ms, trial::TurnLatency};

/// How many cells a window has.
const CELLS: u64 = 6;

/// The fold of trials for the objectives of a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Objectives {
    watched: Arc<Vec<Watched>>,
    /// The limits that goodput counts by.
    goodput: Option<Goodput>,
    /// When the run started, in Unix milliseconds.
    start_ms: u64,
    /// One for each objective.
    sums: Vec<Sums>,
    /// The end of the last trial, after the start of the run.
    end_micros: u64,
}

/// An objective and its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    pub objective: Objective,
    pub selection: Selection,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sums {
    /// By their place in time, from 0.
    pub cells: BTreeMap<u64, Cell>,
    /// The times themselves, over the whole run.
    pub times: Histogram,
}

/// What happened in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cell {
    /// Times, or what a share is of; trials for counts and costs; of a cost per pass those that passed.
    pub samples: u64,
    /// Of a share those that count, of times those that miss the bound, of a cost calls without a price.
    pub marked: u64,
    /// Of times in microseconds; the count; the cost in billionths of a dollar.
    pub sum: u128,
    pub highest: u64,
    /// Of `samples`, turns without an answer: their time is infinite, and neither in `sum` nor in `highest`. Of a cost per pass,
    /// trials with a result about the agent that did not pass.
    pub lost: u64,
}

impl Objectives {
    #[must_use]
    pub fn of(watched: Vec<Watched>, goodput: Option<Goodput>, start_ms: u64) -> Self {
        let sums = vec![Sums::default(); watched.len()];
        Self { watched: Arc::new(watched), goodput, start_ms, sums, end_micros: 0 }
    }

    /// Each objective with its sums.
    pub fn iter(&self) -> impl Iterator<Item = (&Watched, &Sums)> {
        self.watched.iter().zip(&self.sums)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// The end of the last trial, after the start of the run.
    #[must_use]
    pub fn end_micros(&self) -> u64 {
        self.end_micros
    }

    pub fn add(&mut self, trial: &Trial) {
        self.add_as(trial, false);
    }

    /// A conversation that found no free slot.
    pub fn add_dropped(&mut self, trial: &Trial) {
        self.add_as(trial, true);
    }

    fn add_as(&mut self, trial: &Trial, dropped: bool) {
        if self.watched.is_empty() {
            return;
        }
        let began = began_after_ms(trial, self.start_ms).map(|millis| millis.saturating_mul(1_000));
        let ended = began.map(|began| began.saturating_add(trial.duration_ms.saturating_mul(1_000)));
        self.end_micros = self.end_micros.max(ended.unwrap_or(0));
        for (watched, sums) in self.watched.iter().zip(&mut self.sums) {
            if watched.selection.has(trial.case, trial.number) {
                let sample = Sample { trial, dropped, began, ended, goodput: self.goodput.as_ref() };
                sample.add_to(sums, &watched.objective);
            }
        }
    }

    /// `other` is a fold of the same run.
    pub fn merge(&mut self, other: &Self) {
        if self.watched.is_empty() {
            *self = other.clone();
            return;
        }
        self.end_micros = self.end_micros.max(other.end_micros);
        for (ours, theirs) in self.sums.iter_mut().zip(&other.sums) {
            for (place, cell) in &theirs.cells {
                ours.cells.entry(*place).or_default().merge(cell);
            }
            ours.times.merge(&theirs.times);
        }
    }
}

impl Watched {
    /// The length of a cell.
    #[must_use]
    pub fn step_micros(&self) -> u64 {
        self.objective.window_micros.map_or(u64::MAX, |window| window.div_ceil(CELLS))
    }

    /// How many cells a window has.
    #[must_use]
    pub fn cells(&self) -> u64 {
        if self.objective.window_micros.is_some() { CELLS } else { 1 }
    }
}

impl Cell {
    pub fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.marked = self.marked.saturating_add(other.marked);
        self.sum = self.sum.saturating_add(other.sum);
        self.highest = self.highest.max(other.highest);
        self.lost = self.lost.saturating_add(other.lost);
    }
}

/// A trial as objectives see it.
struct Sample<'a> {
    trial: &'a Trial,
    dropped: bool,
    /// In microseconds after the start of the run; `None` in old records, which only count for the whole run.
    began: Option<u64>,
    ended: Option<u64>,
    goodput: Option<&'a Goodput>,
}

impl Sample<'_> {
    fn add_to(&self, sums: &mut Sums, objective: &Objective) {
        match objective.figure {
            Figure::Time { of, .. } if !self.dropped => {
                for turn in &self.trial.latencies {
                    if let Some(micros) = time_of(turn, of) {
                        sums.times.record(micros);
                        let missed = !objective.comparison.holds(micros as f64, objective.bound);
                        let (sum, highest) = (u128::from(micros), micros);
                        let cell = Cell { samples: 1, marked: u64::from(missed), sum, highest, lost: 0 };
                        self.put(sums, objective, self.at(turn), &cell);
                    }
                }
                if of.is_infinite_unanswered() {
                    let lost = u64::from(self.trial.unanswered);
                    let missed = !objective.comparison.holds(f64::INFINITY, objective.bound);
                    let marked = if missed { lost } else { 0 };
                    let cell = Cell { samples: lost, marked, lost, ..Cell::default() };
                    self.put(sums, objective, self.ended, &cell);
                }
            }
            Figure::Share(Share::Goodput) if !self.dropped => {
                let Some(limits) = self.goodput else { return };
                for turn in &self.trial.latencies {
                    let cell = Cell { samples: 1, marked: u64::from(goodput::meets(limits, turn)), ..Cell::default() };
                    self.put(sums, objective, self.at(turn), &cell);
                }
                let unanswered = Cell { samples: u64::from(self.trial.unanswered), ..Cell::default() };
                self.put(sums, objective, self.ended, &unanswered);
            }
            figure => {
                let cell = self.of_whole(figure);
                self.put(sums, objective, self.ended, &cell);
            }
        }
    }

    /// When a turn ended.
    fn at(&self, turn: &TurnLatency) -> Option<u64> {
        self.began.map(|began| began.saturating_add(turn.ended_micros))
    }

    /// What the whole trial adds.
    fn of_whole(&self, figure: Figure) -> Cell {
        let trial = self.trial;
        let share = |of: bool, marked: bool| Cell {
            samples: u64::from(of),
            marked: u64::from(of && marked),
            ..Cell::default()
        };
        let count = |number: u64| Cell { samples: 1, sum: u128::from(number), ..Cell::default() };
        let mut counts = crate::tally::Counts::default();
        if !self.dropped {
            counts.add(trial);
        }
        let is_conclusive = counts.conclusive() > 0;
        match figure {
            Figure::Share(Share::Drop) => share(true, self.dropped),
            Figure::Count(Count::Dropped) => count(u64::from(self.dropped)),
            _ if self.dropped => Cell::default(),
            Figure::Share(Share::Pass) => share(is_conclusive, counts.pass > 0),
            Figure::Share(Share::Error) => share(is_conclusive, counts.agent_errors > 0),
            Figure::Share(Share::ConversationGoodput) => match self.goodput {
                Some(limits) => {
                    let mut met = goodput::Met::default();
                    met.add(limits, trial);
                    share(met.conversations > 0, met.conversations_met > 0)
                }
                None => Cell::default(),
            },
            Figure::Count(Count::Errors) => count(counts.agent_errors),
            Figure::Count(Count::Unanswered) => count(u64::from(trial.unanswered)),
            Figure::Count(Count::Tokens) | Figure::TokensPerConversation => {
                let tokens = trial.spend.of(Role::Agent).tokens;
                count(tokens.input.saturating_add(tokens.output))
            }
            Figure::Cost | Figure::CostPer(_) => {
                let cost = u128::try_from(trial.spend.cost().0).unwrap_or(0);
                let marked = trial.spend.unpriced_calls();
                let (samples, lost) = match figure {
                    Figure::CostPer(CostPer::Pass) => (counts.pass, counts.held_against_agent()),
                    _ => (1, 0),
                };
                Cell { samples, marked, sum: cost, lost, ..Cell::default() }
            }
            Figure::Time { .. } | Figure::Share(Share::Goodput) => Cell::default(),
        }
    }

    fn put(&self, sums: &mut Sums, objective: &Objective, at: Option<u64>, cell: &Cell) {
        if *cell == Cell::default() {
            return;
        }
        let place = match (objective.window_micros, at) {
            (None, _) => 0,
            (Some(window), Some(at)) => at / window.div_ceil(CELLS),
            (Some(_), None) => return,
        };
        sums.cells.entry(place).or_default().merge(cell);
    }
}

fn time_of(turn: &TurnLatency, of: Time) -> Option<u64> {
    match of {
        Time::Response => turn.response_micros,
        Time::Service => Some(turn.total_micros),
        // Older records do not say how long the user waited.
        Time::Wait => turn.response_micros.map(|_| turn.wait_micros),
        Time::Ttft => turn.ttft_micros,
        Time::ResponseTtft => {
            // What lies before the service time: our own waits, and repeated tries.
            let before = turn.response_micros?.saturating_sub(turn.total_micros);
            turn.ttft_micros.map(|ttft| ttft.saturating_add(before))
        }
        Time::InterToken => turn.inter_token_micros,
        Time::PerOutputToken => turn.per_token_micros,
    }
}

#[cfg(test)]
mod tests;
