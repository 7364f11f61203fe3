//! How often the intervals of a rate hold the true rate: played, beside all outcomes added up.

use record::count::plural;
use statistics::{clopper_pearson::upper_bound, wilson};
use statrs::distribution::{Binomial, Discrete as _};

use crate::sheet::{Required, Share, Sheet};

pub(crate) fn calibrate(sheet: &mut Sheet) {
    sheet.section("Intervals of a success rate");
    for (trials, rate) in [(5, 0.5), (20, 0.8), (20, 0.95), (100, 0.95), (600, 0.9)] {
        let exact = covered(trials, rate, wilson_holds);
        let found = sheet.share(|chance| wilson_holds(chance.passes(trials, rate), trials, rate));
        sheet.line(format!("Wilson 95 % holds {rate}, {trials} trials"), Required::Exactly(exact), found, "");
    }
    for trials in [5, 20, 100] {
        let shares: Vec<f64> = rates().map(|rate| covered(trials, rate, wilson_holds)).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let least = shares.iter().copied().fold(1.0, f64::min);
        let note = format!("least {}", crate::sheet::percent(least));
        let what = format!("Wilson 95 %, mean over all rates, {trials} trials");
        sheet.line(what, Required::AtLeast(0.945), Share::Exact(mean), note);
    }
    for (trials, rate) in [(5, 0.5), (20, 0.475), (20, 0.8), (100, 0.95)] {
        let exact = covered(trials, rate, bound_holds);
        let found = sheet.share(|chance| bound_holds(chance.passes(trials, rate), trials, rate));
        let what = format!("Clopper-Pearson bound is above {rate}, {trials} trials");
        sheet.line(what, Required::Exactly(exact), found, "");
    }
    for trials in [1, 5, 20, 100] {
        let least = rates().map(|rate| covered(trials, rate, bound_holds)).fold(1.0, f64::min);
        let what = format!("Clopper-Pearson bound, worst rate, {}", plural(trials, "trial", "trials"));
        sheet.line(what, Required::AtLeast(0.95), Share::Exact(least), "");
    }
}

fn rates() -> impl Iterator<Item = f64> {
    (1..1000).map(|thousandths| f64::from(thousandths) / 1000.0)
}

fn wilson_holds(pass: u64, trials: u64, rate: f64) -> bool {
    let interval = wilson::interval(pass, trials);
    (interval.low..=interval.high).contains(&rate)
}

fn bound_holds(pass: u64, trials: u64, rate: f64) -> bool {
    upper_bound(pass, trials) >= rate
}

/// The chance that the interval holds the rate.
fn covered(trials: u64, rate: f64, holds: fn(u64, u64, f64) -> bool) -> f64 {
    let law = Binomial::new(rate, trials).expect("a rate");
    (0..=trials).filter(|pass| holds(*pass, trials, rate)).map(|pass| law.pmf(pass)).sum()
}
