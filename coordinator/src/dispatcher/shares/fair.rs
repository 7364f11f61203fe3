//! Weighted max-min fairness: nobody gets less than a fair part unless it wants less, and nothing that somebody wants is left
//! over.

/// One who shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Want {
    /// Never 0.
    pub(super) weight: u64,
    pub(super) amount: u64,
}

/// Divides `total`. What all wants together leave over is divided by weight too, so that a want that grows is met at once. The
/// sum is `total`, or 0 without anybody.
pub(super) fn divide(total: u64, wants: &[Want]) -> Vec<u64> {
    let mut parts = vec![0; wants.len()];
    let mut open: Vec<usize> = (0..wants.len()).collect();
    let mut left = total;
    loop {
        let weights: u128 = open.iter().map(|index| u128::from(wants[*index].weight)).sum();
        // Who wants less than a fair part of what is left gets that, and leaves the rest to the others.
        let is_met = |index: &usize| {
            u128::from(wants[*index].amount) * weights <= u128::from(left) * u128::from(wants[*index].weight)
        };
        let (met, unmet): (Vec<usize>, Vec<usize>) = open.iter().partition(|index| is_met(index));
        if met.is_empty() || unmet.is_empty() {
            break;
        }
        for index in met {
            parts[index] = wants[index].amount;
            left -= parts[index];
        }
        open = unmet;
    }
    // Either nobody here can have all that it wants, or everybody can: then the rest comes on top.
    let on_top = open.iter().map(|index| wants[*index].amount).fold(0, u64::saturating_add);
    if on_top <= left {
        for index in &open {
            parts[*index] = wants[*index].amount;
        }
        left -= on_top;
    }
    add_by_weight(left, wants, &open, &mut parts);
    parts
}

/// Adds `amount` to the parts of `open`, by weight. Units that cannot be divided go to the largest fractions.
fn add_by_weight(amount: u64, wants: &[Want], open: &[usize], parts: &mut [u64]) {
    let weights: u128 = open.iter().map(|index| u128::from(wants[*index].weight)).sum();
    if weights == 0 {
        return;
    }
    let exact = |index: &usize| u128::from(amount) * u128::from(wants[*index].weight);
    let mut rest = amount;
    for index in open {
        let whole = u64::try_from(exact(index) / weights).unwrap_or(u64::MAX);
        parts[*index] += whole;
        rest -= whole;
    }
    let mut by_fraction: Vec<usize> = open.to_vec();
    by_fraction.sort_by_key(|index| std::cmp::Reverse(exact(index) % weights));
    for index in by_fraction.into_iter().take(usize::try_from(rest).unwrap_or(usize::MAX)) {
        parts[index] += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn divided(total: u64, wants: &[(u64, u64)]) -> Vec<u64> {
        let wants: Vec<Want> = wants.iter().map(|(weight, amount)| Want { weight: *weight, amount: *amount }).collect();
        divide(total, &wants)
    }

    #[test]
    fn who_wants_little_lends_the_rest() {
        assert_eq!(divided(100, &[]), [0; 0]);
        assert_eq!(divided(100, &[(1, 5)]), [100], "the rest comes on top");
        assert_eq!(divided(100, &[(1, 500), (1, 500)]), [50, 50]);
        assert_eq!(divided(100, &[(1, 500), (3, 500)]), [25, 75]);
        assert_eq!(divided(100, &[(1, 10), (1, 500)]), [10, 90]);
        assert_eq!(divided(100, &[(1, 10), (1, 40), (2, 500)]), [10, 30, 60]);
        assert_eq!(divided(100, &[(1, 10), (1, 20)]), [45, 55], "the rest is divided by weight");
        assert_eq!(divided(10, &[(1, 9), (1, 9), (1, 9)]), [4, 3, 3]);
        assert_eq!(divided(2, &[(1, 9), (1, 9), (1, 9)]), [1, 1, 0]);
        assert_eq!(divided(0, &[(1, 9), (1, 0)]), [0, 0]);
    }

    proptest! {
        #[test]
        fn it_is_max_min_fair(total in 0_u64..10_000, wants in prop::collection::vec((1_u64..50, 0_u64..3_000), 1..20)) {
            let parts = divided(total, &wants);
            prop_assert_eq!(parts.iter().sum::<u64>(), total);
            let is_enough = wants.iter().map(|(_, amount)| amount).sum::<u64>() <= total;
            for ((weight, amount), part) in wants.iter().zip(&parts) {
                if is_enough {
                    prop_assert!(part >= amount);
                    continue;
                }
                prop_assert!(part <= amount, "{:?}", parts);
                // Nobody who got more than this one, weight for weight, could give it something.
                let is_short = part < amount;
                for ((other_weight, _), other) in wants.iter().zip(&parts).filter(|_| is_short) {
                    let (own, others) = (*part as f64 / *weight as f64, *other as f64 / *other_weight as f64);
                    prop_assert!(others <= own + 2.0, "{:?} of {:?}", parts, wants);
                }
            }
        }
    }
}
