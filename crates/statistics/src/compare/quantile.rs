//! The difference of a quantile between two sides, with an interval.
//!
//! Values of one conversation belong together, so the error of a quantile comes from the conversations (R. S. Woodruff, "Confidence
//! intervals for medians and other position measures", JASA 47 (1952)). The intervals of both sides make that of the difference
//! (G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27 (2008)). A turn without an answer
//! has an infinite time.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::rate::CHANCE;

/// The values of one conversation, and the weight of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    pub weight: f64,
    pub values: Vec<f64>,
}

/// A quantile of one side. Infinite: it lies among turns without an answer, or the data do not bound it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// `new - base`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    pub base: Estimate,
    pub new: Estimate,
    /// `None` if both are infinite.
    pub difference: Option<f64>,
    /// Infinite where the data do not bound it.
    pub low: f64,
    pub high: f64,
}

/// `None` if a side has no value.
#[must_use]
pub fn difference(base: &[Cluster], new: &[Cluster], share: f64) -> Option<Difference> {
    let (base, new) = (estimate(base, share)?, estimate(new, share)?);
    let difference = new.value - base.value;
    if difference.is_nan() {
        return Some(Difference { base, new, difference: None, low: f64::NEG_INFINITY, high: f64::INFINITY });
    }
    let (low, high) = if difference.is_finite() {
        let low = difference - (new.value - new.low).hypot(base.high - base.value);
        let high = difference + (new.high - new.value).hypot(base.value - base.low);
        (low, high)
    } else {
        (bounded(new.low - base.high, f64::NEG_INFINITY), bounded(new.high - base.low, f64::INFINITY))
    };
    Some(Difference { base, new, difference: Some(difference), low, high })
}

fn bounded(end: f64, otherwise: f64) -> f64 {
    if end.is_nan() { otherwise } else { end }
}

/// A quantile with its interval: each end is wrong with a chance of [`CHANCE`]. `None` without values.
#[must_use]
pub fn estimate(clusters: &[Cluster], share: f64) -> Option<Estimate> {
    let mut values: Vec<(f64, f64)> =
        clusters.iter().flat_map(|cluster| cluster.values.iter().map(|value| (*value, cluster.weight))).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let value = at(&values, total, share)?;
    let groups = clusters.iter().filter(|cluster| !cluster.values.is_empty()).count();
    if groups < 2 {
        return Some(Estimate { value, low: 0.0, high: f64::INFINITY });
    }
    let below = |cluster: &Cluster| cluster.values.iter().filter(|one| **one <= value).count() as f64;
    let found: f64 = clusters.iter().map(|cluster| cluster.weight * below(cluster)).sum::<f64>() / total;
    let squares: f64 = clusters
        .iter()
        .map(|cluster| (cluster.weight * (below(cluster) - found * cluster.values.len() as f64)).powi(2))
        .sum();
    let groups = groups as f64;
    let clustered = groups / (groups - 1.0) * squares / total.powi(2);
    // Conversations that are alike by chance must not make the interval narrower than independent values would.
    let independent =
        share * (1.0 - share) * values.iter().map(|(_, weight)| weight.powi(2)).sum::<f64>() / total.powi(2);
    let student = StudentsT::new(0.0, 1.0, groups - 1.0).expect("there are at least two conversations");
    let half = student.inverse_cdf(1.0 - CHANCE) * clustered.max(independent).sqrt();
    let low = if share > half { at(&values, total, share - half).unwrap_or(0.0) } else { 0.0 };
    let high =
        if share + half < 1.0 { at(&values, total, share + half).unwrap_or(f64::INFINITY) } else { f64::INFINITY };
    Some(Estimate { value, low, high })
}

/// The smallest value with at least this share of the weight at or below it. `values` are ascending.
fn at(values: &[(f64, f64)], total: f64, share: f64) -> Option<f64> {
    // Sums of weights are not exact.
    let wanted = share * total * (1.0 - 1e-12);
    let mut sum = 0.0;
    let reached = values.iter().find(|(_, weight)| {
        sum += weight;
        sum >= wanted
    });
    reached.or(values.last()).map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::{close, numbers, reference};

    fn clusters(values: &serde_json::Value) -> Vec<Cluster> {
        let of = |row: &serde_json::Value| Cluster { weight: row[0].as_f64().unwrap(), values: numbers(&row[1]) };
        values.as_array().unwrap().iter().map(of).collect()
    }

    #[test]
    fn quantiles_and_differences_are_those_of_scipy() {
        for row in reference()["quantiles"].as_array().unwrap() {
            let share = row["share"].as_f64().unwrap();
            let found = difference(&clusters(&row["base"]), &clusters(&row["new"]), share).unwrap();
            let right = numbers(&row["expected"]);
            for (found, right) in [found.base.value, found.new.value, found.low, found.high].into_iter().zip(right) {
                close(found, right, 1e-6, row);
            }
        }
    }

    fn single(values: &[f64]) -> Vec<Cluster> {
        values.iter().map(|value| Cluster { weight: 1.0, values: vec![*value] }).collect()
    }

    #[test]
    fn turns_without_an_answer_are_the_slowest() {
        let (fast, silent): (Vec<f64>, Vec<f64>) = ((0..100).map(f64::from).collect(), vec![f64::INFINITY; 100]);
        let found = difference(&single(&fast), &single(&silent), 0.5).unwrap();
        assert_eq!((found.new.value, found.difference), (f64::INFINITY, Some(f64::INFINITY)));
        assert!(found.low > 0.0, "{found:?}");
        let both = difference(&single(&silent), &single(&silent), 0.5).unwrap();
        assert_eq!((both.difference, both.low, both.high), (None, f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn few_values_do_not_bound_a_tail() {
        let few: Vec<f64> = (0..20).map(f64::from).collect();
        let found = estimate(&single(&few), 0.95).unwrap();
        assert_eq!((found.value, found.high), (18.0, f64::INFINITY));
        assert_eq!(estimate(&single(&[]), 0.5), None);
        assert_eq!(estimate(&single(&[3.0]), 0.5).unwrap(), Estimate { value: 3.0, low: 0.0, high: f64::INFINITY });
    }

    #[test]
    fn exchanged_sides_mirror_the_difference() {
        let (a, b): (Vec<f64>, Vec<f64>) =
            ((0..60).map(|one| f64::from(one % 17)).collect(), (0..60).map(|one| f64::from(one % 23)).collect());
        let (there, back) =
            (difference(&single(&a), &single(&b), 0.5).unwrap(), difference(&single(&b), &single(&a), 0.5).unwrap());
        assert_eq!(
            (there.difference.unwrap(), there.low, there.high),
            (-back.difference.unwrap(), -back.high, -back.low)
        );
    }
}
