//! How trials ended: the counts behind the rates.

use crate::{Trial, Verdict};

/// How trials ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub pass: u64,
    pub fail: u64,
    pub inconclusive: u64,
    pub error: u64,
    pub skipped: u64,
    pub cancelled: u64,
    /// The errors that are the agent's fault. They fail gates as a FAIL does.
    pub agent_errors: u64,
    /// The fails that failed in an earlier attempt and not in the last one, which was played on request.
    pub replayed_failures: u64,
    /// The agent's failures after an attempt that our side broke: that attempt might have passed.
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

    /// Trials that ended, with any verdict.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.pass + self.fail + self.inconclusive + self.error + self.skipped + self.cancelled
    }

    /// Trials with a PASS or a FAIL, including failed trials that were played again.
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

    /// Trials that ended without a result about the agent.
    #[must_use]
    pub fn unjudged(&self) -> u64 {
        self.ended().saturating_sub(self.conclusive())
    }

    /// Planned trials that say nothing about the agent, or have not ended.
    #[must_use]
    pub fn missing(&self, planned: u64) -> u64 {
        planned.saturating_sub(self.conclusive())
    }
}
