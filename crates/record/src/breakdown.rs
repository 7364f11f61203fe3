//! Figures of the parts of a run: by agent, scenario, persona and tag, by the values of axes, by check.
//!
//! Which parts a case belongs to follows from the plan alone ([`Parts`]). Merging is associative and commutative, and the
//! size grows with the number of parts, never with that of trials.

use std::{collections::BTreeMap, sync::Arc};

use scenario::Goodput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Blame, FailureKind, Finding, Trial, Usd, check_metrics::CheckMetrics, goodput::Met, tally::Counts,
    turn_times::TurnTimes,
};

/// How many parts of each kind keep their own times. All others of a kind share one series.
pub const MEASURED: usize = 64;

/// The trials of one agent, scenario or persona, of scenarios with one tag, or of one value of an axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Agent(String),
    /// By its title, which is unique in a run.
    Scenario(String),
    Persona(String),
    Tag(String),
    Value {
        parameter: String,
        /// As JSON.
        value: String,
    },
}

/// What divides a run into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    Agent,
    Scenario,
    Persona,
    Tag,
    Axis,
}

impl Part {
    #[must_use]
    pub fn kind(&self) -> PartKind {
        match self {
            Self::Agent(_) => PartKind::Agent,
            Self::Scenario(_) => PartKind::Scenario,
            Self::Persona(_) => PartKind::Persona,
            Self::Tag(_) => PartKind::Tag,
            Self::Value { .. } => PartKind::Axis,
        }
    }
}

/// The parts of a plan, and which of them each case belongs to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    /// In the order in which cases first name them.
    parts: Vec<Planned>,
    known: BTreeMap<Part, usize>,
    kinds: BTreeMap<PartKind, usize>,
    /// Indexes into `parts`; many cases share one list.
    lists: Vec<Vec<usize>>,
    known_lists: BTreeMap<Vec<usize>, usize>,
    /// By the case's place in the plan: an index into `lists`.
    cases: Vec<usize>,
    goodput: Option<Goodput>,
}

#[derive(Debug, Clone, PartialEq)]
struct Planned {
    part: Part,
    trials: u64,
    /// Whether it keeps its own times.
    measured: bool,
}

impl Parts {
    /// Counts turns by these limits.
    pub fn set_goodput(&mut self, limits: Option<Goodput>) {
        self.goodput = limits;
    }

    /// The next case of the plan.
    pub fn add_case(&mut self, parts: impl IntoIterator<Item = Part>, planned: u64) {
        let mut list = Vec::new();
        for part in parts {
            let index = match self.known.get(&part) {
                Some(index) => *index,
                None => {
                    let of_kind = self.kinds.entry(part.kind()).or_default();
                    *of_kind += 1;
                    self.known.insert(part.clone(), self.parts.len());
                    self.parts.push(Planned { part, trials: 0, measured: *of_kind <= MEASURED });
                    self.parts.len() - 1
                }
            };
            if !list.contains(&index) {
                self.parts[index].trials += planned;
                list.push(index);
            }
        }
        let next = self.lists.len();
        let index = *self.known_lists.entry(list.clone()).or_insert(next);
        if index == next {
            self.lists.push(list);
        }
        self.cases.push(index);
    }

