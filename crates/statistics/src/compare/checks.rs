//! The checks with a name, each over the cells that both runs have.
//!
//! The unit is the trial: a check that is applied in several turns of a conversation finds one thing about it, because turns
//! of one conversation belong together.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    cells::{Cells, FALSE_SHARE, Pair},
    discoveries::adjusted,
    found::{CheckFound, CheckOutcome, SideFound},
    played::PlayedCell,
    rate::{self, Stratum},
    stratified::{Stratified, stratified},
};

/// In alphabetical order.
pub(super) fn of(cells: &Cells<'_>) -> Vec<CheckFound> {
    let sides = cells.pairs.iter().flat_map(|pair| pair.base.into_iter().chain(pair.new));
    let names: BTreeSet<&str> =
        sides.flat_map(|cell| &cell.trials).flat_map(|trial| trial.checks.keys()).map(String::as_str).collect();
    let checks: Vec<Check<'_>> = names.into_iter().map(|name| Check::of(name, cells)).collect();
    let tests: Vec<Option<Stratified>> = checks.iter().map(Check::test).collect();
    let chances: Vec<f64> = tests.iter().flatten().map(|test| test.chance).collect();
    let mut adjusted = adjusted(&chances).into_iter();
    let tested = tests.into_iter().map(|test| test.and_then(|test| Some((test, adjusted.next()?))));
    checks.iter().zip(tested).map(|(check, test)| check.found(test)).collect()
}

/// One name: its counts in each run, and the cells in which both runs have it.
struct Check<'a> {
    name: &'a str,
    base: Option<SideFound>,
    new: Option<SideFound>,
    strata: Vec<Stratum>,
}

impl<'a> Check<'a> {
    fn of(name: &'a str, cells: &Cells<'_>) -> Self {
        let mut check = Self { name, base: None, new: None, strata: Vec::new() };
        for pair in &cells.pairs {
            let [base, new] = [pair.base, pair.new].map(|side| side.and_then(|cell| Side::of(name, cell)));
            if let (Some(base), Some(new)) = (&base, &new) {
                check.strata.push(stratum(pair, base, new));
            }
            for (all, side) in [(&mut check.base, base), (&mut check.new, new)] {
                let Some(side) = side else { continue };
                let all = all.get_or_insert_default();
                all.pass += side.pass();
                all.fail += side.decided() - side.pass();
                all.undecided += side.undecided();
            }
        }
        check
    }

    /// Trials without a result count against the finding, so that it holds whatever they would have said.
    fn test(&self) -> Option<Stratified> {
        let found = stratified(&self.strata)?;
        if self.strata.iter().all(|stratum| stratum.undecided_base + stratum.undecided_new == 0) {
            return Some(found);
        }
        let imputed = |of: fn(&Stratum) -> Stratum| stratified(&self.strata.iter().map(of).collect::<Vec<_>>());
        let against =
            imputed(if found.base == Ordering::Greater { Stratum::best_of_new } else { Stratum::worst_of_new })?;
        // If they turn the finding round, it says nothing.
        let chance = if against.base == found.base { found.chance.max(against.chance) } else { 1.0 };
        Some(Stratified { chance, ..found })
    }

    fn found(&self, tested: Option<(Stratified, f64)>) -> CheckFound {
        let rate = rate::difference(&self.strata);
        let difference = rate.as_ref().map(|rate| rate.difference);
        let outcome = match (self.base, self.new, tested) {
            (None, _, _) => CheckOutcome::New,
            (_, None, _) => CheckOutcome::Gone,
            (Some(_), Some(_), None) => CheckOutcome::Undecided,
            (Some(_), Some(_), Some((test, adjusted))) => {
                let by = difference.filter(|_| adjusted <= FALSE_SHARE).unwrap_or(0.0);
                match test.base {
                    Ordering::Greater if by < 0.0 => CheckOutcome::Worse,
                    Ordering::Less if by > 0.0 => CheckOutcome::Better,
                    _ => CheckOutcome::Same,
                }
            }
        };
        CheckFound {
            name: self.name.to_owned(),
            cells: self.strata.len() as u64,
            base: self.base,
            new: self.new,
            outcome,
            base_rate: rate.as_ref().map(|rate| rate.base),
            new_rate: rate.as_ref().map(|rate| rate.new),
            difference,
            low: rate.as_ref().map(|rate| rate.low),
            high: rate.as_ref().map(|rate| rate.high),
            chance: tested.map(|(test, _)| test.chance),
            adjusted: tested.map(|(_, adjusted)| adjusted),
        }
    }
}

/// What a check found in the trials of a cell: by seed, `None` without a result.
struct Side(BTreeMap<u64, Option<bool>>);

impl Side {
    /// `None` if the check applied to none of the trials.
    fn of(name: &str, cell: &PlayedCell) -> Option<Self> {
        let found: BTreeMap<u64, Option<bool>> =
            cell.trials.iter().filter_map(|trial| Some((trial.seed, *trial.checks.get(name)?))).collect();
        (!found.is_empty()).then_some(Self(found))
    }

    fn pass(&self) -> u64 {
        self.0.values().filter(|found| **found == Some(true)).count() as u64
    }

    fn decided(&self) -> u64 {
        self.0.values().flatten().count() as u64
    }

    fn undecided(&self) -> u64 {
        self.0.len() as u64 - self.decided()
    }
}

