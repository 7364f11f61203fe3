//! The pass rate of judged checks by the length of what was judged, and the findings of judges that only inform.

use record::{
    summary::{JudgedLength, Judges, Uncalibrated},
    tally::{self, FROM_WORDS},
};

use crate::wilson::interval;

/// `None` if no judge was asked. Ranges of length without findings are left out.
#[must_use]
pub fn of(judges: &tally::Judges) -> Option<Judges> {
    let below = FROM_WORDS.iter().skip(1).copied().map(Some).chain([None]);
    let ranges = FROM_WORDS.iter().zip(below).zip(&judges.by_length);
    let by_length: Vec<JudgedLength> = ranges
        .map(|((from_words, below_words), counts)| JudgedLength {
            from_words: *from_words,
            below_words,
            pass: counts.pass,
            fail: counts.fail,
            not_judged: counts.not_judged,
            not_applicable: counts.not_applicable,
            rate: interval(counts.pass, counts.pass + counts.fail),
        })
        .filter(|range| range.pass + range.fail + range.not_judged + range.not_applicable > 0)
        .collect();
    let more = (judges.more_uncalibrated > 0).then(|| ("further judges".to_owned(), judges.more_uncalibrated));
    let reasons = judges.uncalibrated.iter().map(|(reason, findings)| (reason.clone(), *findings)).chain(more);
    let uncalibrated = reasons.map(|(reason, findings)| Uncalibrated { reason, findings }).collect();
    (!by_length.is_empty()).then_some(Judges { by_length, uncalibrated })
}

#[cfg(test)]
mod tests {
    use record::tally::JudgedCounts;

    use super::*;

    #[test]
    fn each_range_with_findings_has_its_rate() {
        assert_eq!(of(&tally::Judges::default()), None);
        let mut judges = tally::Judges::default();
        judges.by_length[0] = JudgedCounts { pass: 3, fail: 1, not_judged: 2, not_applicable: 5 };
        judges.by_length[5] = JudgedCounts { not_applicable: 1, ..JudgedCounts::default() };
        judges.uncalibrated.insert("judge a".to_owned(), 4);
        judges.more_uncalibrated = 2;
        let found = of(&judges).unwrap();
        let ranges: Vec<_> = found.by_length.iter().map(|range| (range.from_words, range.below_words)).collect();
        assert_eq!(ranges, [(0, Some(25)), (400, None)]);
        assert_eq!((found.by_length[0].rate.estimate, found.by_length[0].rate.n), (Some(0.75), 4));
        assert_eq!(found.by_length[1].rate.estimate, None);
        let reasons: Vec<_> = found.uncalibrated.iter().map(|it| (it.reason.as_str(), it.findings)).collect();
        assert_eq!(reasons, [("judge a", 4), ("further judges", 2)]);
    }
}
