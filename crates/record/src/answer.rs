//! Identifies the answer that an agent gave, for agents that look answers up and report ids and scores.

use std::{fmt, str::FromStr};

use crate::{Turn, turn::Note};

/// The kind of the note that keeps it in a turn.
pub const NOTE: &str = "answer";

/// The answer of a knowledge base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// -1: no match.
    pub id: i64,
    /// 0 to 100.
    pub score: f64,
}

/// A text that is not an id and a score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {0:?} as an answer's id and score: it looks like 167(92.01)")]
pub struct Error(String);

impl Answer {
    /// The identified answer of a turn, if the agent reported one.
    #[must_use]
    pub fn of(turn: &Turn) -> Option<Self> {
        turn.notes.iter().find(|note| note.kind == NOTE).and_then(|note| note.text.parse().ok())
    }

    #[must_use]
    pub fn note(self) -> Note {
        Note { kind: NOTE.to_owned(), text: self.to_string() }
    }
}

impl fmt::Display for Answer {
    /// As `bf qnamaker:test` writes it: `167(92.01)`, with at most two decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let score = (self.score * 100.0).round() / 100.0;
        write!(f, "{}({score})", self.id)
    }
}

impl FromStr for Answer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = || {
            let (id, score) = text.strip_suffix(')')?.split_once('(')?;
            Some(Self { id: id.trim().parse().ok()?, score: score.trim().parse().ok()? })
        };
        parsed().ok_or_else(|| Error(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_in_reports_and_read_again() {
        for (id, score, text) in [
            (167, 92.01, "167(92.01)"),
            (-1, 0.0, "-1(0)"),
            (158, 62.8, "158(62.8)"),
            (161, 100.0, "161(100)"),
            (3, 0.333_33, "3(0.33)"),
        ] {
            let answer = Answer { id, score };
            assert_eq!(answer.to_string(), text);
            assert_eq!(text.parse::<Answer>().map(|answer| answer.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", "167", "x(3)", "3(x)", "3(4"] {
            assert!(wrong.parse::<Answer>().is_err(), "{wrong}");
        }
    }
}
