//! Selects the conversations that the pages show in full: as many failing ones as fit, spread over the cases, and a few
//! passed ones.
//!
//! It receives trials in the plan's order and keeps at most a fixed number of them, so its size does not grow with the
//! run, and the same trials always give the same selection.

use std::collections::BTreeMap;

use record::{Trial, Turn, Verdict};
use statistics::{compare::found::Comparison, sentinels::SentinelDrift};

use crate::{
    Found,
    failures::severity,
    reasons::{CaseReasons, Reasons},
    selected::Selected,
};

const FAILING_SHOWN: usize = 200;
const PASSING_SHOWN: usize = 20;

/// What the pages need to know about single trials.
#[derive(Debug)]
pub struct Selection {
    failing: Best,
    passing: Best,
    /// Trials seen, by (case, verdict): how many came before in their case ranks a trial.
    seen: BTreeMap<(u64, Verdict), u64>,
    failing_seen: u64,
    reasons: Reasons,
    found: Found,
}

impl Default for Selection {
    fn default() -> Self {
        Self::with_caps(FAILING_SHOWN, PASSING_SHOWN)
    }
}

impl Selection {
    #[must_use]
    pub fn with_caps(failing: usize, passing: usize) -> Self {
        Self {
            failing: Best::new(failing),
            passing: Best::new(passing),
            seen: BTreeMap::new(),
            failing_seen: 0,
            reasons: Reasons::default(),
            found: Found::default(),
        }
    }

    pub fn add(&mut self, trial: &Trial, turns: &[Turn]) {
        self.reasons.add(trial);
        self.found.add(trial, turns);
        let seen = self.seen.entry((trial.case, trial.verdict)).or_default();
        let rank = *seen;
        *seen += 1;
        match trial.verdict {
            Verdict::Pass if turns.is_empty() => {}
            Verdict::Pass => {
                let key = Key { rank, severity: u8::from(!trial.keep_transcript), number: trial.number };
                self.passing.offer(key, trial, turns);
            }
            Verdict::Fail | Verdict::Error | Verdict::Inconclusive => {
                self.failing_seen += 1;
                let key = Key { rank, severity: severity(trial), number: trial.number };
                self.failing.offer(key, trial, turns);
            }
            Verdict::Skipped | Verdict::Cancelled => {}
        }
    }

    /// Those that did not pass: the first of each case before the second of any, the agent's faults before ours.
    #[must_use]
    pub fn failing(&self) -> Vec<Selected> {
        self.failing.kept.values().cloned().collect()
    }

    /// A trial that did not pass, by its place in the plan, if its conversation is kept.
    pub(crate) fn failing_trial(&self, number: u64) -> Option<&Selected> {
        self.failing.kept.values().find(|selected| selected.trial.number == number)
    }

    /// The same as [`Self::failing`] in the plan's order, then the passing examples in theirs.
    #[must_use]
    pub(crate) fn in_plan_order(&self) -> (Vec<&Selected>, Vec<&Selected>) {
        (self.failing.in_plan_order(), self.passing.in_plan_order())
    }

    /// How many trials did not pass, shown or not.
    #[must_use]
    pub fn failing_seen(&self) -> u64 {
        self.failing_seen
    }

    /// Shows how the run compares with an earlier one.
    pub fn compare(&mut self, comparison: Comparison) {
        self.found.comparison = Some(Box::new(comparison));
    }

    /// Shows whether the judge is as in the nights before.
    pub fn sentinels(&mut self, drift: SentinelDrift) {
        self.found.sentinels = Some(Box::new(drift));
    }

    /// The findings over all added trials.
    #[must_use]
    pub fn found(&self) -> &Found {
        &self.found
    }

    pub(crate) fn reasons_of(&self, case: u64) -> Option<&CaseReasons> {
        self.reasons.of(case)
    }
}

/// The smallest keys are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    rank: u64,
    severity: u8,
    number: u64,
}

#[derive(Debug)]
struct Best {
    cap: usize,
    kept: BTreeMap<Key, Selected>,
}

impl Best {
    fn new(cap: usize) -> Self {
        Self { cap, kept: BTreeMap::new() }
    }

    fn offer(&mut self, key: Key, trial: &Trial, turns: &[Turn]) {
        if self.kept.len() >= self.cap {
            // Compared before it is cut and copied: most trials of a large run end here.
            match self.kept.last_key_value() {
                Some((last, _)) if key < *last => self.kept.pop_last(),
                _ => return,
            };
        }
        self.kept.insert(key, Selected::of(trial, turns));
    }

    fn in_plan_order(&self) -> Vec<&Selected> {
        let mut all: Vec<&Selected> = self.kept.values().collect();
        all.sort_by_key(|selected| selected.trial.number);
        all
    }
}
