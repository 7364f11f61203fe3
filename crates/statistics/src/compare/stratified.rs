//! One exact test of a rate over many cells: as Fisher's test and the sign test, conditional on the margins of every cell.
//!
//! N. Mantel and W. Haenszel, "Statistical aspects of the analysis of data from retrospective studies of disease", JNCI 22
//! (1959), with the exact distribution of their sum, as `mantelhaen.test(exact = TRUE)` of R. Cells of one run are never
//! mixed with other cells of the other, so a change of the mix is no finding.

use std::cmp::Ordering;

use statrs::function::factorial::ln_factorial;

use super::rate::Stratum;

/// Sums that are as likely as the found one, but for rounding, count as such.
const ALIKE: f64 = 1.0 + 1e-7;
/// Ends of the distribution that no figure shows: without them, it stays short over many cells.
const NEGLIGIBLE: f64 = 1e-40;

/// What the sum of the passes of BASE says, if every cell passes as often in both runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stratified {
    /// The chance of a sum as unlikely, two-sided by the likelihood of sums.
    pub chance: f64,
    /// BASE's passes against what is expected of it.
    pub base: Ordering,
}

/// `None` if no cell has a result on both sides.
#[must_use]
pub fn stratified(strata: &[Stratum]) -> Option<Stratified> {
    let mut all = Likelihoods { first: 0, of: vec![1.0] };
    let (mut found, mut expected, mut compared) = (0, 0.0, false);
    for stratum in strata.iter().filter(|stratum| stratum.base_trials > 0 && stratum.new_trials > 0) {
        compared = true;
        let (passes, cell) = match stratum.pairs {
            Some((fell, rose)) => (fell, Likelihoods::of_pairs(fell + rose)),
            None => (stratum.base_pass, Likelihoods::of_passes(stratum)),
        };
        found += passes;
        expected += cell.mean();
        all = all.with(&cell);
    }
    compared.then(|| Stratified { chance: all.chance(found), base: side(found as f64 - expected) })
}

fn side(above: f64) -> Ordering {
    if above.abs() < 1e-9 { Ordering::Equal } else { above.total_cmp(&0.0) }
}

/// The likelihoods of the whole numbers from `first` on.
#[derive(Debug)]
struct Likelihoods {
    first: u64,
    of: Vec<f64>,
}

impl Likelihoods {
    /// Of the pairs that changed, how many fell.
    fn of_pairs(changed: u64) -> Self {
        let all = -(changed as f64) * std::f64::consts::LN_2;
        Self { first: 0, of: (0..=changed).map(|fell| (ln_choose(changed, fell) + all).exp()).collect() }
    }

    /// Of the trials that passed, how many are BASE's.
    fn of_passes(stratum: &Stratum) -> Self {
        let Stratum { base_trials, new_trials, .. } = *stratum;
        let pass = stratum.base_pass + stratum.new_pass;
        let all = ln_choose(base_trials + new_trials, pass);
        let likelihood = |base: u64| (ln_choose(base_trials, base) + ln_choose(new_trials, pass - base) - all).exp();
        let first = pass.saturating_sub(new_trials);
        Self { first, of: (first..=pass.min(base_trials)).map(likelihood).collect() }
    }

    fn mean(&self) -> f64 {
        (self.first..).zip(&self.of).map(|(number, likelihood)| number as f64 * likelihood).sum()
    }

    /// Of the sum of both.
    fn with(&self, other: &Self) -> Self {
        let mut of = vec![0.0; self.of.len() + other.of.len() - 1];
        for (at, one) in self.of.iter().enumerate() {
            for (sum, another) in of[at..].iter_mut().zip(&other.of) {
                *sum += one * another;
            }
        }
        let first = self.first + other.first;
        let is_shown = |likelihood: &f64| *likelihood > NEGLIGIBLE;
        let start = of.iter().position(is_shown).unwrap_or(0);
        let end = of.iter().rposition(is_shown).map_or(of.len(), |last| last + 1);
        Self { first: first + start as u64, of: of[start..end].to_vec() }
    }

    fn chance(&self, found: u64) -> f64 {
        let at = found.checked_sub(self.first).and_then(|at| self.of.get(usize::try_from(at).ok()?));
        let found = at.copied().unwrap_or(0.0) * ALIKE;
        self.of.iter().filter(|one| **one <= found).sum::<f64>().min(1.0)
    }
}

