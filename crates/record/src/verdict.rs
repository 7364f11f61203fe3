//! The one place where judgments fold into a verdict.

use scenario::Strategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Failure, FailureKind, Finding, Judgment, Scope};

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
    pub const ALL: [Self; 6] = [Self::Pass, Self::Fail, Self::Inconclusive, Self::Error, Self::Skipped, Self::Cancelled];

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

    /// Whether it says something about the agent's quality.
    #[must_use]
    pub fn is_judged(self) -> bool {
        matches!(self, Self::Pass | Self::Fail)
    }
}

/// Folds judgments by the scenario's strategy.
///
/// all_pass: any FAIL gives FAIL; else any ERROR or INCONCLUSIVE gives that; else PASS.
/// any_pass: any PASS gives PASS; else any ERROR or INCONCLUSIVE gives that; else FAIL.
/// Nothing to judge gives INCONCLUSIVE.
#[must_use]
pub fn fold(strategy: Strategy, judgments: &[Judgment]) -> (Verdict, Option<Failure>) {
    if judgments.is_empty() {
        let failure = Failure::new(FailureKind::NothingJudged, "no check applied to this trial");
        return (Verdict::Inconclusive, Some(failure));
    }
    let first = |finding: Finding| judgments.iter().find(|judgment| judgment.finding == finding);
    let decisive = match strategy {
        Strategy::AllPass => first(Finding::Fail),
        Strategy::AnyPass if first(Finding::Pass).is_some() => return (Verdict::Pass, None),
        Strategy::AnyPass => None,
    };
    let decisive = decisive.or_else(|| first(Finding::Error)).or_else(|| first(Finding::Inconclusive)).or_else(|| first(Finding::Fail));
    match decisive {
        None => (Verdict::Pass, None),
        Some(judgment) => {
            let verdict = match judgment.finding {
                Finding::Fail => Verdict::Fail,
                Finding::Inconclusive => Verdict::Inconclusive,
                Finding::Error => Verdict::Error,
                Finding::Pass => unreachable!("a passing judgment is never decisive"),
            };
            (verdict, Some(blame(judgment)))
        }
    }
}

/// Exchanges PASS and FAIL, for scenarios that must fail; everything else stays.
#[must_use]
pub fn invert(verdict: Verdict, failure: Option<Failure>) -> (Verdict, Option<Failure>) {
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
    let failure = Failure::new(kind, format!("{}: {}", judgment.check, judgment.reason));
    match judgment.scope {
        Scope::Turn { turn, .. } => failure.in_turn(turn),
        Scope::Conversation { .. } | Scope::Step { .. } => failure,
    }
}
