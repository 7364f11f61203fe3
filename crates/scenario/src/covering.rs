//! Covering arrays: few rows that have every combination of values of any `strength` factors.
//!
//! - [`rows`]: of all rows that [`Space`] allows, one after the other as AETG does: several candidates, each begun with a tuple that is
//!   still open and filled value by value with what covers most, and the best candidate becomes a row. D. M. Cohen, S. R. Dalal,
//!   M. L. Fredman and G. C. Patton, "The AETG system: an approach to testing based on combinatorial design", IEEE TSE 23 (1997).
//! - [`among`]: of rows that are listed, always one that covers most.
//!
//! Both are pure: the same sizes give the same rows on every machine.

mod space;
mod tuples;

use std::{cmp::Reverse, collections::BinaryHeap};

pub(crate) use self::space::{Exclusion, Space};
use self::tuples::Tuples;
use crate::draws;

/// The most tuples of values that are looked after.
const MOST_TUPLES: u64 = 20_000_000;
/// Candidates for each row, and the steps that all candidates of a row may take together.
const CANDIDATES: u64 = 24;
const MOST_STEPS: u64 = 4_000_000;

/// Why there is no covering array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("there are more than {MOST_TUPLES} combinations of values to cover")]
    TooManyTuples,
    #[error("what is excluded is too tangled to find combinations that remain")]
    Tangled,
}

