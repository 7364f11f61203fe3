//! Findings of judges by the length of the judged text, and findings that only inform because a judge is not
//! calibrated.

use std::collections::BTreeMap;

use crate::{Finding, Judgment};

/// The lower ends of the ranges of length, in words of the agent.
pub const FROM_WORDS: [u32; 6] = [0, 25, 50, 100, 200, 400];
/// How many reasons are counted separately. The rest, the last in alphabetical order, are counted together, so the
/// order in which trials are added and merged does not matter.
const MOST_REASONS: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judges {
    /// One for each range of [`FROM_WORDS`].
    pub by_length: [JudgedCounts; FROM_WORDS.len()],
    /// Findings that only inform, by the reason.
    pub uncalibrated: BTreeMap<String, u64>,
    /// The findings with further reasons.
    pub more_uncalibrated: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JudgedCounts {
    pub pass: u64,
    pub fail: u64,
    /// Inconclusive, or an error.
    pub not_judged: u64,
    pub not_applicable: u64,
}

impl Judges {
    pub(super) fn add(&mut self, judgment: &Judgment) {
        let Some(jury) = &judgment.jury else { return };
        let range = FROM_WORDS.partition_point(|from| *from <= jury.words).saturating_sub(1);
        let counts = &mut self.by_length[range];
        match judgment.finding {
            Finding::Pass => counts.pass += 1,
            Finding::Fail => counts.fail += 1,
            Finding::Inconclusive | Finding::Error => counts.not_judged += 1,
            Finding::NotApplicable => counts.not_applicable += 1,
        }
        if let Some(reason) = &jury.uncalibrated {
            self.add_reason(reason, 1);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (counts, more) in self.by_length.iter_mut().zip(&other.by_length) {
            counts.merge(*more);
        }
        self.more_uncalibrated += other.more_uncalibrated;
        for (reason, findings) in &other.uncalibrated {
            self.add_reason(reason, *findings);
        }
    }

    fn add_reason(&mut self, reason: &str, findings: u64) {
        match self.uncalibrated.get_mut(reason) {
            Some(known) => *known += findings,
            None => _ = self.uncalibrated.insert(reason.to_owned(), findings),
        }
        if self.uncalibrated.len() > MOST_REASONS
            && let Some((_, findings)) = self.uncalibrated.pop_last()
        {
            self.more_uncalibrated += findings;
        }
    }
}

impl JudgedCounts {
    fn merge(&mut self, other: Self) {
        let Self { pass, fail, not_judged, not_applicable } = other;
        self.pass += pass;
        self.fail += fail;
        self.not_judged += not_judged;
        self.not_applicable += not_applicable;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Jury, Scope};

    fn judgment(finding: Finding, words: u32, uncalibrated: Option<&str>) -> Judgment {
        Judgment {
            check: "rubric".to_owned(),
            name: None,
            description: None,
            scope: Scope::Conversation { step: 1 },
            finding,
            score: None,
            reason: String::new(),
            evidence: None,
            failure: None,
            line: 1,
            required: uncalibrated.is_none(),
            weight: 1.0,
            ballots: Vec::new(),
            jury: Some(Jury { words, uncalibrated: uncalibrated.map(str::to_owned) }),
            custom: None,
        }
    }

    #[test]
    fn findings_count_in_the_range_of_their_length() {
        let mut judges = Judges::default();
        for words in [0, 24, 25, 49, 50, 399, 400, u32::MAX] {
            judges.add(&judgment(Finding::Pass, words, None));
        }
        judges.add(&judgment(Finding::Fail, 10, None));
        judges.add(&judgment(Finding::Error, 10, None));
        judges.add(&judgment(Finding::NotApplicable, 10, None));
        judges.add(&Judgment { jury: None, ..judgment(Finding::Pass, 10, None) });
        assert_eq!(judges.by_length.map(|counts| counts.pass), [2, 2, 1, 0, 1, 2]);
        let first = JudgedCounts { pass: 2, fail: 1, not_judged: 1, not_applicable: 1 };
        assert_eq!(judges.by_length[0], first);
    }

    #[test]
    fn the_number_of_reasons_is_limited_in_any_order() {
        let reasons: Vec<String> = (0..MOST_REASONS + 5).map(|number| format!("judge {number:02}")).collect();
        let (mut forward, mut backward, mut halves) = <(Judges, Judges, [Judges; 2])>::default();
        for _ in 0..2 {
            reasons.iter().for_each(|reason| forward.add(&judgment(Finding::Fail, 1, Some(reason))));
            reasons.iter().rev().for_each(|reason| backward.add(&judgment(Finding::Fail, 1, Some(reason))));
            for (index, reason) in reasons.iter().enumerate() {
                halves[index % 2].add(&judgment(Finding::Fail, 1, Some(reason)));
            }
        }
        let [mut merged, odd] = halves;
        merged.merge(&odd);
        assert_eq!(forward, backward);
        assert_eq!(forward, merged);
        assert_eq!((forward.uncalibrated.len(), forward.more_uncalibrated), (MOST_REASONS, 10));
    }
}
