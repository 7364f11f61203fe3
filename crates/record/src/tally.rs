//! Mergeable counts: the fold of trials that every figure of a run is read from.
//!
//! Merging is associative and commutative and has the empty tally as its zero, so trials may arrive in any
//! order and in any number of parts. Its size grows with the number of cases, never with that of trials.

use std::collections::BTreeMap;

use crate::{Blame, FailureKind, Trial, Verdict, breakdown::Breakdown, latency::Latency, pace::Paces};

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
}

/// How trials ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub pass: u64,
    pub fail: u64,
    pub inconclusive: u64,
    pub error: u64,
    pub skipped: u64,
    pub cancelled: u64,
    /// Those of `error` that are the agent's fault; they fail gates as a FAIL does.
    pub agent_errors: u64,
    /// Those of `fail` that failed in an earlier attempt, and not in the last one, which somebody had played.
    pub replayed_failures: u64,
    /// The agent's failures that came after an attempt that our side broke, which might have passed.
    pub doubtful: u64,
}

impl Counts {
    pub fn add(&mut self, trial: &Trial) {
        self.doubtful += u64::from(trial.is_doubtful());
        if trial.is_replayed_failure() {
            self.fail += 1;
            self.replayed_failures += 1;
            return;
        }
        match trial.verdict {
            Verdict::Pass => self.pass += 1,
            Verdict::Fail => self.fail += 1,
            Verdict::Inconclusive => self.inconclusive += 1,
            Verdict::Error => {
                self.error += 1;
                self.agent_errors += u64::from(trial.is_held_against_agent());
            }
            Verdict::Skipped => self.skipped += 1,
            Verdict::Cancelled => self.cancelled += 1,
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.pass += other.pass;
        self.fail += other.fail;
        self.inconclusive += other.inconclusive;
        self.error += other.error;
        self.skipped += other.skipped;
        self.cancelled += other.cancelled;
        self.agent_errors += other.agent_errors;
        self.replayed_failures += other.replayed_failures;
        self.doubtful += other.doubtful;
    }

    /// Trials that ended, however.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.pass + self.fail + self.inconclusive + self.error + self.skipped + self.cancelled
    }

    /// Trials with a PASS or a FAIL, those that failed and were played again among them.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.pass + self.fail
    }

    /// The agent's failures: FAIL, and ERROR with blame agent.
    #[must_use]
    pub fn held_against_agent(&self) -> u64 {
        self.fail + self.agent_errors
    }

    /// Trials that say something about the agent: PASS, FAIL, and ERROR with blame agent. The success rate divides by them.
    #[must_use]
    pub fn conclusive(&self) -> u64 {
        self.pass + self.held_against_agent()
    }

    /// Trials that ended and say nothing about the agent.
    #[must_use]
    pub fn unjudged(&self) -> u64 {
        self.ended().saturating_sub(self.conclusive())
    }

    /// Trials of so many planned ones that say nothing about the agent, or have not ended.
    #[must_use]
    pub fn missing(&self, planned: u64) -> u64 {
        planned.saturating_sub(self.conclusive())
    }
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
    }
}
