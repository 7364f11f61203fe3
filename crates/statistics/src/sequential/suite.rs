//! A run that stops when it is decided: the mean success rate over all cases, and the floor of each case.
//!
//! Outcomes come in any order and are consumed round by round: repeat r of every case that still plays, and only when all of them have
//! ended. So the decision depends on the plan and the outcomes alone, and not on which worker was faster.
//!
//! - The mean is judged while every case plays, after each round. Once it is decided, it stays.
//! - A case is judged against its floor after each of its repeats. With many cases some look bad by chance, so each gets its
//!   part of the chance of a false FAIL.
//! - FAIL as soon as the mean or a case fails. PASS when the mean and every case have passed: cases that have passed stop, and
//!   only the others play on. Undecided when the repeats are used up.

use std::collections::BTreeMap;

use record::{Blame, Trial};
use scenario::Plan;

use super::rule::{Error, Found, Rule, Seen};
use crate::compare::played::PlayedTrial;

/// What is required of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Required {
    mean: Rule,
    /// By case; `None`: it has no floor.
    floors: Vec<Option<Rule>>,
    /// Cases in quarantine: they are played, and not consumed.
    left_out: Vec<bool>,
    /// Of the mean and all floors together.
    false_fail: f64,
    most_repeats: u32,
}

/// The outcome of a trial that is not played again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Pass,
    Fail,
    /// It says nothing about the agent, or it is a failure after an attempt that our side broke.
    Unknown,
}

/// Where a case stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CaseState {
    pub seen: Seen,
    /// `None`: not decided, or without a floor.
    pub floor: Option<Found>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// The mean is below the required rate.
    MeanFails,
    /// This case, the first of them, is below its floor.
    CaseFails(usize),
    /// Every case has used its repeats.
    Undecided,
}

/// The state of a run.
#[derive(Debug, Clone)]
pub struct Suite {
    required: Required,
    cases: Vec<CaseState>,
    /// Of all cases, while all play.
    mean_seen: Seen,
    mean: Option<Found>,
    /// Cases that play the next round, ascending.
    playing: Vec<usize>,
    /// Rounds that were consumed.
    rounds: u32,
    /// By round and case.
    waiting: BTreeMap<(u32, usize), Outcome>,
    /// How many of the next round's outcomes are there.
    arrived: usize,
    verdict: Option<Verdict>,
}

impl Required {
    /// `bad` and `good` bound the indifference zone of the mean over all cases; they can be equal. `floors`: of each case. With
    /// floors, mean and floors share the chance of a false FAIL.
    ///
    /// # Errors
    /// As [`Rule::new`].
    pub fn new(
        (bad, good): (f64, f64),
        floors: &[Option<f64>],
        (false_pass, false_fail): (f64, f64),
        most_repeats: u32,
    ) -> Result<Self, Error> {
        let mean = Rule::new(bad, good, false_pass, false_fail)?;
        let with_floor = floors.iter().flatten().count();
        let mean = if with_floor > 0 { mean.with_share_of_false_fail(0.5) } else { mean };
        let each = 0.5 / with_floor.max(1) as f64;
        let rule = |floor: f64| {
            Rule::new(floor, floor, false_pass, false_fail).map(|rule| rule.with_share_of_false_fail(each))
        };
        let floors = floors.iter().map(|floor| floor.map(rule).transpose()).collect::<Result<Vec<_>, Error>>()?;
        let left_out = vec![false; floors.len()];
        Ok(Self { mean, floors, left_out, false_fail, most_repeats })
    }

