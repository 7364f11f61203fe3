//! Mergeable counts: the fold of trials that every figure of a run is read from.
//!
//! Merging is associative and commutative and has the empty tally as its zero, so trials may arrive in any
//! order and in any number of parts. Its size grows with the number of cases, never with that of trials.

mod counts;
mod judges;
mod users;

use std::collections::BTreeMap;

pub use self::{
    counts::Counts,
    judges::{FROM_WORDS, JudgedCounts, Judges},
    users::{FaultyLines, FaultyTrials, UserCounts, Users},
};
use crate::{Blame, FailureKind, Trial, breakdown::Breakdown, latency::Latency, pace::Paces};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// By the case's place in the plan.
    pub cases: BTreeMap<u64, Counts>,
    pub total: Counts,
    pub conversations: u64,
    pub turns: u64,
    /// Agent replies, whole.
    pub turn_latency: Latency,
    /// Agent replies, to the first byte of content.
    pub ttft: Latency,
    /// Turns without an answer of the agent, which have no latency.
    pub unanswered: u64,
    /// How long calls waited and took.
    pub paces: Paces,
    pub failures: BTreeMap<(FailureKind, Blame), u64>,
    /// By agent, tag, value and check.
    pub breakdown: Breakdown,
    /// Faults of the simulated user.
    pub users: Users,
    pub judges: Judges,
}

impl Tally {
    pub fn add(&mut self, trial: &Trial) {
        self.cases.entry(trial.case).or_default().add(trial);
        self.total.add(trial);
        self.conversations += u64::from(trial.conversations);
        self.turns += u64::from(trial.turns);
        self.unanswered += u64::from(trial.unanswered);
        for latency in &trial.latencies {
            self.turn_latency.record(latency.total_micros);
            if let Some(ttft) = latency.ttft_micros {
                self.ttft.record(ttft);
            }
        }
        self.paces.add(&trial.pace);
        if let Some(failure) = &trial.failure {
            *self.failures.entry((failure.kind, failure.blame)).or_default() += 1;
        }
        self.breakdown.add(trial);
        self.users.add(trial);
        trial.judgments.iter().for_each(|judgment| self.judges.add(judgment));
    }

    pub fn merge(&mut self, other: &Self) {
        for (case, counts) in &other.cases {
            self.cases.entry(*case).or_default().merge(counts);
        }
        self.total.merge(&other.total);
        self.conversations += other.conversations;
        self.turns += other.turns;
        self.turn_latency.merge(&other.turn_latency);
        self.ttft.merge(&other.ttft);
        self.unanswered += other.unanswered;
        self.paces.merge(&other.paces);
        for (key, count) in &other.failures {
            *self.failures.entry(*key).or_default() += count;
        }
        self.breakdown.merge(&other.breakdown);
        self.users.merge(&other.users);
        self.judges.merge(&other.judges);
    }
}
