//! The power against SciPy, and against the test itself on planted runs.

use super::*;
use crate::compare::rate::{Stratum, Within, difference};

fn design(cells: &[(usize, f64)], correlation: f64, common: f64, margin: f64) -> Design {
    let cells = cells.iter().map(|(scenario, rate)| Expected { scenario: *scenario, rate: *rate }).collect();
    Design::new(cells, Nights { correlation, common }, margin).unwrap()
}

#[test]
fn the_power_is_that_of_scipy() {
    let reference: serde_json::Value = serde_json::from_str(include_str!("../../../reference/power.json")).unwrap();
    let rows = reference["rows"].as_array().unwrap();
    assert!(rows.len() >= 8);
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap();
        let cells: Vec<(usize, f64)> = row["cells"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| (cell[0].as_u64().unwrap() as usize, cell[1].as_f64().unwrap()))
            .collect();
        let design = design(&cells, number("correlation"), number("common"), number("margin"));
        let found = design.power(number("repeats") as u32, number("fall"));
        // The script integrates, and this file sums over 64 values.
        assert!((found - number("power")).abs() < 2e-3, "{found} instead of {}: {row}", number("power"));
    }
}

struct Chance(u64);

impl Chance {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal, with mean 0 and variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }

    fn passes(&mut self, trials: u64, rate: f64) -> u64 {
        (0..trials).filter(|_| self.share() < rate).count() as u64
    }
}

/// How often the test says `worse` of planted runs.
fn realised(design: &Design, repeats: u32, fall: f64, experiments: u32) -> f64 {
    let mut chance = Chance(17);
    let Nights { correlation, .. } = design.nights;
    let common = design.common().sqrt();
    let mut worse = 0;
    for _ in 0..experiments {
        let mut night = |falls: f64| -> Vec<u64> {
            let all = common * chance.normal();
            let mut of_scenario: BTreeMap<usize, f64> = BTreeMap::new();
            design
                .cells
                .iter()
                .map(|cell| {
                    let rate = cell.rate * (1.0 - falls / design.mean);
                    let own = *of_scenario.entry(cell.scenario).or_insert_with(|| chance.normal());
                    let spread = (correlation * chance_variance(rate) - design.common()).max(0.0).sqrt();
                    chance.passes(u64::from(repeats), (rate + all + own * spread).clamp(0.0, 1.0))
                })
                .collect()
        };
        let (base, new) = (night(0.0), night(fall));
        let strata: Vec<Stratum> = (design.cells.iter().zip(&base).zip(&new))
            .map(|((cell, base), new)| Stratum {
                scenario: cell.scenario,
                base_pass: *base,
                base_trials: u64::from(repeats),
                new_pass: *new,
                new_trials: u64::from(repeats),
                ..Stratum::default()
            })
            .collect();
        worse += u32::from(difference(&strata).unwrap().within(design.margin) == Within::Worse);
    }
    f64::from(worse) / f64::from(experiments)
}

/// Rates between 0.6 and 1 for so many scenarios, of so many cells each.
fn mixed(scenarios: usize, each: usize) -> Vec<(usize, f64)> {
    (0..scenarios * each).map(|at| (at / each, 0.6 + 0.38 * ((at * 37 + 11) % 100) as f64 / 100.0)).collect()
}

#[test]
fn the_test_finds_as_many_falls_as_predicted() {
    for (design, repeats, fall) in [
        (design(&mixed(150, 1), 0.0, 0.0, 0.03), 4, 0.06),
        (design(&mixed(40, 2), 0.0, 0.0, 0.03), 10, 0.05),
        (design(&mixed(12, 3), 0.0, 0.0, 0.0), 20, 0.05),
        (design(&mixed(7, 1), 0.0, 0.0, 0.03), 60, 0.08),
        (design(&[(0, 0.9), (0, 0.8), (1, 0.7)], 0.0, 0.0, 0.03), 100, 0.08),
        (design(&[(0, 0.9)], 0.0, 0.0, 0.03), 200, 0.08),
        // Nights that differ for scenarios, and for all cases.
        (design(&mixed(40, 2), 0.05, 0.0, 0.03), 20, 0.08),
        (design(&mixed(40, 2), 0.02, 0.002, 0.03), 20, 0.08),
    ] {
        let predicted = design.power(repeats, fall);
        let realised = realised(&design, repeats, fall, 600);
        // Twice the standard error of 600 experiments, and a point for what is approximated.
        assert!(
            (predicted - realised).abs() < 0.05,
            "{predicted} predicted, {realised} realised: {} cells",
            design.cells.len()
        );
    }
}

#[test]
fn repeats_and_falls_are_the_least_that_suffice() {
    let design = design(&mixed(30, 2), 0.0, 0.0, 0.03);
    let repeats = design.least_repeats(0.05, 0.9, 1_000).unwrap();
    assert!(design.power(repeats, 0.05) >= 0.9 && design.power(repeats - 1, 0.05) < 0.9, "{repeats}");
    let fall = design.least_fall(repeats, 0.9).unwrap();
    assert!(fall <= 0.05 + 1e-4 && design.power(repeats, fall - 0.005) < 0.9, "{fall}");
    // No number of repeats shows with 99 % that a fall by the margin is not smaller.
    assert_eq!(design.least_repeats(0.03, 0.99, 10_000), None);
    assert!(design.least_fall(1, 0.9).is_some_and(|fall| fall > 0.1));
    assert_eq!(Design::new(Vec::new(), Nights::default(), 0.03), None);
}

/// A night that moves all cells is no more certain with more repeats.
#[test]
fn nights_bound_what_repeats_can_show() {
    let still = design(&mixed(40, 1), 0.0, 0.0, 0.03);
    let moving = design(&mixed(40, 1), 0.2, 0.01, 0.03);
    assert!(still.least_repeats(0.06, 0.9, 10_000).is_some());
    assert_eq!(moving.least_repeats(0.06, 0.9, 10_000), None);
}
