//! How many draws of each layer the same money buys best.
//!
//! With nested layers of variances `v₁, v₂, …` and costs `c₁, c₂, …` a draw, the mean has the least variance for its cost if each draw of
//! one layer has `√(vᵢ₊₁ / vᵢ · cᵢ / cᵢ₊₁)` draws of the next. W. G. Cochran, "Sampling techniques" (1977), 10.6.

/// A layer, the outer ones first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    pub variance: f64,
    /// Of one more draw, without the draws within it.
    pub cost: f64,
}

/// How many draws each draw of the layer around it deserves, the outermost left out; at least 1 and at most `most`.
///
/// A layer without variance deserves no draw of its own: all are for the layer within it.
#[must_use]
pub fn draws(levels: &[Level], most: f64) -> Vec<f64> {
    let one = |pair: &[Level]| {
        let [outer, inner] = [pair[0], pair[1]];
        if inner.variance <= 0.0 || outer.cost <= 0.0 {
            return 1.0;
        }
        if outer.variance <= 0.0 || inner.cost <= 0.0 {
            return most;
        }
        (inner.variance / outer.variance * outer.cost / inner.cost).sqrt().clamp(1.0, most)
    };
    levels.windows(2).map(one).collect()
}

/// The variance of the mean of `outer` draws, each with so many draws of the next layers within it.
#[must_use]
pub fn variance(levels: &[Level], outer: f64, within: &[f64]) -> f64 {
    let mut draws = outer;
    let counts = std::iter::once(1.0).chain(within.iter().copied());
    levels.iter().zip(counts).fold(0.0, |sum, (level, count)| {
        draws *= count;
        sum + level.variance / draws
    })
}

/// What one outermost draw costs, with all draws within it.
#[must_use]
pub fn cost(levels: &[Level], within: &[f64]) -> f64 {
    let mut draws = 1.0;
    let counts = std::iter::once(1.0).chain(within.iter().copied());
    levels.iter().zip(counts).fold(0.0, |sum, (level, count)| {
        draws *= count;
        sum + level.cost * draws
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn levels(of: [(f64, f64); 3]) -> Vec<Level> {
        of.into_iter().map(|(variance, cost)| Level { variance, cost }).collect()
    }

    #[test]
    fn a_layer_deserves_what_it_varies_and_costs() {
        let found = draws(&levels([(0.01, 4.0), (0.09, 1.0), (0.04, 0.25)]), 100.0);
        assert!((found[0] - 6.0).abs() < 1e-12, "{found:?}");
        assert!((found[1] - (4.0_f64 / 9.0 * 4.0).sqrt()).abs() < 1e-12, "{found:?}");
        assert_eq!(draws(&levels([(0.0, 1.0), (0.1, 1.0), (0.0, 1.0)]), 20.0), [20.0, 1.0]);
        let levels = levels([(0.1, 1.0), (0.2, 2.0), (0.3, 3.0)]);
        assert!((variance(&levels, 10.0, &[2.0, 3.0]) - (0.01 + 0.01 + 0.005)).abs() < 1e-12);
        assert!((cost(&levels, &[2.0, 3.0]) - (1.0 + 4.0 + 18.0)).abs() < 1e-12);
    }

    proptest! {
        /// Variance × cost is what the same money leaves.
        #[test]
        fn no_other_number_of_draws_is_better(
            (first, second, third) in (0.01_f64..0.1, 0.1_f64..0.5, 0.2_f64..1.0),
            (dear, cheaper, cheap) in (1.0_f64..2.0, 0.3_f64..0.6, 0.05_f64..0.1),
            factor in 0.5_f64..2.0,
            place in 0_usize..2,
        ) {
            let levels = levels([(first, dear), (second, cheaper), (third, cheap)]);
            let found = draws(&levels, 1e6);
            prop_assume!(found.iter().all(|draws| *draws > 1.0));
            let left = |within: &[f64]| variance(&levels, 1.0, within) * cost(&levels, within);
            let mut other = found.clone();
            other[place] *= factor;
            prop_assert!(left(&found) <= left(&other) * (1.0 + 1e-9), "{:?} {:?}", found, other);
        }
    }
}
