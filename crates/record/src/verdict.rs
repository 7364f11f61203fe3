//! The only place where judgments fold into a verdict.

use scenario::Strategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Blame, Failure, FailureKind, Finding, Judgment, Scope};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    Pass,
    Fail,
    Inconclusive,
    Error,
    Skipped,
    Cancelled,
}

impl Verdict {
    pub const ALL: [Self; 6] =
        [Self::Pass, Self::Fail, Self::Inconclusive, Self::Error, Self::Skipped, Self::Cancelled];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Error => "ERROR",
            Self::Skipped => "SKIPPED",
            Self::Cancelled => "CANCELLED",
        }
    }
}

/// Folds judgments by the scenario's strategy.
///
/// all_pass: any FAIL gives FAIL; else any ERROR or INCONCLUSIVE gives that; else PASS.
/// any_pass: any PASS gives PASS; else any ERROR or INCONCLUSIVE gives that; else FAIL.
/// Nothing to judge gives INCONCLUSIVE. Judgments that only inform or do not apply are ignored. An ERROR whose only
/// cause is a missing judge gives SKIPPED.
#[must_use]
pub fn fold(strategy: Strategy, judgments: &[Judgment]) -> (Verdict, Option<Failure>) {
    let required =
        || judgments.iter().filter(|judgment| judgment.required && judgment.finding != Finding::NotApplicable);
    if required().next().is_none() {
        let message = if !judgments.iter().any(|judgment| judgment.finding != Finding::NotApplicable) {
            "no check applied to this trial".to_owned()
        } else if let Some(why) = judgments.iter().find_map(|judgment| judgment.jury.as_ref()?.uncalibrated.as_deref())
        {
            format!("every check that applied to this trial only informs: {why}")
        } else {
            "every check that applied to this trial only informs (required: false)".to_owned()
        };
        return (Verdict::Inconclusive, Some(Failure::new(FailureKind::NothingJudged, message)));
    }
    let first = |finding: Finding| required().find(|judgment| judgment.finding == finding);
    let decisive = match strategy {
        Strategy::AllPass => first(Finding::Fail),
        Strategy::AnyPass if first(Finding::Pass).is_some() => return (Verdict::Pass, None),
        Strategy::AnyPass => None,
    };
    let decisive = decisive
        .or_else(|| first(Finding::Error))
        .or_else(|| first(Finding::Inconclusive))
        .or_else(|| first(Finding::Fail));
    match decisive {
        None => (Verdict::Pass, None),
        Some(judgment) => {
            let verdict = match judgment.finding {
                Finding::Fail => Verdict::Fail,
                Finding::Inconclusive => Verdict::Inconclusive,
                Finding::Error if judgment.failure == Some(FailureKind::JudgeMissing) => Verdict::Skipped,
                Finding::Error => Verdict::Error,
                Finding::Pass | Finding::NotApplicable => unreachable!("such a judgment is never decisive"),
            };
            (verdict, Some(blame(judgment)))
        }
    }
}

/// Weighs judgments: the passed ones must have at least this share (0 to 1) of the weight of all required ones.
///
/// If the judgments that could not be made would decide, the verdict is theirs.
#[must_use]
pub fn weigh(share: f64, judgments: &[Judgment]) -> (Verdict, Option<Failure>) {
    let weight = |findings: &[Finding]| -> f64 {
        let counted = judgments.iter().filter(|judgment| judgment.required && findings.contains(&judgment.finding));
        counted.map(|judgment| judgment.weight).sum()
    };
    let passed = weight(&[Finding::Pass]);
    let perhaps = passed + weight(&[Finding::Error, Finding::Inconclusive]);
    let total = perhaps + weight(&[Finding::Fail]);
    if total <= 0.0 {
        let message = "no check that counts applied to this trial";
        return (Verdict::Inconclusive, Some(Failure::new(FailureKind::NothingJudged, message)));
    }
    // Sums of shares miss a threshold such as 0.7 by a hair.
    let reaches = |weight: f64| weight / total >= share - 1e-9;
    if reaches(passed) {
        return (Verdict::Pass, None);
    }
    if reaches(perhaps) {
        let undecided: Vec<Judgment> =
            judgments.iter().filter(|judgment| judgment.finding != Finding::Fail).cloned().collect();
        return fold(Strategy::AllPass, &undecided);
    }
    let first = judgments.iter().find(|judgment| judgment.is_required_fail()).map(blame);
    let why = first.as_ref().map_or_else(String::new, |failure| format!("; {}", failure.message));
    let (step, turn) = first.map_or((None, None), |failure| (failure.step, failure.turn));
    let message = format!("score {:.1}%, required {:.1}%{why}", passed / total * 100.0, share * 100.0);
    (Verdict::Fail, Some(Failure { step, turn, ..Failure::new(FailureKind::CheckFailed, message) }))
}

