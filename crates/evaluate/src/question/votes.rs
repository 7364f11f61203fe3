//! The votes on one question, and their result.

use std::collections::BTreeMap;

use super::{Error, Heard};
use crate::excerpt::{SHORT_BYTES, excerpt};

/// The votes that arrived.
#[derive(Debug)]
pub(crate) struct Votes<T> {
    pub(crate) heard: Vec<Heard<T>>,
    pub(crate) asked: usize,
}

/// Half or fewer of the votes arrived.
#[derive(Debug)]
pub(crate) struct TooFew<T> {
    /// Of the first vote that is missing.
    pub(super) error: Box<Error>,
    pub(super) votes: Votes<T>,
}

/// The decision of a majority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Counted<T> {
    Majority(T),
    /// No answer has more votes than every other.
    Tie,
}

impl<T> Votes<T> {
    pub(super) fn one(heard: Heard<T>) -> Self {
        Self { heard: vec![heard], asked: 1 }
    }

    pub(crate) fn answers(&self) -> impl Iterator<Item = &T> {
        self.heard.iter().map(|heard| &heard.answer)
    }

    /// The mean of the votes that have a number.
    pub(crate) fn mean(&self, number: impl Fn(&T) -> Option<f64>) -> Option<f64> {
        let numbers: Vec<f64> = self.answers().filter_map(number).collect();
        (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
    }

    /// For the record: `tell` returns the verdict, the probability of a yes, and the reason of a vote.
    pub(crate) fn recorded(
        &self,
        criterion: &str,
        tell: impl Fn(&T) -> (String, Option<f64>, String),
    ) -> Vec<record::Ballot> {
        self.heard.iter().map(|heard| recorded_one(heard, criterion, &tell)).collect()
    }
}

impl<T> TooFew<T> {
    pub(super) fn none(error: Error) -> Self {
        Self { error: Box::new(error), votes: Votes { heard: Vec::new(), asked: 1 } }
    }

    /// The error, with the votes that arrived: they are paid for, and `record` returns them for the record.
    pub(crate) fn recorded(self, record: impl FnOnce(&Votes<T>) -> Vec<record::Ballot>) -> Error {
        let Self { error, votes } = self;
        match votes.heard.len() {
            0 => *error,
            arrived => Error::TooFewVotes { error, arrived, asked: votes.asked, ballots: record(&votes) },
        }
    }
}

/// One vote for the record; see [`Votes::recorded`].
pub(crate) fn recorded_one<T>(
    heard: &Heard<T>,
    criterion: &str,
    tell: impl Fn(&T) -> (String, Option<f64>, String),
) -> record::Ballot {
    let (verdict, confidence, reason) = tell(&heard.answer);
    record::Ballot {
        criterion: excerpt(criterion, SHORT_BYTES).into_owned(),
        model: heard.model.clone(),
        digest: heard.digests.answer.clone(),
        judge: heard.digests.judge.clone(),
        verdict: excerpt(&verdict, SHORT_BYTES).into_owned(),
        confidence,
        reason: excerpt(&reason, 16 * SHORT_BYTES).into_owned(),
        shortened_turns: heard.shortened_turns,
    }
}

/// The answer with more votes than every other.
pub(crate) fn majority<T: Ord>(answers: impl IntoIterator<Item = T>) -> Counted<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or_default();
    let mut winners = counts.into_iter().filter(|(_, count)| *count == most).map(|(answer, _)| answer);
    match (winners.next(), winners.next()) {
        (Some(winner), None) => Counted::Majority(winner),
        _ => Counted::Tie,
    }
}

/// `met 2, not met 1`.
pub(crate) fn counted(names: impl IntoIterator<Item = String>) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Counted, counted, majority};

    #[test]
    fn more_votes_than_every_other_decide() {
        let rows: [(&[u8], Counted<u8>); 6] = [
            (&[1], Counted::Majority(1)),
            (&[1, 2, 2], Counted::Majority(2)),
            (&[1, 2], Counted::Tie),
            (&[1, 2, 3], Counted::Tie),
            (&[3, 1, 2, 3, 1, 3], Counted::Majority(3)),
            (&[], Counted::Tie),
        ];
        for (votes, expected) in rows {
            assert_eq!(majority(votes.iter().copied()), expected, "{votes:?}");
        }
        assert_eq!(counted(["met", "not met", "met"].map(str::to_owned)), "met 2, not met 1");
    }
}
