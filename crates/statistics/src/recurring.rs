//! Failures over nights: the same failure in several runs is one, with the nights in which it was seen.
//!
//! A failure is the same if its signature is: agent, verdict, place in the conversation, and reason without numbers, ids and
//! quoted replies. Of the nights only those count that could have shown it: nights with one of its cases, stored by a version that
//! keeps failures.

use std::collections::{BTreeMap, BTreeSet};

use record::{Verdict, summary::FailureSeen};
use schemars::JsonSchema;
use serde::Serialize;

use crate::nights::{Night, NightCell, NightFailure};

/// A failure over nights.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Recurring {
    pub signature: String,
    pub agent: String,
    pub verdict: Verdict,
    pub place: String,
    /// Of the latest one, as written.
    pub reason: String,
    /// When the first and the last run started that had it: RFC 3339, UTC.
    pub first_seen: String,
    pub last_seen: String,
    /// Nights with it, of the nights since the first that could have shown it.
    pub seen: u64,
    pub nights: u64,
    /// Over all nights.
    pub trials: u64,
    /// The names of its cases, over all nights.
    pub cases: Vec<String>,
    /// The latest night has it.
    pub in_last: bool,
}

/// A cell of one agent.
type Key<'a> = (&'a crate::compare::played::CellName, &'a str);

/// The failures of some nights: those of the latest night first, then the most frequent. `nights`: the earliest first; runs that are no
/// nights do not count.
#[must_use]
pub fn recurring(nights: &[Night]) -> Vec<Recurring> {
    let nights: Vec<&Night> = nights.iter().filter(|night| counts(night)).collect();
    let mut groups: BTreeMap<&str, Vec<(usize, &NightFailure)>> = BTreeMap::new();
    for (index, night) in nights.iter().enumerate() {
        for failure in &night.failures {
            groups.entry(&failure.signature).or_default().push((index, failure));
        }
    }
    let played: Vec<BTreeSet<Key<'_>>> = nights.iter().map(|night| night.cells.iter().map(key).collect()).collect();
    let mut found: Vec<Recurring> = groups.into_values().filter_map(|seen| of_group(&nights, &played, &seen)).collect();
    found.sort_by(|one, other| {
        let rank = |of: &Recurring| (!of.in_last, std::cmp::Reverse(of.seen), std::cmp::Reverse(of.trials));
        rank(one).cmp(&rank(other)).then_with(|| one.first_seen.cmp(&other.first_seen))
    });
    found
}

/// Since when each failure of a night is seen. `before`: the earliest first.
#[must_use]
pub fn since(before: &[Night], tonight: &Night) -> Vec<FailureSeen> {
    let mut nights: Vec<Night> = before.iter().filter(|night| counts(night)).cloned().collect();
    // A run that was stopped is compared with the nights before too.
    let mut tonight = tonight.clone();
    tonight.run.state = crate::nights::NightRun::WHOLE;
    tonight.run.knows_failures = true;
    let failed: BTreeSet<String> = tonight.failures.iter().map(|failure| failure.signature.clone()).collect();
    // Whether an earlier night could have shown any of it.
    let cells: Vec<BTreeSet<Key<'_>>> = nights.iter().map(|night| night.cells.iter().map(key).collect()).collect();
    let is_known = |failure: &NightFailure| {
        let mut of = failure.cells.iter().filter_map(|place| tonight.cells.get(*place)).map(key);
        of.any(|cell| cells.iter().any(|night| night.contains(&cell)))
    };
    let comparable: BTreeSet<String> =
        tonight.failures.iter().filter(|failure| is_known(failure)).map(|failure| failure.signature.clone()).collect();
    drop(cells);
    nights.push(tonight);
    recurring(&nights)
        .into_iter()
        .filter(|found| failed.contains(&found.signature))
        .filter(|found| found.seen > 1 || comparable.contains(&found.signature))
        .map(|Recurring { signature, first_seen, seen, nights, .. }| FailureSeen {
            is_new: seen == 1,
            signature,
            first_seen,
            seen,
            nights,
        })
        .collect()
}

fn counts(night: &Night) -> bool {
    night.run.is_night() && night.run.knows_failures
}

fn key(cell: &NightCell) -> Key<'_> {
    (&cell.cell, cell.agent.as_str())
}

