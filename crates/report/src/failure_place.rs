//! The place in its conversation where a trial failed.

use std::fmt;

use record::{Trial, Verdict};

/// Displayed as `step 2, turn 3`, `step 1, at the end`, `at the end`, `not played`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailurePlace {
    NotPlayed,
    Turn {
        step: Option<u32>,
        turn: u32,
    },
    /// Of a step, or of the whole trial.
    End {
        step: Option<u32>,
    },
}

impl FailurePlace {
    pub(crate) fn of(trial: &Trial) -> Self {
        let failure = trial.failure.as_ref();
        let step = failure.and_then(|failure| failure.step);
        match failure.and_then(|failure| failure.turn) {
            _ if trial.verdict == Verdict::Skipped => Self::NotPlayed,
            Some(turn) => Self::Turn { step, turn },
            None if trial.turns == 0 && trial.judgments.is_empty() => Self::NotPlayed,
            None => Self::End { step },
        }
    }
}

impl fmt::Display for FailurePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPlayed => f.write_str("not played"),
            Self::Turn { step: Some(step), turn } => write!(f, "step {step}, turn {turn}"),
            Self::Turn { step: None, turn } => write!(f, "turn {turn}"),
            Self::End { step: Some(step) } => write!(f, "step {step}, at the end"),
            Self::End { step: None } => f.write_str("at the end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_well() {
        for (place, words) in [
            (FailurePlace::Turn { step: Some(2), turn: 3 }, "step 2, turn 3"),
            (FailurePlace::Turn { step: None, turn: 3 }, "turn 3"),
            (FailurePlace::End { step: Some(1) }, "step 1, at the end"),
            (FailurePlace::End { step: None }, "at the end"),
            (FailurePlace::NotPlayed, "not played"),
        ] {
            assert_eq!(place.to_string(), words);
        }
    }
}
