//! Why each case did not pass: its first few reasons, so that memory does not grow with its trials.

use std::collections::BTreeMap;

use record::{Trial, Verdict};

use crate::{clip, failure_place::FailurePlace};

const REASONS_PER_CASE: usize = 5;
const REASON_CHARS: usize = 300;

#[derive(Debug, Default)]
pub(crate) struct Reasons {
    cases: BTreeMap<u64, CaseReasons>,
}

#[derive(Debug, Default)]
pub(crate) struct CaseReasons {
    /// Of all its trials.
    pub(crate) duration_ms: u64,
    pub(crate) first: Vec<Reason>,
    /// Trials that did not pass beyond those in `first`.
    pub(crate) more: u64,
}

#[derive(Debug)]
pub(crate) struct Reason {
    pub(crate) trial_id: String,
    pub(crate) repeat: u32,
    pub(crate) verdict: Verdict,
    pub(crate) kind: &'static str,
    pub(crate) blame: &'static str,
    pub(crate) place: FailurePlace,
    pub(crate) message: String,
}

impl Reasons {
    pub(crate) fn add(&mut self, trial: &Trial) {
        let case = self.cases.entry(trial.case).or_default();
        case.duration_ms += trial.duration_ms;
        if matches!(trial.verdict, Verdict::Pass | Verdict::Cancelled) {
            return;
        }
        if case.first.len() == REASONS_PER_CASE {
            case.more += 1;
            return;
        }
        let failure = trial.failure.as_ref();
        case.first.push(Reason {
            trial_id: trial.trial_id.to_string(),
            repeat: trial.repeat,
            verdict: trial.verdict,
            kind: failure.map_or("", |failure| failure.kind.name()),
            blame: failure.map_or("", |failure| failure.blame.name()),
            place: FailurePlace::of(trial),
            message: failure.map(|failure| clip::ellipsis(&failure.message, REASON_CHARS)).unwrap_or_default(),
        });
    }

    /// By the case's place in the plan.
    pub(crate) fn of(&self, case: u64) -> Option<&CaseReasons> {
        self.cases.get(&case)
    }
}
