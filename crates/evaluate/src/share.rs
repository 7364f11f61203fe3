//! The weighted share of parts that hold. It is a range where a judge leaves parts open.

use std::fmt;

use crate::{outcome::Outcome, question::Open};

/// A sum of shares can miss a threshold such as 0.7 by a rounding error.
const ROUNDING: f64 = 1e-9;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Share {
    low: f64,
    high: f64,
    weight: f64,
}

impl Share {
    /// Adds a part that is worth at least `low` and at most `high`, both 0 to 1.
    pub(crate) fn add(&mut self, weight: f64, (low, high): (f64, f64)) {
        self.low += weight * low;
        self.high += weight * high;
        self.weight += weight;
    }

    /// Adds a judge's answer. A part that does not apply does not count, and one that the judge cannot tell can hold or not.
    pub(crate) fn add_answer(&mut self, said: Result<bool, Open>) {
        match said {
            Ok(true) => self.add(1.0, (1.0, 1.0)),
            Ok(false) => self.add(1.0, (0.0, 0.0)),
            Err(Open::CannotTell) => self.add(1.0, (0.0, 1.0)),
            Err(Open::NotApplicable) => {}
        }
    }

    /// Its least and its greatest value, 0 to 1; `None`: nothing counts.
    pub(crate) fn bounds(&self) -> Option<(f64, f64)> {
        (self.weight > 0.0).then(|| (self.low / self.weight, self.high / self.weight))
    }

    /// Undecided if only a part of the range reaches the threshold.
    pub(crate) fn outcome(&self, threshold: f64, reason: String) -> Outcome {
        let (low, high) = self.bounds().unwrap_or_default();
        if high < threshold - ROUNDING {
            Outcome::fail(reason).with_score(low)
        } else if low >= threshold - ROUNDING {
            Outcome::pass(reason).with_score(low)
        } else {
            Outcome::undecided(reason)
        }
    }
}

/// `75.0%` or `75.0% to 100.0%`.
impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.bounds().unwrap_or_default();
        write!(formatter, "{:.1}%", low * 100.0)?;
        if high > low { write!(formatter, " to {:.1}%", high * 100.0) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use record::Finding;

    use super::*;

    #[test]
    fn open_parts_give_a_range() {
        type Answer = Result<bool, Open>;
        const UNKNOWN: Answer = Err(Open::CannotTell);
        const NONE: Answer = Err(Open::NotApplicable);
        let rows: [(&[Answer], &str, Finding); 8] = [
            (&[Ok(true), Ok(false)], "50.0%", Finding::Pass),
            (&[Ok(true), Ok(false), Ok(false)], "33.3%", Finding::Fail),
            (&[Ok(true), Ok(false), UNKNOWN], "33.3% to 66.7%", Finding::Inconclusive),
            (&[Ok(true), Ok(true), UNKNOWN], "66.7% to 100.0%", Finding::Pass),
            (&[Ok(false), Ok(false), UNKNOWN], "0.0% to 33.3%", Finding::Fail),
            (&[Ok(true), NONE, NONE], "100.0%", Finding::Pass),
            (&[Ok(false), NONE], "0.0%", Finding::Fail),
            (&[UNKNOWN], "0.0% to 100.0%", Finding::Inconclusive),
        ];
        for (answers, shown, finding) in rows {
            let mut share = Share::default();
            answers.iter().for_each(|said| share.add_answer(*said));
            assert_eq!((share.to_string().as_str(), share.outcome(0.5, String::new()).finding), (shown, finding));
        }
        assert_eq!(Share::default().bounds(), None);
    }
}
