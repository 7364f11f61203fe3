//! The pass rate of judged checks by the length of what was judged, the findings of judges that only inform, and rates corrected by
//! what is known of the judges.

use record::{
    summary::{CorrectedRate, JudgedCriterion, JudgedLength, Judges, Uncalibrated},
    tally::{self, FROM_WORDS, JudgedAnswers},
};
use scenario::plan::{Agreeing, JudgeGate};

use crate::{
    corrected::{self, Accuracy, Observed},
    wilson::interval,
};

/// `None` if no judge was asked. Ranges of length without findings are left out. `known`: the measurements of judges. `design_effect`: by how
/// much more than independent trials the success rate varies; answers count as so many fewer in a corrected rate.
#[must_use]
pub fn of(judges: &tally::Judges, known: Option<&JudgeGate>, design_effect: f64) -> Option<Judges> {
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
    let by_criterion = judges
        .answers
        .iter()
        .map(|((check, criterion), answers)| of_criterion(check, criterion, answers, known, design_effect))
        .collect();
    (!by_length.is_empty()).then_some(Judges { by_length, uncalibrated, by_criterion })
}

fn of_criterion(
    check: &str,
    criterion: &str,
    answers: &JudgedAnswers,
    known: Option<&JudgeGate>,
    design_effect: f64,
) -> JudgedCriterion {
    JudgedCriterion {
        check: check.to_owned(),
        criterion: (!criterion.is_empty()).then(|| criterion.to_owned()),
        met: answers.met,
        not_met: answers.not_met,
        rate: interval(answers.met, answers.met + answers.not_met),
        corrected: known.and_then(|known| corrected(known, criterion, answers, design_effect)),
    }
}

/// With the labels of the criterion if there are enough, otherwise with all labels of these judges.
fn corrected(known: &JudgeGate, criterion: &str, answers: &JudgedAnswers, design_effect: f64) -> Option<CorrectedRate> {
    let measured = known.measurement(answers.judges.iter().map(String::as_str), answers.ballots)?;
    let own = measured.criterion(criterion);
    let (kappa, found, kept) = match own {
        Some(own) => (own.kappa, own.sensitivity, own.specificity),
        None => (measured.kappa, measured.sensitivity, measured.specificity),
    };
    let [sensitivity, specificity] = [found, kept].map(|Agreeing { verdicts, of }| interval(verdicts, of));
    let judge = Accuracy::of(&sensitivity, &specificity)?;
    let answered = (answers.met + answers.not_met) as f64;
    let met = Observed { share: answers.met as f64 / answered.max(1.0), draws: answered / design_effect.max(1.0) };
    Some(CorrectedRate {
        rate: corrected::rate(met, judge),
        kappa,
        sensitivity,
        specificity,
        of_criterion: own.is_some(),
        date: measured.date.clone(),
    })
}

#[cfg(test)]
mod tests {
    use record::tally::JudgedCounts;
    use scenario::plan::{MeasuredCriterion, MeasuredJudges};

    use super::*;

    #[test]
    fn each_range_with_findings_has_its_rate() {
        assert_eq!(of(&tally::Judges::default(), None, 1.0), None);
        let mut judges = tally::Judges::default();
        judges.by_length[0] = JudgedCounts { pass: 3, fail: 1, not_judged: 2, not_applicable: 5 };
        judges.by_length[5] = JudgedCounts { not_applicable: 1, ..JudgedCounts::default() };
        judges.uncalibrated.insert("judge a".to_owned(), 4);
        judges.more_uncalibrated = 2;
        let found = of(&judges, None, 1.0).unwrap();
        let ranges: Vec<_> = found.by_length.iter().map(|range| (range.from_words, range.below_words)).collect();
        assert_eq!(ranges, [(0, Some(25)), (400, None)]);
        assert_eq!((found.by_length[0].rate.estimate, found.by_length[0].rate.n), (Some(0.75), 4));
        assert_eq!(found.by_length[1].rate.estimate, None);
        let reasons: Vec<_> = found.uncalibrated.iter().map(|it| (it.reason.as_str(), it.findings)).collect();
        assert_eq!(reasons, [("judge a", 4), ("further judges", 2)]);
    }

    #[test]
    fn a_rate_is_corrected_by_the_labels_of_its_criterion_or_of_all() {
        let agreeing = |verdicts| Agreeing { verdicts, of: 50 };
        let own = MeasuredCriterion {
            criterion: "tone".to_owned(),
            kappa: 0.8,
            sensitivity: agreeing(40),
            specificity: agreeing(50),
        };
        let measured = MeasuredJudges {
            judges: vec!["a".to_owned()],
            ballots: 1,
            kappa: 0.7,
            sensitivity: agreeing(45),
            specificity: agreeing(45),
            date: "2026-11-23".to_owned(),
            criteria: vec![own],
        };
        let known = JudgeGate { min_kappa: None, measured: vec![measured] };
        let mut judges = tally::Judges::default();
        judges.by_length[0].pass = 1;
        for (criterion, judge) in [("tone", "a"), ("facts", "a"), ("speed", "b")] {
            let judges_of = [judge.to_owned()].into();
            let answers = JudgedAnswers { met: 90, not_met: 10, judges: judges_of, ballots: 1 };
            judges.answers.insert(("rubric".to_owned(), criterion.to_owned()), answers);
        }
        let found = of(&judges, Some(&known), 1.0).unwrap().by_criterion;
        let row = |criterion: &str| found.iter().find(|row| row.criterion.as_deref() == Some(criterion)).unwrap();
        let estimate = |criterion: &str| row(criterion).corrected.as_ref().unwrap().rate.clone().unwrap();
        // (0.9 + 0.8 - 1) / 0.8 and (0.9 + 0.9 - 1) / 0.8.
        assert!((estimate("tone").estimate.unwrap() - 0.875).abs() < 1e-9);
        assert_eq!(estimate("facts").estimate, Some(1.0));
        assert!(row("tone").corrected.as_ref().unwrap().of_criterion && row("speed").corrected.is_none());
        let fewer = of(&judges, Some(&known), 4.0).unwrap().by_criterion;
        let wider = fewer.iter().find(|row| row.criterion.as_deref() == Some("tone")).unwrap();
        assert!(wider.corrected.as_ref().unwrap().rate.as_ref().unwrap().low < estimate("tone").low);
        assert_eq!(row("tone").rate.estimate, Some(0.9));
    }
}