    /// What the plan of a run that decides early requires; `None`: it plays every repeat.
    #[must_use]
    pub fn of_plan(plan: &Plan) -> Option<Self> {
        let decide = plan.decide.as_ref()?;
        let titles = plan.titles();
        let (mut floors, mut left_out) = (Vec::new(), Vec::new());
        for case in plan.cases() {
            let title = titles.get(case.group).map_or("", String::as_str);
            let is_left_out = plan.quarantine(&case, title, plan.variant(&case).as_deref()).is_some();
            let group = plan.groups.get(case.group).filter(|_| !is_left_out);
            floors.push(group.and_then(|group| decide.floor_of(group)));
            left_out.push(is_left_out);
        }
        let chances = (decide.false_pass, decide.false_fail);
        // A plan with other rates or chances is not built and not read.
        let required = Self::new((decide.bad, decide.good), &floors, chances, decide.most_repeats).ok()?;
        Some(Self { left_out, ..required })
    }

    /// How often each case must pass at least before the run passes.
    #[must_use]
    pub fn least_repeats_to_pass(&self) -> u64 {
        let of_floors = self.distinct_floors().map(|floor| floor.least_to_pass()).max();
        self.rounds(self.mean.least_to_pass()).max(of_floors.unwrap_or(0))
    }

    /// How often each case must fail at least before the run fails.
    #[must_use]
    pub fn least_repeats_to_fail(&self) -> u64 {
        let of_floors = self.distinct_floors().map(|floor| floor.least_to_fail()).min();
        self.rounds(self.mean.least_to_fail()).min(of_floors.unwrap_or(u64::MAX))
    }

    /// The rule of the mean over all cases.
    #[must_use]
    pub fn mean(&self) -> &Rule {
        &self.mean
    }

    /// The rule of a case, by its place in the plan; `None`: it has no floor.
    #[must_use]
    pub fn floor(&self, case: usize) -> Option<&Rule> {
        self.floors.get(case)?.as_ref()
    }

    /// The chance of a false FAIL, because of the mean or of any floor.
    #[must_use]
    pub fn false_fail(&self) -> f64 {
        self.false_fail
    }

    #[must_use]
    pub fn most_repeats(&self) -> u32 {
        self.most_repeats
    }

    /// Whether a case, by its place in the plan, is in quarantine.
    #[must_use]
    pub fn is_left_out(&self, case: usize) -> bool {
        self.left_out.get(case).copied().unwrap_or(false)
    }

    /// The number of cases that are not in quarantine.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.left_out.iter().filter(|left_out| !**left_out).count() as u64
    }

    /// The number of rounds in which all cases play so many trials.
    fn rounds(&self, trials: u64) -> u64 {
        trials.div_ceil(self.counted().max(1))
    }

    /// Most cases have the same floor.
    fn distinct_floors(&self) -> impl Iterator<Item = Rule> {
        let mut all: Vec<Rule> = self.floors.iter().flatten().copied().collect();
        all.dedup();
        all.into_iter()
    }
}

impl Outcome {
    #[must_use]
    pub fn of(trial: &Trial) -> Self {
        let blame: Option<Blame> = trial.failure.as_ref().map(|failure| failure.blame);
        match PlayedTrial::outcome(trial.verdict, blame, trial.past.failed) {
            Some(true) => Self::Pass,
            Some(false) if !trial.is_doubtful() => Self::Fail,
            Some(false) | None => Self::Unknown,
        }
    }
}

impl Suite {
    #[must_use]
    pub fn new(required: Required) -> Self {
        let all = required.floors.len();
        let playing: Vec<usize> = (0..all).filter(|case| !required.is_left_out(*case)).collect();
        let is_over = playing.is_empty() || required.most_repeats == 0;
        Self {
            required,
            cases: vec![CaseState::default(); all],
            mean_seen: Seen::default(),
            mean: None,
            playing,
            rounds: 0,
            waiting: BTreeMap::new(),
            arrived: 0,
            verdict: is_over.then_some(Verdict::Undecided),
        }
    }

