//! Mergeable counts: the fold of trials from which every figure of a run is read.
//!
//! Merging is associative and commutative, with the empty tally as its zero, so trials may arrive in any order and in
//! any number of parts. Its size grows with the number of cases, never with that of trials.

mod counts;
mod custom;
mod judges;
mod load;
mod users;

use std::collections::BTreeMap;

use scenario::plan::Transcripts;

pub use self::{
    counts::Counts,
    custom::{CustomChecks, CustomCounts, MOST_CHECKS, MOST_PROGRAMS, OTHER_CHECKS},
    judges::{FROM_WORDS, JudgedAnswers, JudgedCounts, Judges},
    load::{Counted, LaneCounts, LoadTally, SliceCounts, StepTally},
    users::{FaultyLines, FaultyTrials, UserCounts, Users},
};
use crate::{
    Blame, FailureKind, Trial,
    breakdown::Breakdown,
    call::Spend,
    call_times::MergedCallTimes,
    goodput::Met,
    objectives::Objectives,
    slices::Slices,
    turn_times::{ByNumber, TurnTimes},
};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// By the case's place in the plan.
    pub cases: BTreeMap<u64, Counts>,
    pub total: Counts,
    pub conversations: u64,
    pub turns: u64,
    pub times: TurnTimes,
    pub by_number: ByNumber,
    pub goodput: Met,
    /// Over time.
    pub slices: Slices,
    /// Turns without an answer of the agent, which have no latency.
    pub unanswered: u64,
    /// How long calls waited and took.
    pub call_times: MergedCallTimes,
    pub failures: BTreeMap<(FailureKind, Blame), u64>,
    /// By agent, tag, value and check.
    pub breakdown: Breakdown,
    /// Faults of the simulated user.
    pub users: Users,
    pub judges: Judges,
    /// Of a run with a load.
    pub load: Option<LoadTally>,
    /// Of which conversations the words are kept.
    pub transcripts: Transcripts,
    /// Trials whose words were not kept.
    pub dropped_transcripts: u64,
    pub custom_checks: CustomChecks,
    /// What the objectives of the plan need.
    pub objectives: Objectives,
}

impl Tally {
    /// Of the trials of a load, those that were dropped or belong to the warm-up count nowhere else, and those that were
    /// rescheduled have no latency.
    pub fn add(&mut self, trial: &Trial) {
        self.dropped_transcripts += u64::from(trial.turns > 0 && !trial.is_kept(self.transcripts));
        match self.load.as_mut().map(|load| load.add(trial)) {
            None | Some(Counted::Whole) => self.add_to_all(trial),
            Some(Counted::Dropped) => self.objectives.add_dropped(trial),
            Some(Counted::Apart) => {}
            Some(Counted::Quality) => {
                let without = Trial { latencies: Vec::new(), ..trial.clone() };
                self.add_to_all(&without);
            }
        }
    }

    fn add_to_all(&mut self, trial: &Trial) {
        self.cases.entry(trial.case).or_default().add(trial);
        self.total.add(trial);
        self.conversations += u64::from(trial.conversations);
        self.turns += u64::from(trial.turns);
        self.unanswered += u64::from(trial.unanswered);
        self.times.add_trial(trial);
        trial.latencies.iter().for_each(|turn| self.by_number.add(turn));
        if let Some(limits) = self.breakdown.goodput() {
            self.goodput.add(limits, trial);
        }
        self.slices.add(trial, self.breakdown.goodput());
        self.call_times.add(trial.number, &trial.call_times);
        if let Some(failure) = &trial.failure {
            *self.failures.entry((failure.kind, failure.blame)).or_default() += 1;
        }
        self.breakdown.add(trial);
        self.users.add(trial);
        self.objectives.add(trial);
        for judgment in &trial.judgments {
            self.judges.add(judgment);
            self.custom_checks.add(judgment);
        }
    }

    /// What the conversations of the warm-up of a load used, in winning attempts; `None` without a load.
    #[must_use]
    pub fn warm_up_spend(&self) -> Option<&Spend> {
        self.load.as_ref().map(|load| &load.warm_up_spend)
    }

    pub fn merge(&mut self, other: &Self) {
        for (case, counts) in &other.cases {
            self.cases.entry(*case).or_default().merge(counts);
        }
        self.total.merge(&other.total);
        self.conversations += other.conversations;
        self.turns += other.turns;
        self.times.merge(&other.times);
        self.by_number.merge(&other.by_number);
        self.goodput.merge(&other.goodput);
        self.slices.merge(&other.slices);
        self.unanswered += other.unanswered;
        self.call_times.merge(&other.call_times);
        for (key, count) in &other.failures {
            *self.failures.entry(*key).or_default() += count;
        }
        self.breakdown.merge(&other.breakdown);
        self.users.merge(&other.users);
        self.judges.merge(&other.judges);
        match (&mut self.load, &other.load) {
            (Some(load), Some(other)) => load.merge(other),
            (load @ None, Some(other)) => *load = Some(other.clone()),
            (_, None) => {}
        }
        self.transcripts = self.transcripts.max(other.transcripts);
        self.dropped_transcripts += other.dropped_transcripts;
        self.custom_checks.merge(&other.custom_checks);
        self.objectives.merge(&other.objectives);
    }
}