fn ln_choose(n: u64, k: u64) -> f64 {
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        compare::exact::{fisher, sign_test},
        reference::{number, rows, whole},
    };

    fn cell(base: (u64, u64), new: (u64, u64)) -> Stratum {
        Stratum { base_pass: base.0, base_trials: base.1, new_pass: new.0, new_trials: new.1, ..Stratum::default() }
    }

    /// The rabbits of R's `mantelhaen.test`: S = 16, p-value = 0.03994.
    #[test]
    fn the_chance_is_that_of_r() {
        let rabbits = [
            cell((0, 6), (0, 5)),
            cell((3, 6), (0, 6)),
            cell((6, 6), (2, 6)),
            cell((5, 6), (6, 6)),
            cell((2, 2), (5, 5)),
        ];
        let found = stratified(&rabbits).unwrap();
        assert!((found.chance - 0.039_944_903_581_267).abs() < 1e-12 && found.base == Ordering::Greater, "{found:?}");
    }

    #[test]
    fn the_chance_is_that_of_scipy() {
        for row in rows("stratified") {
            let cells = row[0].as_array().unwrap().iter().map(|of| {
                let [base, n, new, m] = [0, 1, 2, 3].map(|place| whole(&of[place]));
                cell((base, n), (new, m))
            });
            let found = stratified(&cells.collect::<Vec<_>>()).unwrap();
            assert!((found.chance - number(&row[1])).abs() < 1e-9, "{row}: {found:?}");
        }
    }

    #[test]
    fn a_change_of_the_mix_is_no_finding() {
        // BASE asks the easy question more often, NEW the hard one. Pooled, BASE would look better.
        let mixed = [cell((90, 100), (9, 10)), cell((1, 10), (10, 100))];
        assert!(stratified(&mixed).unwrap().chance > 0.9);
        assert!(fisher(91, 110, 19, 110) < 1e-9);
    }

    #[test]
    fn many_cells_are_tested_in_a_moment_and_none_says_nothing() {
        assert_eq!(stratified(&[cell((0, 0), (3, 5))]), None);
        let worse = vec![cell((9, 10), (8, 10)); 5_000];
        let found = stratified(&worse).unwrap();
        assert!(found.chance < 1e-30 && found.base == Ordering::Greater, "{found:?}");
        let same = vec![cell((9, 10), (9, 10)); 5_000];
        let found = stratified(&same).unwrap();
        assert!(found.chance > 1.0 - 1e-6 && found.base == Ordering::Equal, "{found:?}");
    }

    proptest! {
        #[test]
        fn one_cell_has_the_chance_of_its_own_test(a in 0_u64..30, b in 1_u64..30, c in 0_u64..30, d in 1_u64..30) {
            let alone = cell((a, a + b), (c, c + d));
            let chance = |of: Stratum| stratified(&[of]).unwrap().chance;
            prop_assert!((chance(alone) - fisher(a, a + b, c, c + d)).abs() < 1e-9);
            let paired = Stratum { pairs: Some((a, c)), ..cell((a, a + c + 1), (c, a + c + 1)) };
            prop_assert!((chance(paired) - sign_test(a, c)).abs() < 1e-9);
        }

        #[test]
        fn the_chance_is_that_of_all_tables(cells in proptest::collection::vec((0_u64..5, 0_u64..5, 0_u64..5, 0_u64..5), 1..4)) {
            let strata: Vec<Stratum> = cells.iter().map(|(a, b, c, d)| cell((*a, a + b + 1), (*c, c + d + 1))).collect();
            // Every table of every cell, with its likelihood.
            let mut tables = vec![(0_u64, 1.0_f64)];
            for at in &strata {
                let pass = at.base_pass + at.new_pass;
                let choose = |n: u64, k: u64| (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>();
                let of_cell: Vec<(u64, f64)> = (0..=pass)
                    .filter(|base| *base <= at.base_trials && pass - base <= at.new_trials)
                    .map(|base| (base, choose(at.base_trials, base) * choose(at.new_trials, pass - base)
                        / choose(at.base_trials + at.new_trials, pass)))
                    .collect();
                tables = tables.iter().flat_map(|(sum, likely)| of_cell.iter().map(move |(base, one)| (sum + base, likely * one))).collect();
            }
            let likelihood = |sum: u64| tables.iter().filter(|(of, _)| *of == sum).map(|(_, one)| one).sum::<f64>();
            let found = likelihood(strata.iter().map(|at| at.base_pass).sum());
            let most = strata.iter().map(|at| at.base_trials).sum::<u64>();
            let right: f64 = (0..=most).map(likelihood).filter(|one| *one <= found * (1.0 + 1e-6)).sum();
            prop_assert!((stratified(&strata).unwrap().chance - right.min(1.0)).abs() < 1e-6);
        }
    }
}
