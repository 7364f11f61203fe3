//! Faults of the simulated user: our fault, never the agent's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Blame, Failure, FailureKind, Verdict};

/// Something that the model of the simulated user wrote and that no user would say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserFault {
    pub kind: FaultKind,
    pub severity: Severity,
    /// The agent got it. Otherwise the draft was refused and written again.
    pub sent: bool,
    /// The words that show it, or why the judge found it.
    pub evidence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// It speaks as the assistant.
    RoleFlip,
    /// A number, amount, date or address that it cannot know.
    InventedFact,
    /// Its instructions, its reasoning, or a fact that it never tells.
    Leak,
    /// What it said before.
    Repetition,
    /// A fact before the agent asked for it.
    ToldEarly,
    /// It declares its goal reached while the agent waits for its consent.
    PrematureEnd,
    /// More than twice the words that its style allows.
    TooLong,
    /// Thanks three turns running.
    TooPolite,
    WrongLanguage,
    /// A rule of the scenario's `violations`.
    Violation,
}

impl FaultKind {
    pub const ALL: [Self; 10] = [
        Self::RoleFlip,
        Self::InventedFact,
        Self::Leak,
        Self::Repetition,
        Self::ToldEarly,
        Self::PrematureEnd,
        Self::TooLong,
        Self::TooPolite,
        Self::WrongLanguage,
        Self::Violation,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RoleFlip => "role_flip",
            Self::InventedFact => "invented_fact",
            Self::Leak => "leak",
            Self::Repetition => "repetition",
            Self::ToldEarly => "told_early",
            Self::PrematureEnd => "premature_end",
            Self::TooLong => "too_long",
            Self::TooPolite => "too_polite",
            Self::WrongLanguage => "wrong_language",
            Self::Violation => "violation",
        }
    }

    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Minor,
    /// The agent's reaction to it says nothing about the agent.
    Critical,
}

/// The conduct of the simulated user in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UserConduct {
    pub persona: Option<String>,
    /// Lines that the model was asked for.
    pub lines: u32,
    /// Lines that `self_check: model` could not judge.
    #[serde(default)]
    pub unknown: u32,
    /// Lines with faults, by kind.
    #[serde(default)]
    pub faults: Vec<KindCount>,
    /// What the trial would be without the critical fault that the agent got.
    #[serde(default, rename = "verdict_despite_fault", skip_serializing_if = "Option::is_none")]
    pub despite_fault: Option<DespiteFault>,
}

/// A verdict that a critical fault of the user took the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DespiteFault {
    pub verdict: Verdict,
    pub blame: Option<Blame>,
}

/// How many lines of a trial have a fault of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindCount {
    pub kind: FaultKind,
    /// Lines of which a draft was refused.
    pub refused: u32,
    /// Lines that the agent got with it.
    pub sent: u32,
}

impl UserConduct {
    /// Counts the faults of one line. Each kind counts once as refused and once as sent.
    pub fn add_line(&mut self, faults: &[UserFault]) {
        self.lines += 1;
        for kind in FaultKind::ALL {
            let has = |sent: bool| faults.iter().any(|fault| fault.kind == kind && fault.sent == sent);
            let (refused, sent) = (u32::from(has(false)), u32::from(has(true)));
            if refused + sent == 0 {
                continue;
            }
            let place = self.faults.iter().position(|count| count.kind == kind).unwrap_or_else(|| {
                self.faults.push(KindCount { kind, refused: 0, sent: 0 });
                self.faults.len() - 1
            });
            self.faults[place].refused += refused;
            self.faults[place].sent += sent;
        }
    }
}

/// Folds a critical fault that reached the agent into the end of a trial: INCONCLUSIVE, with the replaced verdict.
///
/// The agent answered something that no user would say, so neither its success nor its failure counts, and another
/// attempt would not help. A trial that was cancelled or skipped stays so.
#[must_use]
pub fn fold(
    verdict: Verdict,
    failure: Option<Failure>,
    fault: Option<(&UserFault, u32)>,
) -> (Verdict, Option<Failure>, Option<DespiteFault>) {
    let Some((fault, turn)) = fault else { return (verdict, failure, None) };
    if matches!(verdict, Verdict::Cancelled | Verdict::Skipped) {
        return (verdict, failure, None);
    }
    let despite = DespiteFault { verdict, blame: failure.map(|failure| failure.blame) };
    let message = format!("the simulated user was at fault ({}): {}", fault.kind.name(), fault.evidence);
    let failure = Failure::new(FailureKind::SimulatorFault, message).in_turn(turn);
    (Verdict::Inconclusive, Some(failure), Some(despite))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_once_for_each_kind() {
        let fault = |kind, sent| UserFault { kind, severity: Severity::Minor, sent, evidence: String::new() };
        let (leak, long) = (FaultKind::Leak, FaultKind::TooLong);
        let mut conduct = UserConduct::default();
        conduct.add_line(&[fault(leak, false), fault(leak, false), fault(long, true)]);
        conduct.add_line(&[]);
        conduct.add_line(&[fault(long, false), fault(long, true)]);
        assert_eq!(conduct.lines, 3);
        assert_eq!(
            conduct.faults,
            [KindCount { kind: leak, refused: 1, sent: 0 }, KindCount { kind: long, refused: 1, sent: 2 }]
        );
    }

    #[test]
    fn each_kind_is_read_by_its_name() {
        for kind in FaultKind::ALL {
            assert_eq!(FaultKind::of(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn a_critical_fault_never_ends_in_a_verdict_on_the_agent() {
        let fault = UserFault {
            kind: FaultKind::RoleFlip,
            severity: Severity::Critical,
            sent: true,
            evidence: "how can i help you".to_owned(),
        };
        for verdict in Verdict::ALL {
            let before = (verdict != Verdict::Pass).then(|| Failure::new(FailureKind::AgentFailed, "500"));
            assert_eq!(fold(verdict, before.clone(), None), (verdict, before.clone(), None));
            let (folded, failure, despite) = fold(verdict, before.clone(), Some((&fault, 3)));
            if matches!(verdict, Verdict::Cancelled | Verdict::Skipped) {
                assert_eq!((folded, failure, despite), (verdict, before, None));
                continue;
            }
            let failure = failure.unwrap();
            assert_eq!(
                (folded, failure.kind, failure.blame),
                (Verdict::Inconclusive, FailureKind::SimulatorFault, Blame::UserSim)
            );
            assert_eq!(failure.message, "the simulated user was at fault (role_flip): how can i help you");
            assert_eq!((failure.turn, despite.map(|despite| despite.verdict)), (Some(3), Some(verdict)));
        }
    }
}
