//! Findings that do not affect a verdict or only by weight: evaluations that only inform, and weighted scores.

use std::collections::BTreeMap;

use record::{Finding, Summary, Trial, verdict};

use crate::{cases, clip, figures};

/// How many evaluations are kept over all cases.
const KINDS: usize = 1_000;
const DESCRIPTION_CHARS: usize = 160;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Informing {
    /// By case, kind and description.
    checks: BTreeMap<(u64, String, String), Findings>,
    /// By case.
    scores: BTreeMap<u64, Scores>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Findings {
    pub(crate) pass: u64,
    pub(crate) fail: u64,
    /// Inconclusive or an error.
    pub(crate) open: u64,
}

/// Weighted scores of trials, each 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scores {
    trials: u64,
    sum: f64,
    low: f64,
    high: f64,
}

/// Of one case.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) case: String,
    pub(crate) check: String,
    pub(crate) description: String,
    pub(crate) findings: Findings,
}

impl Informing {
    pub(crate) fn add(&mut self, trial: &Trial) {
        for judgment in trial.judgments.iter().filter(|judgment| !judgment.required) {
            let description = judgment.description.as_deref().unwrap_or_default();
            let key = (trial.case, judgment.check.clone(), clip::ellipsis(description, DESCRIPTION_CHARS));
            if self.checks.len() >= KINDS && !self.checks.contains_key(&key) {
                continue;
            }
            let findings = self.checks.entry(key).or_default();
            match judgment.finding {
                Finding::Pass => findings.pass += 1,
                Finding::Fail => findings.fail += 1,
                Finding::Inconclusive | Finding::Error => findings.open += 1,
                Finding::NotApplicable => {}
            }
        }
        if let Some(score) = verdict::weighted_score(&trial.judgments) {
            let first = Scores { trials: 0, sum: 0.0, low: score, high: score };
            let scores = self.scores.entry(trial.case).or_insert(first);
            scores.trials += 1;
            scores.sum += score;
            scores.low = scores.low.min(score);
            scores.high = scores.high.max(score);
        }
    }

    /// In the plan's order.
    pub(crate) fn lines(&self, summary: &Summary) -> Vec<Line> {
        let line = |((case, check, description), findings): (&(u64, String, String), &Findings)| Line {
            case: case_name(summary, *case),
            check: check.clone(),
            description: description.clone(),
            findings: *findings,
        };
        self.checks.iter().map(line).collect()
    }

    /// By case, in the plan's order.
    pub(crate) fn scores(&self, summary: &Summary) -> Vec<(String, String)> {
        self.scores.iter().map(|(case, scores)| (case_name(summary, *case), scores.words())).collect()
    }
}

impl Scores {
    /// `82.5% on average of 4 trials, 60% to 100%`.
    fn words(&self) -> String {
        let mean = figures::percent(self.sum / self.trials as f64);
        if self.trials == 1 {
            return mean;
        }
        let (low, high) = (figures::percent(self.low), figures::percent(self.high));
        format!("{mean} on average of {} trials, {low} to {high}", figures::count(self.trials))
    }
}

fn case_name(summary: &Summary, number: u64) -> String {
    cases::find(summary, number).map_or_else(|| format!("case {number}"), cases::name)
}
