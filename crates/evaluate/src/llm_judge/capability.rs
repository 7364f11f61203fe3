//! The checklist of `llm_judge`: what a vote finds of each capability, and what most votes find.

use crate::question::{Ballot, Counted, Open, Verdict, majority};

/// A capability as one vote, or most of them, see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Capability {
    pub(super) achieved: Result<bool, Open>,
    pub(super) reasoning: String,
}

impl Capability {
    pub(super) fn of(ballot: &Ballot) -> Self {
        let achieved = match ballot.verdict {
            Verdict::Met => Ok(true),
            Verdict::NotApplicable => Err(Open::NotApplicable),
            Verdict::CannotTell => Err(Open::CannotTell),
            _ => Ok(false),
        };
        Self { achieved, reasoning: ballot.shown() }
    }

    /// What most votes find, with the reasoning of one that agrees. A tie is undecided.
    pub(super) fn by_most(votes: &[Self]) -> Self {
        let achieved = match majority(votes.iter().map(|vote| vote.achieved)) {
            Counted::Majority(achieved) => achieved,
            Counted::Tie => Err(Open::CannotTell),
        };
        let agreeing = votes.iter().find(|vote| vote.achieved == achieved).or(votes.first());
        Self { achieved, reasoning: agreeing.map(|vote| vote.reasoning.clone()).unwrap_or_default() }
    }

    /// For the evidence.
    pub(super) fn mark(&self) -> &'static str {
        match self.achieved {
            Ok(true) => "achieved",
            Ok(false) => "not achieved",
            Err(Open::NotApplicable) => "not applicable",
            Err(Open::CannotTell) => "cannot tell",
        }
    }
}

/// The share achieved of those that are decided, `None` if none is, and the counts in words.
pub(super) fn score(capabilities: &[Capability]) -> (Option<f64>, String) {
    let count = |wanted| capabilities.iter().filter(|capability| capability.achieved == wanted).count();
    let (achieved, missing) = (count(Ok(true)), count(Ok(false)));
    let decided = achieved + missing;
    let mut words = format!("{achieved} of {decided} capabilities achieved");
    for (open, word) in [(Open::NotApplicable, "not applicable"), (Open::CannotTell, "undecided")] {
        let left_out = count(Err(open));
        if left_out > 0 {
            words.push_str(&format!(", {left_out} {word}"));
        }
    }
    ((decided > 0).then(|| achieved as f64 / decided as f64), words)
}
