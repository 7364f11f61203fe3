//! Comparisons of two runs: how often equal agents differ, and how often a planted fall is found.

use statistics::compare::{
    exact::{fisher, sign_test},
    rate::{CHANCE, Stratum, Within, difference},
};
use statrs::distribution::{Binomial, Discrete as _};

use crate::{
    chance::Chance,
    sheet::{Required, Share, Sheet},
};

const SCENARIOS: usize = 150;
const REPEATS: u64 = 4;
const DROP: f64 = 0.03;
/// A population of scenarios in which most nearly always pass, and some nearly always fail: a beta distribution.
const MEAN: f64 = 0.93;
const SPREAD: f64 = 1.316;

/// What differs between two nights of one agent.
#[derive(Debug, Clone, Copy)]
enum Night {
    Nothing,
    /// Each scenario is easier or harder by chance.
    OfScenario(f64),
    /// All scenarios together are.
    OfAll(f64),
}

pub(crate) fn calibrate(sheet: &mut Sheet) {
    sheet.section("Two runs of the same agent (A/A), and a planted fall");
    exact_tests(sheet);
    let scenarios = format!("{SCENARIOS} scenarios × {REPEATS}");
    for (night, called) in [
        (Night::Nothing, "nights alike"),
        (Night::OfScenario(0.5), "each scenario has its own night (logit ± 0.5)"),
        (Night::OfScenario(1.0), "each scenario has its own night (logit ± 1)"),
    ] {
        let found = sheet.share(|chance| verdict(&strata(chance, SCENARIOS, 0.0, night), DROP) == Within::Worse);
        sheet.line(format!("A/A called worse: {scenarios}, {called}"), Required::AtMost(CHANCE), found, "");
        let found = sheet.share(|chance| rose(&strata(chance, SCENARIOS, 0.0, night)));
        sheet.line(format!("A/A called better: {scenarios}, {called}"), Required::AtMost(CHANCE / 2.0), found, "");
    }
    let found =
        sheet.share(|chance| verdict(&strata(chance, SCENARIOS, 0.0, Night::OfAll(0.3)), DROP) == Within::Worse);
    let note = "a comparison of two runs does not claim to see this: it says that the runs differ";
    sheet.line("A/A called worse: one night is worse for all scenarios (logit ± 0.3)", Required::Nothing, found, note);
    let found = sheet.share(|chance| verdict(&strata(chance, 3, 0.0, Night::Nothing), DROP) == Within::Worse);
    sheet.line("A/A called worse: 3 scenarios × 4, not clustered", Required::AtMost(CHANCE), found, "");
    let found =
        sheet.share(|chance| verdict(&strata(chance, SCENARIOS, DROP, Night::Nothing), DROP) == Within::NotWorse);
    sheet.line(format!("a fall of 3 points called not worse than 3: {scenarios}"), Required::AtMost(CHANCE), found, "");
    for (drop, least) in [(DROP, 0.60), (0.05, 0.90)] {
        let both = sheet.play(|chance| {
            let strata = strata(chance, SCENARIOS, drop, Night::Nothing);
            (paired_finds(&strata), unpaired_finds(&strata))
        });
        let count = |of: fn(&(bool, bool)) -> bool| {
            let count = both.iter().filter(|found| of(found)).count() as u64;
            Share::Found { count, of: both.len() as u64 }
        };
        let points = drop * 100.0;
        let what = format!("a fall of {points} points is found, two-sided 5 %, {scenarios}, by cell");
        let note = format!("success rates of scenarios: mean {MEAN}, beta distribution");
        sheet.line(what, Required::AtLeast(least), count(|found| found.0), note);
        sheet.line("the same without cells side by side", Required::Nothing, count(|found| found.1), "not in gabfest");
    }
}

fn exact_tests(sheet: &mut Sheet) {
    for (trials, rate) in [(20, 0.9), (10, 0.7), (60, 0.95)] {
        let law = Binomial::new(rate, trials).expect("a rate");
        let all = (0..=trials).flat_map(|base| (0..=trials).map(move |new| (base, new)));
        let rare = all.filter(|(base, new)| fisher(*base, trials, *new, trials) <= CHANCE);
        let exact = rare.map(|(base, new)| law.pmf(base) * law.pmf(new)).sum();
        let what = format!("Fisher, {trials} and {trials} trials at {rate}: chance ≤ 5 %");
        sheet.line(what.clone(), Required::AtMost(CHANCE), Share::Exact(exact), "");
        let found = sheet
            .share(|chance| fisher(chance.passes(trials, rate), trials, chance.passes(trials, rate), trials) <= CHANCE);
        sheet.line(what, Required::Exactly(exact), found, "");
    }
    let found = sheet.share(|chance| {
        let changed = chance.passes(40, 0.3);
        let fell = chance.passes(changed, 0.5);
        sign_test(fell, changed - fell) <= CHANCE
    });
    sheet.line("sign test, 40 pairs of which 30 % change: chance ≤ 5 %", Required::AtMost(CHANCE), found, "");
}

fn strata(chance: &mut Chance, scenarios: usize, drop: f64, night: Night) -> Vec<Stratum> {
    let shift = |chance: &mut Chance| match night {
        Night::OfAll(sigma) => [chance.normal() * sigma, chance.normal() * sigma],
        Night::Nothing | Night::OfScenario(_) => [0.0, 0.0],
    };
    let of_all = shift(chance);
    let of = |scenario| {
        let rate = chance.rate(MEAN, SPREAD);
        let own = match night {
            Night::OfScenario(sigma) => [chance.normal() * sigma, chance.normal() * sigma],
            Night::Nothing | Night::OfAll(_) => [0.0, 0.0],
        };
        // The population's mean falls by `drop`.
        let after = rate * (1.0 - drop / MEAN);
        Stratum {
            scenario,
            base_pass: chance.passes(REPEATS, moved(rate, of_all[0] + own[0])),
            base_trials: REPEATS,
            new_pass: chance.passes(REPEATS, moved(after, of_all[1] + own[1])),
            new_trials: REPEATS,
            ..Stratum::default()
        }
    };
    (0..scenarios).map(of).collect()
}

fn moved(rate: f64, logit: f64) -> f64 {
    if logit == 0.0 || rate <= 0.0 || rate >= 1.0 {
        return rate;
    }
    1.0 / (1.0 + (1.0 - rate) / rate * (-logit).exp())
}

fn verdict(strata: &[Stratum], margin: f64) -> Within {
    difference(strata).map_or(Within::CannotTell, |found| found.within(margin))
}

fn rose(strata: &[Stratum]) -> bool {
    difference(strata).is_some_and(|found| found.rose())
}

fn paired_finds(strata: &[Stratum]) -> bool {
    difference(strata).is_some_and(|found| found.difference < 0.0 && found.chance_if_equal() <= CHANCE)
}

/// Two samples of scenarios, as if they were different ones.
fn unpaired_finds(strata: &[Stratum]) -> bool {
    let sample = |rate: fn(&Stratum) -> f64| {
        let count = strata.len() as f64;
        let mean = strata.iter().map(rate).sum::<f64>() / count;
        let squares: f64 = strata.iter().map(|stratum| (rate(stratum) - mean).powi(2)).sum();
        (mean, squares / (count - 1.0) / count)
    };
    let (base, base_variance) = sample(|stratum| stratum.base_pass as f64 / stratum.base_trials as f64);
    let (new, new_variance) = sample(|stratum| stratum.new_pass as f64 / stratum.new_trials as f64);
    (new - base) / (base_variance + new_variance).sqrt() <= -1.96
}
