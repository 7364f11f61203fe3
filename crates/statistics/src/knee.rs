//! The knee: the load from which on an agent succeeds less often.
//!
//! Whether there is one: Fisher's exact test of the conversations at each load and below against those above, multiplied by the
//! number of divisions (Bonferroni). Where it is: the posterior of the first fall, over all divisions of the loads into
//! stretches of one success rate, each lower than the one before; rates are integrated out with Jeffreys' prior. Weighing all
//! divisions is D. Barry and J. A. Hartigan, "Product partition models for change point problems", Ann. Stat. 20 (1992).

use record::summary::{Knee, KneeUnit, LoadStep};
use statrs::function::{beta::ln_beta, gamma::ln_gamma};

use crate::wilson::interval;

/// A run whose success rate does not depend on the load has a knee with at most this chance.
const FALSE_CLAIMS: f64 = 0.01;
/// Of the posterior, outside each end of the interval.
const OUTSIDE: f64 = 0.025;
/// Fewer loads have no course.
const FEWEST: usize = 3;

/// Conversations at one load that say something about the agent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    load: f64,
    pass: u64,
    n: u64,
}

/// # Errors
/// Why no knee is claimed.
pub fn of(steps: &[LoadStep]) -> Result<Knee, String> {
    let varies = |of: fn(&LoadStep) -> Option<f64>| {
        let mut loads = steps.iter().map(of);
        let first = loads.next().flatten();
        loads.any(|load| load != first)
    };
    let (unit, load): (_, fn(&LoadStep) -> Option<f64>) = match (varies(|step| step.rate), varies(|step| step.slots)) {
        (true, false) => (KneeUnit::Rate, |step| step.rate),
        (false, true) => (KneeUnit::Slots, |step| step.slots),
        (true, true) => return Err("rates and slots both change, so loads have no order".to_owned()),
        (false, false) => return Err("the load is the same all the time".to_owned()),
    };
    let level = |step: &LoadStep| {
        Some(Level { load: load(step)?, pass: step.pass, n: step.pass + step.fail + step.agent_errors })
    };
    find(unit, steps.iter().filter_map(level))
}

fn find(unit: KneeUnit, levels: impl Iterator<Item = Level>) -> Result<Knee, String> {
    let levels = pooled(levels);
    let conversations: u64 = levels.iter().map(|level| level.n).sum();
    if levels.len() < FEWEST {
        return Err(format!("too few: {} loads with a conversation that says something about the agent", levels.len()));
    }
    let divisions = (levels.len() - 1) as f64;
    let p_values = (1..levels.len()).map(|at| fisher(sum(&levels[..at]), sum(&levels[at..])) * divisions);
    let p_value = p_values.fold(1.0, f64::min);
    if p_value > FALSE_CLAIMS {
        return Err(format!(
            "the success rate does not fall with the load, as far as {conversations} conversations show"
        ));
    }
    let chances = first_fall(&levels);
    let reaches = |share: f64| {
        let mut sum = 0.0;
        let found = chances.iter().position(|chance| {
            sum += chance;
            sum >= share
        });
        found.unwrap_or(chances.len() - 1)
    };
    let likeliest = chances.iter().enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
    let last = likeliest.map_or(0, |(at, _)| at);
    let rate = |levels: &[Level]| {
        let (pass, n) = sum(levels);
        interval(pass, n)
    };
    Ok(Knee {
        unit,
        load: levels[last].load,
        low: levels[reaches(OUTSIDE)].load,
        high: levels[reaches(1.0 - OUTSIDE) + 1].load,
        success_rate_until: rate(&levels[..=last]),
        success_rate_beyond: rate(&levels[last + 1..]),
        p_value,
    })
}

/// Ascending, equal loads together, none without a conversation.
fn pooled(levels: impl Iterator<Item = Level>) -> Vec<Level> {
    let mut all: Vec<Level> = levels.filter(|level| level.n > 0).collect();
    all.sort_by(|one, two| one.load.total_cmp(&two.load));
    all.dedup_by(|next, kept| {
        let same = next.load.total_cmp(&kept.load).is_eq();
        if same {
            kept.pass += next.pass;
            kept.n += next.n;
        }
        same
    });
    all
}

