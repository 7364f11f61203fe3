//! What checks within a check found, put together: the finding, and every vote of their judges.

use record::{Ballot, FailureKind, Finding};

use crate::{
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
};

/// The findings so far of inner checks, of which one pass decides (any must hold) or one fail (all must hold).
#[derive(Debug)]
pub(crate) struct Branches {
    deciding: Finding,
    decided: Option<Outcome>,
    undecided: Option<Outcome>,
    /// Of the branches that found the opposite. If all did, this is the finding.
    reasons: Vec<String>,
    uncalibrated: Option<Box<str>>,
    ballots: Vec<Ballot>,
}

impl Branches {
    pub(crate) fn any_holds() -> Self {
        Self::new(Finding::Pass)
    }

    pub(crate) fn all_hold() -> Self {
        Self::new(Finding::Fail)
    }

    fn new(deciding: Finding) -> Self {
        let (decided, undecided, uncalibrated) = (None, None, None);
        Self { deciding, decided, undecided, reasons: Vec::new(), uncalibrated, ballots: Vec::new() }
    }

    /// Adds what the check of `place` found. Returns whether further branches cannot change the finding.
    pub(crate) fn add(&mut self, place: &str, mut outcome: Outcome) -> bool {
        self.ballots.extend(ballots_of(place, &mut outcome));
        match outcome.finding {
            finding if finding == self.deciding => keep(&mut self.decided, outcome),
            Finding::Pass | Finding::Fail => {
                self.reasons.push(excerpt(&outcome.reason, 8 * SHORT_BYTES).into_owned());
                self.uncalibrated = self.uncalibrated.take().or(outcome.uncalibrated);
            }
            Finding::Error | Finding::Inconclusive => keep(&mut self.undecided, outcome),
            // The outer check is about the whole text, so it applies although an inner one does not.
            Finding::NotApplicable => {
                let (finding, failure) = (Finding::Inconclusive, Some(FailureKind::Undecided));
                keep(&mut self.undecided, Outcome { finding, failure, ..outcome });
            }
        }
        self.decided.as_ref().is_some_and(|outcome| outcome.uncalibrated.is_none())
    }

    /// `otherwise` makes the outcome from the reasons, if all branches were judged and none decides alone.
    pub(crate) fn outcome(self, otherwise: impl FnOnce(&[String]) -> Outcome) -> Outcome {
        let Self { decided, undecided, reasons, uncalibrated, ballots, deciding: _ } = self;
        let outcome = decided.or(undecided);
        outcome.unwrap_or_else(|| Outcome { uncalibrated, ..otherwise(&reasons) }).with_ballots(ballots)
    }
}

/// The first outcome, or the first that does not rest on judges which only inform.
fn keep(kept: &mut Option<Outcome>, outcome: Outcome) {
    if kept.as_ref().is_none_or(|kept| kept.uncalibrated.is_some() && outcome.uncalibrated.is_none()) {
        *kept = Some(outcome);
    }
}

/// Takes the votes of an inner check. Each names the place of the check.
pub(crate) fn ballots_of(place: &str, outcome: &mut Outcome) -> impl Iterator<Item = Ballot> + use<> {
    let place = if outcome.ballots.is_empty() { String::new() } else { excerpt(place, SHORT_BYTES).into_owned() };
    std::mem::take(&mut outcome.ballots).into_iter().map(move |ballot| match ballot.criterion.as_str() {
        "" => ballot.about(&place),
        inner => {
            let criterion = format!("{place}: {inner}");
            ballot.about(&criterion)
        }
    })
}
