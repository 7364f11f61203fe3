//! Findings of judges by the length of the judged text, and findings that only inform because a judge is not
//! calibrated.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Ballot, FailureKind, Finding, Judgment};

/// The lower ends of the ranges of length, in words of the agent.
pub const FROM_WORDS: [u32; 6] = [0, 25, 50, 100, 200, 400];
/// How many reasons are counted separately. The rest, the last in alphabetical order, are counted together, so the
/// order in which trials are added and merged does not matter.
const MOST_REASONS: usize = 20;
/// Questions that are counted separately.
const MOST_QUESTIONS: usize = 100;
/// Judges of one question that are named: no panel is larger.
const MOST_JUDGES: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judges {
    /// One for each range of [`FROM_WORDS`].
    pub by_length: [JudgedCounts; FROM_WORDS.len()],
    /// Findings that only inform, by the reason.
    pub uncalibrated: BTreeMap<String, u64>,
    /// The findings with further reasons.
    pub more_uncalibrated: u64,
    /// What judges answered, by the name of the check, or its kind, and the criterion; an empty criterion is the check itself.
    pub answers: BTreeMap<(String, String), JudgedAnswers>,
}

/// What judges answered to one question over all trials: yes or met, and no or not met. Other answers count in neither.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JudgedAnswers {
    /// By the majority of the votes on each.
    pub met: u64,
    pub not_met: u64,
    /// As ballots name them.
    pub judges: BTreeSet<String>,
    /// The most ballots on one question.
    pub ballots: u64,
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
        self.add_answers(judgment);
    }

    fn add_answers(&mut self, judgment: &Judgment) {
        // Of the question at which its judge failed, half of the votes or fewer arrived: they are no majority.
        if judgment.failure.is_some_and(|failure| failure != FailureKind::Undecided) {
            return;
        }
        let mut asked: BTreeMap<&str, Vec<&Ballot>> = BTreeMap::new();
        for ballot in judgment.ballots.iter().filter(|ballot| !ballot.judge.is_empty()) {
            asked.entry(&ballot.criterion).or_default().push(ballot);
        }
        let check = judgment.name.as_deref().unwrap_or(&judgment.check);
        for (criterion, ballots) in asked {
            let Some(is_met) = is_met(&ballots) else { continue };
            let answers = JudgedAnswers {
                met: u64::from(is_met),
                not_met: u64::from(!is_met),
                judges: ballots.iter().map(|ballot| ballot.judge.clone()).collect(),
                ballots: ballots.len() as u64,
            };
            self.add_answer((check, criterion), &answers);
        }
    }

    /// Questions beyond the limit, the last in alphabetical order, are not counted.
    fn add_answer(&mut self, (check, criterion): (&str, &str), answers: &JudgedAnswers) {
        self.answers.entry((check.to_owned(), criterion.to_owned())).or_default().merge(answers);
        if self.answers.len() > MOST_QUESTIONS {
            self.answers.pop_last();
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
        for ((check, criterion), answers) in &other.answers {
            self.add_answer((check, criterion), answers);
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

impl JudgedAnswers {
    fn merge(&mut self, other: &Self) {
        self.met += other.met;
        self.not_met += other.not_met;
        self.ballots = self.ballots.max(other.ballots);
        self.judges.extend(other.judges.iter().cloned());
        while self.judges.len() > MOST_JUDGES {
            self.judges.pop_last();
        }
    }
}

/// What more than half of the votes say; a criterion that is met in part is not met, as when a judge is measured.
fn is_met(ballots: &[&Ballot]) -> Option<bool> {
    let count = |words: &[&str]| ballots.iter().filter(|ballot| words.contains(&ballot.verdict.as_str())).count();
    let (met, not_met) = (count(&["met", "yes"]), count(&["not met", "partly met", "no"]));
    match ballots.len() {
        all if 2 * met > all => Some(true),
        all if 2 * not_met > all => Some(false),
        _ => None,
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

    #[test]
    fn answers_count_by_check_and_criterion() {
        let ballot = |criterion: &str, judge: &str, verdict: &str| Ballot {
            criterion: criterion.to_owned(),
            model: "m".to_owned(),
            digest: String::new(),
            judge: judge.to_owned(),
            shortened_turns: 0,
            verdict: verdict.to_owned(),
            confidence: None,
            reason: String::new(),
        };
        let asked = |name: Option<&str>, ballots: Vec<Ballot>| Judgment {
            name: name.map(str::to_owned),
            ballots,
            ..judgment(Finding::Pass, 1, None)
        };
        let mut judges = Judges::default();
        let votes = ["met", "not met", "met"].map(|verdict| ballot("tone", "a", verdict));
        let mut sheet = votes.to_vec();
        sheet.push(ballot("facts", "b", "partly met"));
        sheet.push(ballot("scale", "b", "2.5"));
        judges.add(&asked(None, sheet));
        judges.add(&asked(Some("polite"), vec![ballot("", "a", "no")]));
        judges.add(&asked(Some("polite"), vec![ballot("", "a", "yes")]));
        // A tie says nothing.
        judges.add(&asked(Some("polite"), vec![ballot("", "a", "yes"), ballot("", "a", "no")]));
        let mut twice = judges.clone();
        twice.merge(&judges);
        let rows: Vec<_> = twice
            .answers
            .iter()
            .map(|((check, criterion), of)| (check.as_str(), criterion.as_str(), of.met, of.not_met, of.ballots))
            .collect();
        let expected = [("polite", "", 2, 2, 1), ("rubric", "facts", 0, 2, 1), ("rubric", "tone", 2, 0, 3)];
        assert_eq!(rows, expected);
    }
}