/// Rows with a value, from 0, for each factor of the space. Every tuple of values of `strength` factors that an allowed row has is in one
/// of them. Tuples that no allowed row has are left out; without any allowed row, there are none.
pub(crate) fn rows(space: &Space, strength: usize) -> Result<Vec<Vec<usize>>, Fault> {
    let mut open = Tuples::of(space.sizes(), strength, MOST_TUPLES).ok_or(Fault::TooManyTuples)?;
    let candidates = (MOST_STEPS / open.steps().max(1)).clamp(1, CANDIDATES);
    let mut rows = Vec::new();
    while open.left() > 0 {
        let mut best: Option<(u64, Vec<usize>)> = None;
        let sets = open.fullest(candidates as usize);
        for candidate in 0..candidates {
            let set = sets[candidate as usize % sets.len()];
            let Some(seed) = open.first_of(set) else { continue };
            let mut row = space.empty();
            seed.iter().for_each(|(factor, value)| row[*factor] = Some(*value));
            if !space.allows(&mut row)? {
                open.close(set);
                continue;
            }
            let key = draws::key(&[rows.len() as u64, candidate]);
            let row = fill(space, &open, row, key)?;
            let covered = open.covered_by(&row);
            if best.as_ref().is_none_or(|(most, _)| covered > *most) {
                best = Some((covered, row));
            }
        }
        if let Some((_, row)) = best {
            open.cover(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Gives each factor without a value the one that covers most with the values there are; among equals chance decides.
fn fill(space: &Space, open: &Tuples, mut row: Vec<Option<usize>>, key: u64) -> Result<Vec<usize>, Fault> {
    let mut left: Vec<usize> = (0..row.len()).filter(|factor| row[*factor].is_none()).collect();
    left.sort_by_key(|factor| draws::key(&[key, *factor as u64]));
    for factor in left {
        let mut values: Vec<usize> = (0..space.sizes()[factor]).collect();
        values.sort_by_cached_key(|value| {
            let luck = draws::key(&[key, factor as u64, *value as u64]);
            (Reverse(open.gained(&row, factor, *value)), luck)
        });
        let mut chosen = None;
        for value in values {
            row[factor] = Some(value);
            if space.allows(&mut row)? {
                chosen = Some(value);
                break;
            }
        }
        row[factor] = chosen;
    }
    // A row that is allowed so far can always be filled, so each factor has a value.
    Ok(row.into_iter().map(Option::unwrap_or_default).collect())
}

/// The places of the listed rows that together have every tuple of values of `strength` factors of the list.
pub(crate) fn among(sizes: &[usize], listed: &[Vec<usize>], strength: usize) -> Result<Vec<usize>, Fault> {
    let mut open = Tuples::of(sizes, strength, MOST_TUPLES).ok_or(Fault::TooManyTuples)?;
    open.only(listed);
    // What a row would cover only falls, so that of the row at the top is right or too high.
    let mut heap: BinaryHeap<(u64, Reverse<usize>)> =
        listed.iter().enumerate().map(|(place, row)| (open.covered_by(row), Reverse(place))).collect();
    let mut chosen = Vec::new();
    while open.left() > 0 {
        let Some((before, Reverse(place))) = heap.pop() else { break };
        let covered = open.covered_by(&listed[place]);
        if covered < before {
            heap.push((covered, Reverse(place)));
        } else {
            open.cover(&listed[place]);
            chosen.push(place);
        }
    }
    chosen.sort_unstable();
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn sizes_of(sizes: &[usize], strength: usize) -> usize {
        let space = Space::new(sizes.to_vec(), Vec::new());
        let found = rows(&space, strength).unwrap();
        let covered: BTreeSet<_> = found.iter().flat_map(|row| tuples(row, strength)).collect();
        assert_eq!(covered.len(), number_of_tuples(sizes, strength.min(sizes.len())));
        found.len()
    }

    /// The sum of the products of any so many sizes.
    fn number_of_tuples(sizes: &[usize], strength: usize) -> usize {
        match (strength, sizes.split_first()) {
            (0, _) => 1,
            (_, None) => 0,
            (_, Some((first, rest))) => first * number_of_tuples(rest, strength - 1) + number_of_tuples(rest, strength),
        }
    }

    /// Every row of the product that no exclusion has.
    fn product(sizes: &[usize], excluded: &[Exclusion]) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for size in sizes {
            all = all
                .into_iter()
                .flat_map(|row: Vec<usize>| (0..*size).map(move |value| [row.clone(), vec![value]].concat()))
                .collect();
        }
        all.retain(|row| !excluded.iter().any(|list| list.iter().all(|(factor, values)| values[row[*factor]])));
        all
    }

    fn tuples(row: &[usize], strength: usize) -> BTreeSet<Vec<(usize, usize)>> {
        let mut all: BTreeSet<Vec<(usize, usize)>> = [Vec::new()].into();
        for (factor, value) in row.iter().enumerate() {
            let longer: Vec<_> = all.iter().map(|tuple| [tuple.clone(), vec![(factor, *value)]].concat()).collect();
            all.extend(longer.into_iter().filter(|tuple| tuple.len() <= strength));
        }
        all.retain(|tuple| tuple.len() == strength.min(row.len()));
        all
    }

    /// How many tuples of allowed rows are in none of the rows.
    fn missing(sizes: &[usize], excluded: &[Exclusion], strength: usize, rows: &[Vec<usize>]) -> usize {
        let all = |rows: &[Vec<usize>]| -> BTreeSet<_> { rows.iter().flat_map(|row| tuples(row, strength)).collect() };
        all(&product(sizes, excluded)).difference(&all(rows)).count()
    }

    /// The least sizes of https://math.nist.gov/coveringarrays are 9, 6, 25, 18 and 8; without a search, a few more are usual.
    #[test]
    fn known_arrays_are_nearly_as_small() {
        assert!((9..=11).contains(&sizes_of(&[3; 4], 2)), "3^4: {}", sizes_of(&[3; 4], 2));
        assert!((6..=10).contains(&sizes_of(&[2; 10], 2)), "2^10: {}", sizes_of(&[2; 10], 2));
        assert!((25..=33).contains(&sizes_of(&[5; 4], 2)), "5^4: {}", sizes_of(&[5; 4], 2));
        assert!((15..=22).contains(&sizes_of(&[3; 13], 2)), "3^13: {}", sizes_of(&[3; 13], 2));
        assert!((8..=10).contains(&sizes_of(&[2; 4], 3)), "2^4, t = 3: {}", sizes_of(&[2; 4], 3));
        assert_eq!(sizes_of(&[7, 3, 1], 1), 7);
        assert_eq!(sizes_of(&[40, 3, 5], 2), 200, "at least the product of the two largest");
        assert_eq!((sizes_of(&[4], 2), sizes_of(&[1, 1], 3), sizes_of(&[], 2)), (4, 1, 1));
    }

    #[test]
    fn thousands_of_rows_of_data_take_a_moment() {
        assert_eq!(sizes_of(&[3, 2_000, 2], 2), 6_000);
    }

    fn any_exclusions(sizes: Vec<usize>) -> impl Strategy<Value = (Vec<usize>, Vec<Exclusion>)> {
        let factors = sizes.len();
        let one = proptest::collection::vec((0..factors, proptest::collection::vec(any::<bool>(), 4)), 1..3);
        let sizes_too = Just(sizes);
        (sizes_too, proptest::collection::vec(one, 0..4)).prop_map(|(sizes, lists)| {
            let cut = |(factor, values): (usize, Vec<bool>)| (factor, values[..sizes[factor]].to_vec());
            let lists = lists.into_iter().map(|list| list.into_iter().map(cut).collect()).collect();
            (sizes, lists)
        })
    }

    proptest! {
        #[test]
        fn every_tuple_that_is_allowed_is_covered_with_no_more_rows_than_all(
            (sizes, excluded) in proptest::collection::vec(1_usize..5, 1..6).prop_flat_map(any_exclusions),
            strength in 1_usize..4,
        ) {
            let all = product(&sizes, &excluded);
            let found = rows(&Space::new(sizes.clone(), excluded.clone()), strength).unwrap();
            let set: BTreeSet<&Vec<usize>> = found.iter().collect();
            prop_assert_eq!(set.len(), found.len(), "no row twice");
            prop_assert!(found.iter().all(|row| all.contains(row)), "only allowed rows");
            prop_assert_eq!(missing(&sizes, &excluded, strength, &found), 0);
            let chosen = among(&sizes, &all, strength).unwrap();
            let listed: Vec<Vec<usize>> = chosen.iter().map(|place| all[*place].clone()).collect();
            prop_assert_eq!(missing(&sizes, &excluded, strength, &listed), 0);
            prop_assert!(chosen.len() <= all.len());
        }
    }
}