    fn of(&self, case: u64) -> &[usize] {
        let list = usize::try_from(case).ok().and_then(|case| self.cases.get(case));
        list.and_then(|list| self.lists.get(*list)).map_or(&[], Vec::as_slice)
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Breakdown {
    parts: Arc<Parts>,
    /// By the part's index.
    sums: BTreeMap<usize, Sums>,
    /// The times of all parts of a kind without their own times.
    others: BTreeMap<PartKind, TurnTimes>,
    /// Keyed by the check's kind and by whether it counts for the verdict.
    pub checks: BTreeMap<(String, bool), Findings>,
    /// Of the checks with a name.
    pub metrics: CheckMetrics,
}

/// The sums of one part's trials.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sums {
    pub counts: Counts,
    /// `None` beyond the first parts of a kind.
    pub times: Option<TurnTimes>,
    pub goodput: Met,
    pub unanswered: u64,
    /// Calls of all roles, in the attempts that count.
    pub cost: Usd,
    pub unpriced_calls: u64,
    pub estimated_calls: u64,
    pub failures: BTreeMap<(FailureKind, Blame), u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Findings {
    pub pass: u64,
    pub fail: u64,
    /// Inconclusive, or an error of the evaluator.
    pub not_judged: u64,
}

impl Breakdown {
    #[must_use]
    pub fn of(parts: Arc<Parts>) -> Self {
        Self { parts, ..Self::default() }
    }

    pub fn add(&mut self, trial: &Trial) {
        for index in self.parts.of(trial.case) {
            let planned = &self.parts.parts[*index];
            let sums = self.sums.entry(*index).or_insert_with(|| Sums::empty(planned.measured));
            sums.add(trial);
            if let Some(limits) = &self.parts.goodput {
                sums.goodput.add(limits, trial);
            }
            if !planned.measured {
                self.others.entry(planned.part.kind()).or_default().add_trial(trial);
            }
        }
        for judgment in &trial.judgments {
            let key = (judgment.check.clone(), judgment.required);
            self.checks.entry(key).or_default().add(judgment.finding);
            self.metrics.add(judgment);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        if self.parts.cases.is_empty() {
            self.parts = Arc::clone(&other.parts);
        }
        for (index, sums) in &other.sums {
            self.sums.entry(*index).or_insert_with(|| Sums::empty(sums.times.is_some())).merge(sums);
        }
        for (kind, times) in &other.others {
            self.others.entry(*kind).or_default().merge(times);
        }
        for (key, findings) in &other.checks {
            self.checks.entry(key.clone()).or_default().merge(*findings);
        }
        self.metrics.merge(&other.metrics);
    }

    /// The limits that turns are counted by.
    #[must_use]
    pub fn goodput(&self) -> Option<&Goodput> {
        self.parts.goodput.as_ref()
    }

    /// Every part of the plan with its planned trials, even if none of them has ended.
    pub fn parts(&self) -> impl Iterator<Item = (&Part, u64, Option<&Sums>)> {
        self.parts
            .parts
            .iter()
            .enumerate()
            .map(|(index, planned)| (&planned.part, planned.trials, self.sums.get(&index)))
    }

    /// The kinds with more parts than keep their own times: how many share a series, and that series.
    pub fn others(&self) -> impl Iterator<Item = (PartKind, usize, Option<&TurnTimes>)> {
        let kinds = self.parts.kinds.iter().filter(|(_, parts)| **parts > MEASURED);
        kinds.map(|(kind, parts)| (*kind, parts - MEASURED, self.others.get(kind)))
    }
}

impl Sums {
    fn empty(measured: bool) -> Self {
        Self { times: measured.then(TurnTimes::default), ..Self::default() }
    }

    fn add(&mut self, trial: &Trial) {
        self.counts.add(trial);
        if let Some(times) = &mut self.times {
            times.add_trial(trial);
        }
        self.unanswered += u64::from(trial.unanswered);
        self.cost += trial.spend.cost();
        self.unpriced_calls = self.unpriced_calls.saturating_add(trial.spend.unpriced_calls());
        self.estimated_calls = self.estimated_calls.saturating_add(trial.spend.estimated_calls());
        if let Some(failure) = &trial.failure {
            *self.failures.entry((failure.kind, failure.blame)).or_default() += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.goodput.merge(&other.goodput);
        if let (Some(times), Some(other)) = (&mut self.times, &other.times) {
            times.merge(other);
        }
        self.unanswered += other.unanswered;
        self.cost += other.cost;
        self.unpriced_calls = self.unpriced_calls.saturating_add(other.unpriced_calls);
        self.estimated_calls = self.estimated_calls.saturating_add(other.estimated_calls);
        for (key, trials) in &other.failures {
            *self.failures.entry(*key).or_default() += trials;
        }
    }
}

impl Findings {
    fn add(&mut self, finding: Finding) {
        match finding {
            Finding::Pass => self.pass += 1,
            Finding::Fail => self.fail += 1,
            Finding::Inconclusive | Finding::Error => self.not_judged += 1,
            Finding::NotApplicable => {}
        }
    }

    fn merge(&mut self, other: Self) {
        self.pass += other.pass;
        self.fail += other.fail;
        self.not_judged += other.not_judged;
    }
}

#[cfg(test)]
mod tests;
