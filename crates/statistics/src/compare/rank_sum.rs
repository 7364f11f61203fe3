//! Whether the values of one side are larger: the rank-sum test of Wilcoxon, and of Mann and Whitney.
//!
//! Exact, with ties, up to [`MOST_EXACT`] values; with more values by the normal approximation with ties. H. B. Mann and
//! D. R. Whitney, "On a test of whether one of two random variables is stochastically larger", AMS 18 (1947).

use statrs::function::erf::erfc;

/// The most values of both sides whose ways to split are counted.
pub const MOST_EXACT: usize = 30;

/// The chance, two-sided, that a split of these values by chance gives one side ranks as large. Infinite values are
/// the largest, and equal to each other.
#[must_use]
pub fn rank_sum(base: &[f64], new: &[f64]) -> f64 {
    if base.is_empty() || new.is_empty() {
        return 1.0;
    }
    let mut values: Vec<(f64, bool)> =
        base.iter().map(|value| (*value, false)).chain(new.iter().map(|value| (*value, true))).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut doubled = Vec::with_capacity(values.len());
    let (mut found, mut ties) = (0_usize, 0.0);
    for tied in values.chunk_by(|a, b| a.0 == b.0) {
        // Twice the mean rank of equal values is a whole number.
        let rank = 2 * doubled.len() + tied.len() + 1;
        found += tied.iter().filter(|(_, is_new)| *is_new).count() * rank;
        ties += (tied.len() as f64).powi(3) - tied.len() as f64;
        doubled.extend(std::iter::repeat_n(rank, tied.len()));
    }
    if doubled.len() <= MOST_EXACT {
        exact(&doubled, new.len(), found)
    } else {
        normal(base.len(), new.len(), found, ties)
    }
}

/// Counts the subsets of `size` ranks whose sum is at least as far from its mean.
fn exact(doubled: &[usize], size: usize, found: usize) -> f64 {
    let most: usize = doubled.iter().sum();
    let mut ways = vec![vec![0.0_f64; most + 1]; size + 1];
    ways[0][0] = 1.0;
    for rank in doubled {
        for taken in (1..=size).rev() {
            let (fewer, more) = ways.split_at_mut(taken);
            for sum in *rank..=most {
                more[0][sum] += fewer[taken - 1][sum - rank];
            }
        }
    }
    let (all, values) = (ways[size].iter().sum::<f64>(), doubled.len());
    // The mean of the sum is size × most / values; both sides of the comparison are whole numbers.
    let far = |sum: usize| (sum * values).abs_diff(size * most);
    let as_far: f64 =
        ways[size].iter().enumerate().filter(|(sum, _)| far(*sum) >= far(found)).map(|(_, ways)| ways).sum();
    (as_far / all).min(1.0)
}

/// With the correction for continuity.
fn normal(base: usize, new: usize, found: usize, ties: f64) -> f64 {
    let (base, new) = (base as f64, new as f64);
    let all = base + new;
    let above = found as f64 / 2.0 - new * (all + 1.0) / 2.0;
    let variance = base * new / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (above.abs() - 0.5).max(0.0) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::tests::{close, numbers, reference};

    #[test]
    fn the_test_gives_the_values_of_scipy() {
        for row in reference()["rank_sum"].as_array().unwrap() {
            close(rank_sum(&numbers(&row[0]), &numbers(&row[1])), row[2].as_f64().unwrap(), 1e-9, row);
        }
    }

    #[test]
    fn a_side_without_values_or_with_equal_ones_shows_nothing() {
        assert_eq!(
            (rank_sum(&[], &[1.0]), rank_sum(&[1.0; 4], &[1.0; 4]), rank_sum(&[1.0; 30], &[1.0; 30])),
            (1.0, 1.0, 1.0)
        );
        let (few, silent) = ([1.0, 2.0, 3.0, 4.0], [f64::INFINITY; 4]);
        assert!((rank_sum(&few, &silent) - 2.0 / 70.0).abs() < 1e-12, "no answer is slower than any answer");
    }

    proptest! {
        #[test]
        fn exchanged_sides_give_the_same_chance(base in proptest::collection::vec(0_u8..9, 1..30), new in proptest::collection::vec(0_u8..9, 1..30)) {
            let of = |values: &[u8]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
            let (base, new) = (of(&base), of(&new));
            let chance = rank_sum(&base, &new);
            prop_assert!((0.0..=1.0).contains(&chance));
            prop_assert!((chance - rank_sum(&new, &base)).abs() < 1e-9);
        }
    }
}