    /// Takes the outcome of a case's repeat, from 0. Each is added once. Outcomes of cases that have stopped change nothing.
    /// Returns whether the outcome completed a round.
    pub fn add(&mut self, case: usize, repeat: u32, outcome: Outcome) -> bool {
        if !self.is_wanted(case, repeat) || self.waiting.insert((repeat, case), outcome).is_some() {
            return false;
        }
        self.arrived += usize::from(repeat == self.rounds);
        let before = self.rounds;
        while self.verdict.is_none() && self.arrived == self.playing.len() {
            self.consume();
        }
        self.rounds > before
    }

    /// Whether the outcome of a repeat, from 0, can still be consumed.
    #[must_use]
    pub fn is_wanted(&self, case: usize, repeat: u32) -> bool {
        self.verdict.is_none()
            && (self.rounds..self.required.most_repeats).contains(&repeat)
            && self.playing.binary_search(&case).is_ok()
    }

    fn consume(&mut self) {
        let round = self.rounds;
        // Many cases have the same floor and the same outcomes.
        let mut last: Option<(Rule, Seen, Option<Found>)> = None;
        for case in &self.playing {
            let (Some(outcome), Some(state)) = (self.waiting.remove(&(round, *case)), self.cases.get_mut(*case)) else {
                continue;
            };
            state.seen.count(outcome);
            if self.mean.is_none() {
                self.mean_seen.count(outcome);
            }
            let Some(Some(floor)) = self.required.floors.get(*case).filter(|_| state.floor.is_none()) else { continue };
            let known = last.filter(|(rule, seen, _)| rule == floor && *seen == state.seen).map(|(_, _, found)| found);
            state.floor = known.unwrap_or_else(|| floor.judge(state.seen));
            last = Some((*floor, state.seen, state.floor));
        }
        self.rounds += 1;
        self.mean = self.mean.or_else(|| self.required.mean.judge(self.mean_seen));
        self.conclude();
        if self.mean.is_some() {
            let (cases, floors) = (&self.cases, &self.required.floors);
            self.playing.retain(|case| floors[*case].is_some() && cases[*case].floor.is_none());
            let playing = &self.playing;
            self.waiting.retain(|(_, case), _| playing.binary_search(case).is_ok());
        }
        self.arrived = self.waiting.range((self.rounds, 0)..(self.rounds + 1, 0)).count();
    }

    fn conclude(&mut self) {
        let failed = self.cases.iter().position(|case| case.floor == Some(Found::Fail));
        let holds = |(case, floor): (&CaseState, &Option<Rule>)| floor.is_none() || case.floor == Some(Found::Pass);
        let floors = self.cases.iter().zip(&self.required.floors).all(holds);
        self.verdict = match (self.mean, failed) {
            (Some(Found::Fail), _) => Some(Verdict::MeanFails),
            (_, Some(case)) => Some(Verdict::CaseFails(case)),
            (Some(Found::Pass), None) if floors => Some(Verdict::Pass),
            _ if self.rounds >= self.required.most_repeats => Some(Verdict::Undecided),
            _ => None,
        };
    }

    #[must_use]
    pub fn required(&self) -> &Required {
        &self.required
    }

    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Rounds that were consumed: how many repeats the case that played longest needed.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// What the decision about the mean rests on, and the decision.
    #[must_use]
    pub fn mean(&self) -> (Seen, Option<Found>) {
        (self.mean_seen, self.mean)
    }

    #[must_use]
    pub fn cases(&self) -> &[CaseState] {
        &self.cases
    }

    /// Cases that play on, ascending. None once the run is decided.
    #[must_use]
    pub fn playing(&self) -> &[usize] {
        if self.verdict.is_some() { &[] } else { &self.playing }
    }

    /// The trials that were consumed.
    #[must_use]
    pub fn consumed(&self) -> u64 {
        self.cases.iter().map(|case| case.seen.trials).sum()
    }
}

impl Seen {
    fn count(&mut self, outcome: Outcome) {
        self.trials += 1;
        match outcome {
            Outcome::Pass => self.passes += 1,
            Outcome::Fail => self.failures += 1,
            Outcome::Unknown => {}
        }
    }
}
