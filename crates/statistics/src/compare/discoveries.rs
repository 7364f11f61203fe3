//! A list of findings with few false ones: Benjamini and Hochberg's procedure.
//!
//! Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995). Of the findings on the list, at most
//! the given share is expected to be false; if nothing changed, at most this chance that the list has an entry.

/// The adjusted chance of each test, in the order given: a test is on the list if its own is at most the allowed share.
#[must_use]
pub fn adjusted(chances: &[f64]) -> Vec<f64> {
    let all = chances.len() as f64;
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut adjusted = vec![1.0; chances.len()];
    let mut least: f64 = 1.0;
    for (rank, index) in order.into_iter().enumerate().rev() {
        least = least.min(chances[index] * all / (rank as f64 + 1.0));
        // Rounding could make it smaller than the chance itself.
        adjusted[index] = least.max(chances[index]);
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::tests::{close, numbers, reference};

    #[test]
    fn adjusted_chances_are_those_of_scipy() {
        for row in reference()["discoveries"].as_array().unwrap() {
            for (found, right) in adjusted(&numbers(&row[0])).into_iter().zip(numbers(&row[1])) {
                close(found, right, 1e-12, row);
            }
        }
        assert!(adjusted(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn adjusting_keeps_the_order_and_never_lowers(chances in proptest::collection::vec(0.0_f64..=1.0, 0..30)) {
            let adjusted = adjusted(&chances);
            for (index, chance) in chances.iter().enumerate() {
                prop_assert!(*chance <= adjusted[index] && adjusted[index] <= 1.0);
                for (other, larger) in chances.iter().enumerate() {
                    prop_assert!(larger < chance || adjusted[index] <= adjusted[other]);
                }
            }
        }
    }
}
