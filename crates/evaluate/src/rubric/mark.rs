//! The result of the votes on one criterion.

use scenario::check::Criterion;

use crate::{
    excerpt::{SHORT_BYTES, excerpt},
    question::{Ballot, Counted, Scale, Verdict, Votes, counted, majority},
};

#[derive(Debug)]
pub(super) struct Mark {
    pub(super) worth: Worth,
    /// `partly met`, `2.5`, `the votes tie`.
    pub(super) name: String,
    /// `met 2, not met 1`.
    pub(super) counted: String,
    /// Of a vote that agrees with the mark.
    pub(super) reason: String,
    pub(super) ballots: Vec<record::Ballot>,
    pub(super) heard: usize,
    pub(super) asked: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Worth {
    /// 0 to 1.
    Share(f64),
    /// The criterion does not apply, so it has no weight.
    Nothing,
    /// The judge cannot tell, or the votes tie.
    Unknown,
}

/// The scale of a criterion.
pub(super) fn scale(criterion: &Criterion) -> Scale<'_> {
    if criterion.anchors.is_empty() { Scale::Marks } else { Scale::Points(&criterion.anchors) }
}

impl Mark {
    /// Labels by majority, numbers by their mean.
    pub(super) fn of(criterion: &Criterion, votes: &Votes<Ballot>) -> Self {
        let kind = |ballot: &Ballot| ballot.verdict.kind();
        let (worth, name, agrees) = match majority(votes.answers().map(kind)) {
            Counted::Tie => (Worth::Unknown, "the votes tie".to_owned(), None),
            Counted::Majority(Verdict::Point(_)) => {
                let mean = votes.mean(|ballot| match ballot.verdict {
                    Verdict::Point(point) => Some(point as f64),
                    _ => None,
                });
                let mean = mean.unwrap_or_default();
                (
                    Worth::Share(share_of_scale(criterion, mean)),
                    format!("{mean:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
                    Some(Verdict::Point(0)),
                )
            }
            Counted::Majority(verdict) => {
                let worth = match verdict {
                    Verdict::Met => Worth::Share(1.0),
                    Verdict::Partly => Worth::Share(0.5),
                    Verdict::NotMet => Worth::Share(0.0),
                    Verdict::NotApplicable => Worth::Nothing,
                    Verdict::CannotTell | Verdict::Point(_) | Verdict::Millionths(_) | Verdict::Words(_) => {
                        Worth::Unknown
                    }
                };
                (worth, verdict.name(), Some(verdict))
            }
        };
        let agreeing = votes.answers().find(|ballot| agrees.as_ref().is_none_or(|verdict| kind(ballot) == *verdict));
        let reason = agreeing.map(|ballot| excerpt(&ballot.shown(), 8 * SHORT_BYTES).into_owned());
        let ballots = votes
            .recorded(criterion.name.trim(), |ballot| (ballot.verdict.name(), Some(ballot.confidence), ballot.shown()));
        Self {
            worth,
            name,
            counted: counted(votes.answers().map(|ballot| ballot.verdict.name())),
            reason: reason.unwrap_or_default(),
            ballots,
            heard: votes.heard.len(),
            asked: votes.asked,
        }
    }
}

/// 0 at the lowest point of the scale, 1 at the highest.
fn share_of_scale(criterion: &Criterion, point: f64) -> f64 {
    let ends = criterion.anchors.keys().next().zip(criterion.anchors.keys().last());
    let Some((low, high)) = ends.map(|(low, high)| (*low as f64, *high as f64)) else { return 0.0 };
    if high > low { ((point - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
}
