//! Checks of the user's own: how often each answered, what answered, and whether a second answer was another one.

use std::collections::{BTreeMap, BTreeSet};

use crate::Judgment;

/// How many checks have a line of their own. The rest, the last in alphabetical order, count together: so it does not matter
/// in which order trials are added and merged.
pub const MOST_CHECKS: usize = 100;
/// How many programs are named of one check, the first in order.
pub const MOST_PROGRAMS: usize = 8;
/// The line of all checks beyond the limit.
pub const OTHER_CHECKS: &str = "other";

/// By name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomChecks {
    named: BTreeMap<String, CustomCounts>,
    other: CustomCounts,
}

/// What is known of one check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomCounts {
    pub answers: u64,
    /// Answers that were asked for twice.
    pub asked_twice: u64,
    /// Of them: the second answer was another one.
    pub differed: u64,
    /// The digests of what answered.
    pub programs: BTreeSet<String>,
}

impl CustomChecks {
    pub(super) fn add(&mut self, judgment: &Judgment) {
        let Some(run) = &judgment.custom else { return };
        let counts = CustomCounts {
            answers: 1,
            asked_twice: u64::from(run.differs.is_some()),
            differed: u64::from(run.differs == Some(true)),
            programs: BTreeSet::from([run.program.clone()]),
        };
        self.add_counts(&run.check, &counts);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (check, counts) in &other.named {
            self.add_counts(check, counts);
        }
        self.other.merge(&other.other);
    }

    /// In alphabetical order; [`OTHER_CHECKS`] last, if there are any.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &CustomCounts)> {
        let other = (self.other.answers > 0).then_some((OTHER_CHECKS, &self.other));
        self.named.iter().map(|(check, counts)| (check.as_str(), counts)).chain(other)
    }

    fn add_counts(&mut self, check: &str, counts: &CustomCounts) {
        match self.named.get_mut(check) {
            Some(known) => known.merge(counts),
            None => _ = self.named.insert(check.to_owned(), counts.clone()),
        }
        if self.named.len() > MOST_CHECKS
            && let Some((_, last)) = self.named.pop_last()
        {
            self.other.merge(&last);
        }
    }
}

impl CustomCounts {
    fn merge(&mut self, other: &Self) {
        let Self { answers, asked_twice, differed, programs } = other;
        self.answers += answers;
        self.asked_twice += asked_twice;
        self.differed += differed;
        self.programs.extend(programs.iter().cloned());
        while self.programs.len() > MOST_PROGRAMS {
            self.programs.pop_last();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CustomRun, Finding, Scope};

    fn judgment(check: &str, program: &str, differs: Option<bool>) -> Judgment {
        Judgment {
            check: "custom".to_owned(),
            name: None,
            description: None,
            scope: Scope::Step { step: 1 },
            finding: Finding::Pass,
            score: None,
            reason: String::new(),
            evidence: None,
            failure: None,
            line: 1,
            required: true,
            weight: 1.0,
            ballots: Vec::new(),
            jury: None,
            custom: Some(Box::new(CustomRun {
                check: check.to_owned(),
                program: program.to_owned(),
                transcript: "t".to_owned(),
                differs,
            })),
        }
    }

    #[test]
    fn answers_count_under_the_name_of_their_check() {
        let mut checks = CustomChecks::default();
        checks.add(&judgment("totals", "b", None));
        checks.add(&judgment("totals", "a", Some(false)));
        checks.add(&judgment("totals", "a", Some(true)));
        checks.add(&judgment("polite", "a", None));
        checks.add(&Judgment { custom: None, ..judgment("", "", None) });
        let found: Vec<_> = checks.iter().collect();
        let programs = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let counts = |answers, asked_twice, differed, names| CustomCounts {
            answers,
            asked_twice,
            differed,
            programs: programs(names),
        };
        assert_eq!(found, [("polite", &counts(1, 0, 0, &["a"])), ("totals", &counts(3, 2, 1, &["a", "b"]))]);
    }

    #[test]
    fn the_numbers_of_checks_and_programs_are_limited_in_any_order() {
        let names: Vec<String> = (0..MOST_CHECKS + 5).map(|number| format!("c{number:03}")).collect();
        let (mut forward, mut backward, mut halves) = <(CustomChecks, CustomChecks, [CustomChecks; 2])>::default();
        let add = |checks: &mut CustomChecks, name: &String| checks.add(&judgment(name, name, None));
        names.iter().for_each(|name| add(&mut forward, name));
        names.iter().rev().for_each(|name| add(&mut backward, name));
        names.iter().enumerate().for_each(|(index, name)| add(&mut halves[index % 2], name));
        let [mut merged, odd] = halves;
        merged.merge(&odd);
        assert_eq!(forward, backward);
        assert_eq!(forward, merged);
        let other = forward.iter().last().unwrap();
        assert_eq!((other.0, other.1.answers, forward.iter().count()), (OTHER_CHECKS, 5, MOST_CHECKS + 1));
        let mut many = CustomChecks::default();
        (0..20).rev().for_each(|number| many.add(&judgment("totals", &format!("p{number:02}"), None)));
        let programs = &many.iter().next().unwrap().1.programs;
        assert_eq!((programs.len(), programs.first().unwrap().as_str()), (MOST_PROGRAMS, "p00"));
    }
}