fn sum(levels: &[Level]) -> (u64, u64) {
    levels.iter().fold((0, 0), |(pass, n), level| (pass + level.pass, n + level.n))
}

/// The chance of so few passes beyond, if both rates are equal and the passes of all are given. 1 if the rate does not fall.
fn fisher((pass, n): (u64, u64), (beyond, n_beyond): (u64, u64)) -> f64 {
    if !is_lower((beyond, n_beyond), (pass, n)) {
        return 1.0;
    }
    let (all, passes) = (n + n_beyond, pass + beyond);
    let choose = |n: u64, k: u64| ln_gamma(n as f64 + 1.0) - ln_gamma(k as f64 + 1.0) - ln_gamma((n - k) as f64 + 1.0);
    let whole = choose(all, passes);
    let mut chance = 0.0;
    // Terms shrink from here on, because the rate beyond is below the mean.
    for found in (passes.saturating_sub(n)..=beyond).rev() {
        let term = (choose(n_beyond, found) + choose(n, passes - found) - whole).exp();
        chance += term;
        if term < chance * 1e-12 {
            break;
        }
    }
    chance.min(1.0)
}

fn is_lower((pass, n): (u64, u64), (other_pass, other_n): (u64, u64)) -> bool {
    u128::from(pass) * u128::from(other_n) < u128::from(other_pass) * u128::from(n)
}

/// The chance that the first fall comes after each load but the last, if there is one.
fn first_fall(levels: &[Level]) -> Vec<f64> {
    let count = levels.len();
    // A priori, each gap is a fall with the chance 1 in so many.
    let chance = 1.0 / count as f64;
    let (falls, holds) = (chance.ln(), (1.0 - chance).ln());
    let mut before = vec![(0, 0)];
    for level in levels {
        let (pass, n) = before[before.len() - 1];
        before.push((pass + level.pass, n + level.n));
    }
    let stretch = |from: usize, to: usize| (before[to + 1].0 - before[from].0, before[to + 1].1 - before[from].1);
    let weight = |from: usize, to: usize| {
        let (pass, n) = stretch(from, to);
        ln_beta(pass as f64 + 0.5, (n - pass) as f64 + 0.5) - ln_beta(0.5, 0.5) + (to - from) as f64 * holds
    };
    // The weight of all divisions from a load to the end, by the end of their first stretch.
    let mut divided = vec![vec![f64::NEG_INFINITY; count]; count];
    for from in (0..count).rev() {
        for to in from..count {
            let rest = if to + 1 == count {
                0.0
            } else {
                let lower = (to + 1..count).filter(|end| is_lower(stretch(to + 1, *end), stretch(from, to)));
                falls + ln_sum(lower.map(|end| divided[to + 1][end]))
            };
            divided[from][to] = weight(from, to) + rest;
        }
    }
    let first = &divided[0][..count - 1];
    let whole = ln_sum(first.iter().copied());
    first.iter().map(|weight| (weight - whole).exp()).collect()
}