/// The share of the weight of all required judgments that passed, 0 to 1; a missing judgment counts as not passed.
/// `None` if all weights are equal, so that there is nothing to weigh.
#[must_use]
pub fn weighted_score(judgments: &[Judgment]) -> Option<f64> {
    let required =
        || judgments.iter().filter(|judgment| judgment.required && judgment.finding != Finding::NotApplicable);
    required().find(|judgment| judgment.weight != 1.0)?;
    let total: f64 = required().map(|judgment| judgment.weight).sum();
    let passed: f64 = required().filter(|it| it.finding == Finding::Pass).map(|it| it.weight).sum();
    (total > 0.0).then(|| passed / total)
}

/// The verdict of a trial: from its judgments, and from what aborted it.
///
/// An aborted trial is ERROR, whatever passed before. But a FAIL under all_pass stays a FAIL: nothing that was still to
/// come would have changed it. A trial that the operator does not allow, or that has no judge, is SKIPPED. A trial in
/// which the agent asked the user for something that the scenario does not give is INCONCLUSIVE. With a
/// `required_score` judgments are weighed instead of folded.
///
/// If the scenario must fail (`expect_failure`), PASS and FAIL are swapped, and an aborted trial is ERROR in any case:
/// an agent that is down has not failed in the expected way.
#[must_use]
pub fn conclude(
    strategy: Strategy,
    required_score: Option<f64>,
    expect_failure: bool,
    judgments: &[Judgment],
    broken: Option<Failure>,
) -> (Verdict, Option<Failure>) {
    let Some(failure) = broken else {
        let (verdict, failure) =
            required_score.map_or_else(|| fold(strategy, judgments), |share| weigh(share, judgments));
        return if expect_failure { invert(verdict, failure) } else { (verdict, failure) };
    };
    let is_decided = !expect_failure
        && required_score.is_none()
        && strategy == Strategy::AllPass
        && judgments.iter().any(Judgment::is_required_fail);
    match failure.kind {
        FailureKind::Cancelled => (Verdict::Cancelled, Some(failure)),
        // It is played again, so what was found so far decides nothing.
        FailureKind::BudgetUsedUp => (Verdict::Error, Some(failure)),
        _ if is_decided => fold(strategy, judgments),
        FailureKind::ExecutionNotAllowed | FailureKind::JudgeMissing => (Verdict::Skipped, Some(failure)),
        // A judge that answered, and whose answer says nothing, is no error.
        FailureKind::OutOfScope
        | FailureKind::EvidenceNotFound
        | FailureKind::JudgeTruncated
        | FailureKind::Undecided => (Verdict::Inconclusive, Some(failure)),
        _ => (Verdict::Error, Some(failure)),
    }
}

/// Exchanges PASS and FAIL, for scenarios that must fail. Other verdicts stay.
fn invert(verdict: Verdict, failure: Option<Failure>) -> (Verdict, Option<Failure>) {
    match verdict {
        Verdict::Pass => {
            let message = "every check passed, and the scenario says that it must fail";
            (Verdict::Fail, Some(Failure::new(FailureKind::CheckFailed, message)))
        }
        Verdict::Fail => (Verdict::Pass, None),
        other => (other, failure),
    }
}

fn blame(judgment: &Judgment) -> Failure {
    let kind = judgment.failure.unwrap_or(match judgment.finding {
        Finding::Fail => FailureKind::CheckFailed,
        Finding::Inconclusive => FailureKind::JudgeMalformed,
        _ => FailureKind::JudgeFailed,
    });
    let mut failure =
        Failure::new(kind, format!("{}: {}", judgment.check, judgment.reason)).in_step(judgment.scope.step());
    // A custom check that cannot tell asked no judge.
    if kind == FailureKind::Undecided && judgment.custom.is_some() {
        failure.blame = Blame::Infra;
    }
    match judgment.scope {
        Scope::Turn { turn, .. } => failure.in_turn(turn),
        Scope::Conversation { .. } | Scope::Step { .. } => failure,
    }
}

#[cfg(test)]
mod tests;