fn of_group(nights: &[&Night], played: &[BTreeSet<Key<'_>>], seen: &[(usize, &NightFailure)]) -> Option<Recurring> {
    let ((first, _), (last, latest)) = (*seen.first()?, *seen.last()?);
    let mut cells: BTreeMap<Key<'_>, String> = BTreeMap::new();
    for (index, failure) in seen {
        for cell in failure.cells.iter().filter_map(|place| nights[*index].cells.get(*place)) {
            cells.insert(key(cell), cell.name());
        }
    }
    let could = |index: &usize| cells.is_empty() || cells.keys().any(|cell| played[*index].contains(cell));
    let all: BTreeSet<usize> = seen.iter().map(|(index, _)| *index).collect();
    let could_show = (first..nights.len()).filter(|index| all.contains(index) || could(index)).count() as u64;
    let names: BTreeSet<String> = cells.into_values().collect();
    Some(Recurring {
        signature: latest.signature.clone(),
        agent: latest.agent.clone(),
        verdict: latest.verdict,
        place: latest.place.clone(),
        reason: latest.reason.clone(),
        first_seen: nights[first].run.started_at.clone(),
        last_seen: nights[last].run.started_at.clone(),
        seen: all.len() as u64,
        nights: could_show,
        trials: seen.iter().map(|(_, failure)| failure.trials).sum(),
        cases: names.into_iter().collect(),
        in_last: last + 1 == nights.len(),
    })
}

#[cfg(test)]
mod tests {
    use record::summary::RunState;

    use super::*;
    use crate::trends::tests::{cell, night};

    fn failure(signature: &str, trials: u64, cells: &[usize]) -> NightFailure {
        NightFailure {
            signature: signature.to_owned(),
            agent: "bot".to_owned(),
            verdict: Verdict::Fail,
            place: "turn 1".to_owned(),
            reason: format!("{signature}: 1 of {trials}"),
            trials,
            cells: cells.to_vec(),
        }
    }

    fn of(day: u32, scenarios: &[&str], failures: Vec<NightFailure>) -> Night {
        let cells = scenarios.iter().map(|scenario| cell(scenario, 5, 5, "x")).collect();
        let mut night = night(&format!("run-{day}"), RunState::Finished, cells);
        night.run.started_at = format!("2026-03-{day:02}T02:00:00Z");
        night.run.knows_failures = true;
        night.failures = failures;
        night
    }

    #[test]
    fn a_failure_is_seen_in_the_nights_that_could_show_it() {
        let both = ["refund", "hours"];
        let mut old = of(1, &both, Vec::new());
        old.run.knows_failures = false;
        let nights = [
            old,
            of(2, &both, vec![failure("slow", 2, &[0])]),
            of(3, &["hours"], Vec::new()),
            of(4, &both, Vec::new()),
            of(5, &both, vec![failure("slow", 3, &[0]), failure("rude", 1, &[1])]),
        ];
        let found = recurring(&nights);
        let [slow, rude] = found.as_slice() else { panic!("{found:?}") };
        // The night without refund could not show it.
        assert_eq!((slow.seen, slow.nights, slow.trials, slow.in_last), (2, 3, 5, true));
        assert_eq!(
            (slow.first_seen.as_str(), slow.last_seen.as_str()),
            ("2026-03-02T02:00:00Z", "2026-03-05T02:00:00Z")
        );
        assert_eq!((slow.cases.as_slice(), slow.reason.as_str()), (&["refund".to_owned()][..], "slow: 1 of 3"));
        assert_eq!((rude.seen, rude.nights, rude.cases.as_slice()), (1, 1, &["hours".to_owned()][..]));
    }

    #[test]
    fn a_failure_of_tonight_is_new_or_seen_since_a_night() {
        let before = [of(2, &["refund"], vec![failure("slow", 2, &[0])]), of(3, &["refund"], Vec::new())];
        let failures = vec![failure("slow", 1, &[0]), failure("rude", 1, &[0]), failure("lost", 1, &[1])];
        let tonight = of(4, &["refund", "login"], failures);
        let found = since(&before, &tonight);
        let told: Vec<(&str, bool, u64, u64)> =
            found.iter().map(|one| (one.signature.as_str(), one.is_new, one.seen, one.nights)).collect();
        // No earlier night played login, so nothing is known of its failure.
        assert_eq!(told, [("slow", false, 2, 3), ("rude", true, 1, 1)]);
        assert_eq!(since(&[], &tonight), []);
    }
}