/// The logarithm of a sum of which the logarithms are given.
fn ln_sum(logarithms: impl Iterator<Item = f64> + Clone) -> f64 {
    let highest = logarithms.clone().fold(f64::NEG_INFINITY, f64::max);
    if highest == f64::NEG_INFINITY {
        return highest;
    }
    highest + logarithms.map(|logarithm| (logarithm - highest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(levels: &[(f64, u64, u64)]) -> Result<Knee, String> {
        find(KneeUnit::Rate, levels.iter().map(|&(load, pass, n)| Level { load, pass, n }))
    }

    /// A chance between 0 and 1 by its number (splitmix64).
    fn draw(number: u64) -> f64 {
        let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Loads 1 to 12 with `n` conversations each, played many times: how often a knee is claimed, and how often its interval has
    /// the planted one.
    fn played(n: u64, planted: f64, success: impl Fn(f64) -> f64) -> (u64, u64) {
        let (mut claimed, mut covered) = (0, 0);
        for run in 0..100 {
            let level = |load: u64| {
                let pass = (0..n).filter(|trial| draw((run * 100 + load) * 1_000 + trial) < success(load as f64));
                (load as f64, pass.count() as u64, n)
            };
            if let Ok(knee) = found(&(1..=12).map(level).collect::<Vec<_>>()) {
                claimed += 1;
                covered += u64::from(knee.low <= planted && planted <= knee.high);
            }
        }
        (claimed, covered)
    }

    #[test]
    fn planted_knees_are_found() {
        type Success = fn(f64) -> f64;
        let shapes: [(&str, f64, Success); 5] = [
            ("falls at once", 6.0, |load| if load <= 6.0 { 0.95 } else { 0.5 }),
            ("serves six at most", 6.0, |load| 0.97 * (6.0 / load).min(1.0)),
            ("serves six and a half at most", 6.5, |load| 0.97 * (6.5 / load).min(1.0)),
            ("falls by a tenth each", 6.0, |load| 0.95 - 0.1 * (load - 6.0).max(0.0)),
            ("breaks at the last load", 11.0, |load| if load <= 11.0 { 0.97 } else { 0.6 }),
        ];
        for (shape, planted, success) in shapes {
            let (claimed, covered) = played(100, planted, success);
            assert!(claimed == 100 && covered >= 95, "{shape}: claimed {claimed}, covered {covered} of 100");
        }
    }

    #[test]
    fn flat_runs_have_no_knee() {
        // At most one in a hundred claims a knee: more than 7 of 300 have a chance below 1 %.
        let claimed: u64 =
            [(20, 0.5), (100, 0.95), (300, 0.8)].into_iter().map(|(n, rate)| played(n, 6.0, |_| rate).0).sum();
        assert!(claimed <= 7, "{claimed} of 300 runs");
        let (claimed, _) = played(100, 6.0, |load| 0.4 + 0.04 * load);
        assert_eq!(claimed, 0, "an agent that becomes better has none");
    }

    #[test]
    fn too_few_decide_nothing() {
        let why = |levels: &[(f64, u64, u64)]| found(levels).expect_err("no knee");
        assert!(why(&[(1.0, 50, 50), (2.0, 0, 50)]).starts_with("too few: 2 loads"));
        assert!(why(&[(1.0, 2, 2), (2.0, 2, 2), (3.0, 0, 2)]).starts_with("the success rate does not fall"));
        assert!(why(&[]).starts_with("too few"));
    }

    #[test]
    fn loads_are_sorted_and_equal_ones_count_together() {
        let up_and_down = [(1.0, 40, 40), (2.0, 39, 40), (3.0, 10, 40), (2.0, 40, 40), (1.0, 39, 40), (4.0, 0, 0)];
        let knee = found(&up_and_down).expect("a knee");
        assert_eq!((knee.load, knee.low, knee.high), (2.0, 2.0, 3.0));
        assert_eq!((knee.success_rate_until.n, knee.success_rate_beyond.n), (160, 40));
        assert!(knee.p_value < 1e-9, "{}", knee.p_value);
    }

    /// R 4.3: fisher.test(matrix(c(PASS, N - PASS, BEYOND, N_BEYOND - BEYOND), 2), alternative = "greater").
    #[test]
    fn fisher_is_the_published_test() {
        // The lady tasting tea: 17/70 and 1/70.
        assert!((fisher((3, 4), (1, 4)) - 17.0 / 70.0).abs() < 1e-12);
        assert!((fisher((4, 4), (0, 4)) - 1.0 / 70.0).abs() < 1e-12);
        assert!((fisher((10, 10), (9, 10)) - 0.5).abs() < 1e-9);
        assert!((fisher((1, 4), (3, 4)) - 1.0).abs() < 1e-12, "a rise is no fall");
        assert!((fisher((99_999, 100_000), (0, 0)) - 1.0).abs() < 1e-12);
    }
}