fn stratum(pair: &Pair<'_>, base: &Side, new: &Side) -> Stratum {
    let is_paired = base.undecided() + new.undecided() == 0 && base.0.keys().eq(new.0.keys());
    let changed = |from: &Side, to: &Side| {
        let fell = from.0.iter().filter(|(seed, found)| **found == Some(true) && to.0.get(seed) == Some(&Some(false)));
        fell.count() as u64
    };
    Stratum {
        scenario: pair.scenario,
        base_pass: base.pass(),
        base_trials: base.decided(),
        new_pass: new.pass(),
        new_trials: new.decided(),
        undecided_base: base.undecided(),
        undecided_new: new.undecided(),
        pairs: is_paired.then(|| (changed(base, new), changed(new, base))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{
        compare,
        found::{CompareVerdict, Comparison},
        played::{CellName, Played, PlayedTrial},
    };

    /// A run of cells `(scenario, findings by name)`: `.` passes, `x` fails, `?` has no result, a space does not apply.
    fn run(id: &str, seed: u64, cells: &[(&str, &[(&str, &str)])]) -> Played {
        let mut played = Played::empty(id, seed);
        for (index, (scenario, checks)) in cells.iter().enumerate() {
            let trials = checks.iter().map(|(_, found)| found.len()).max().unwrap_or(0);
            let trial = |repeat: usize| PlayedTrial {
                repeat: repeat as u32,
                seed: seed * 1_000_000 + index as u64 * 1_000 + repeat as u64,
                passed: Some(true),
                checks: checks
                    .iter()
                    .filter_map(|(name, found)| {
                        let found = match found.chars().nth(repeat)? {
                            '.' => Some(true),
                            'x' => Some(false),
                            '?' => None,
                            _ => return None,
                        };
                        Some(((*name).to_owned(), found))
                    })
                    .collect(),
                ..PlayedTrial::default()
            };
            played.cells.push(PlayedCell {
                cell: CellName { scenario: (*scenario).to_owned(), parameters: Vec::new(), persona: None },
                agent: id.to_owned(),
                title: (*scenario).to_owned(),
                variant: None,
                tags: Vec::new(),
                planned: trials as u64,
                quarantined: false,
                trials: (0..trials).map(trial).collect(),
            });
        }
        played
    }

    fn named<'a>(found: &'a Comparison, name: &str) -> &'a CheckFound {
        found.checks.iter().find(|check| check.name == name).unwrap()
    }

    #[test]
    fn a_named_check_falls_over_cells_that_alone_say_nothing() {
        let base: &[(&str, &[(&str, &str)])] = &[
            ("refund", &[("polite", "....."), ("brief", "..x.."), ("old", ".")]),
            ("returns", &[("polite", "....."), ("brief", ".x...")]),
            ("invoice", &[("polite", "....x"), ("brief", "....."), ("open", "??")]),
        ];
        let new: &[(&str, &[(&str, &str)])] = &[
            ("refund", &[("polite", "xxx.x"), ("brief", "...x.")]),
            ("returns", &[("polite", "x.xxx"), ("brief", "....x")]),
            ("invoice", &[("polite", "xxxx."), ("brief", "....."), ("open", ".."), ("young", "x")]),
        ];
        let found = compare(&run("a", 1, base), &run("b", 2, new), 0.03);
        let outcomes: Vec<(&str, CheckOutcome)> =
            found.checks.iter().map(|check| (check.name.as_str(), check.outcome)).collect();
        use CheckOutcome::{Gone, New, Same, Undecided, Worse};
        assert_eq!(outcomes, [("brief", Same), ("old", Gone), ("open", Undecided), ("polite", Worse), ("young", New)]);
        let polite = named(&found, "polite");
        assert_eq!((polite.cells, polite.base.unwrap().pass, polite.new.unwrap().fail), (3, 14, 12));
        assert!(polite.chance < Some(0.001) && polite.adjusted >= polite.chance, "{polite:?}");
        assert!((polite.difference.unwrap() + 11.0 / 15.0).abs() < 1e-9, "{polite:?}");
        assert!(found.verdict != CompareVerdict::Worse, "named checks decide no verdict");

        let back = compare(&run("b", 2, new), &run("a", 1, base), 0.03);
        assert_eq!(named(&back, "polite").outcome, CheckOutcome::Better);
        assert!((named(&back, "polite").chance.unwrap() - polite.chance.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn equal_seeds_are_pairs_and_missing_results_must_not_decide() {
        let before: &[(&str, &str)] = &[("polite", "..........")];
        let after: &[(&str, &str)] = &[("polite", "xxxxxxxxxx")];
        let found = |base: &[(&str, &str)], new: &[(&str, &str)], seed| {
            let found = compare(&run("a", 1, &[("refund", base)]), &run("b", seed, &[("refund", new)]), 0.03);
            named(&found, "polite").clone()
        };
        let (paired, apart) = (found(before, after, 1), found(before, after, 2));
        assert!((paired.chance.unwrap() - 2.0 / 1024.0).abs() < 1e-12, "the sign test of 10 pairs: {paired:?}");
        assert!((apart.chance.unwrap() - 2.0 / 184_756.0).abs() < 1e-12, "Fisher's test of 20 trials: {apart:?}");
        // 10 more that were not judged could all have passed in NEW.
        let open = found(before, &[("polite", "xxxxx????????????????????")], 2);
        assert_eq!((open.outcome, open.new.unwrap().undecided), (CheckOutcome::Same, 20));
        assert!(open.chance.unwrap() > 0.05, "{open:?}");
        // A conversation to which the check does not apply says nothing.
        assert_eq!(found(before, &[("polite", "xxxxxxxxxx     ")], 2).chance, apart.chance);
    }
}
