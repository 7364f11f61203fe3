//! Sequential verdicts about whole runs: cases of different rates, floors, and trials that our side breaks.

use statistics::sequential::suite::{Outcome, Required as RequiredOfSuite, Suite, Verdict};

use crate::{
    chance::Chance,
    sheet::{Required, Share, Sheet},
    slots::ends,
};

const CASES: usize = 20;
const REPEATS: u32 = 60;
const SLOTS: usize = 40;
const CHANCE: f64 = 0.05;
const FLOOR: f64 = 0.475;

/// Trials that break, and so have no outcome.
#[derive(Debug, Clone, Copy)]
enum Breaks {
    None,
    /// One in ten that would have passed.
    Passes,
    /// One in ten that would have failed.
    Failures,
}

type IsWrong = fn(Verdict) -> bool;

pub(crate) fn calibrate(sheet: &mut Sheet) {
    sheet.section("Verdicts that stop a run (20 cases of different rates × at most 60, 40 slots, floors of 0.475)");
    let zone = (0.90, 0.95);
    let spread = |mean: f64| move |case: usize| if case.is_multiple_of(2) { mean + 0.05 } else { mean - 0.05 };
    let one_at_floor = |case: usize| if case == 0 { FLOOR } else { 1.0 };
    let passes: IsWrong = |verdict| verdict == Verdict::Pass;
    let fails: IsWrong = |verdict| matches!(verdict, Verdict::MeanFails | Verdict::CaseFails(_));
    for (what, breaks) in
        [("", Breaks::None), (", 10 % of passes break", Breaks::Passes), (", 10 % of failures break", Breaks::Failures)]
    {
        let bad = spread(zone.0);
        line(sheet, &format!("mean 0.90{what}: false PASS"), zone, &bad, breaks, passes);
        let good = spread(zone.1);
        line(sheet, &format!("mean 0.95{what}: false FAIL"), zone, &good, breaks, fails);
    }
    let name = "one case at its floor, the others always pass: false PASS";
    line(sheet, name, zone, &one_at_floor, Breaks::None, passes);
    let name = "all cases at their floor, a mean of 0.2 is enough: false FAIL";
    line(sheet, name, (0.2, 0.2), &|_| FLOOR, Breaks::None, fails);
    let broken = |case: usize| if case == 0 { 0.0 } else { 0.99 };
    let (found, trials) = play(sheet, zone, &broken, Breaks::None, |verdict| verdict == Verdict::CaseFails(0));
    sheet.line("one case always fails, the others pass at 0.99: found", Required::AtLeast(0.95), found, used(trials));
    for mean in [0.99, 0.97] {
        let even = move |_: usize| mean;
        let (found, trials) = play(sheet, zone, &even, Breaks::None, passes);
        sheet.line(format!("every case at {mean}: PASS"), Required::AtLeast(0.90), found, used(trials));
    }
}

fn used(trials: f64) -> String {
    format!("{trials:.0} of {} conversations on average", CASES * REPEATS as usize)
}

fn line(
    sheet: &mut Sheet,
    what: &str,
    zone: (f64, f64),
    rate: &(impl Fn(usize) -> f64 + Sync),
    breaks: Breaks,
    wrong: IsWrong,
) {
    let (found, trials) = play(sheet, zone, rate, breaks, wrong);
    sheet.line(what, Required::AtMost(CHANCE), found, used(trials));
}

/// How often the verdict is one of these, and the mean number of trials that were consumed.
fn play(
    sheet: &mut Sheet,
    zone: (f64, f64),
    rate: &(impl Fn(usize) -> f64 + Sync),
    breaks: Breaks,
    is: IsWrong,
) -> (Share, f64) {
    let required =
        RequiredOfSuite::new(zone, &[Some(FLOOR); CASES], (CHANCE, CHANCE), REPEATS).expect("possible rules");
    let all = sheet.play(|chance| one(chance, required.clone(), rate, breaks));
    let count = all.iter().filter(|(verdict, _)| verdict.is_some_and(is)).count() as u64;
    let trials: u64 = all.iter().map(|(_, trials)| *trials).sum();
    (Share::Found { count, of: all.len() as u64 }, trials as f64 / all.len() as f64)
}

fn one(
    chance: &mut Chance,
    required: RequiredOfSuite,
    rate: &impl Fn(usize) -> f64,
    breaks: Breaks,
) -> (Option<Verdict>, u64) {
    let mut suite = Suite::new(required);
    let ended = ends(chance, CASES * REPEATS as usize, SLOTS, 3.0, |number| rate(number % CASES));
    for trial in ended {
        let broken = match breaks {
            Breaks::None => false,
            Breaks::Passes => trial.passed && chance.is(0.1),
            Breaks::Failures => !trial.passed && chance.is(0.1),
        };
        let outcome = match (broken, trial.passed) {
            (true, _) => Outcome::Unknown,
            (false, true) => Outcome::Pass,
            (false, false) => Outcome::Fail,
        };
        suite.add(trial.number % CASES, u32::try_from(trial.number / CASES).unwrap_or(u32::MAX), outcome);
    }
    (suite.verdict(), suite.consumed())
}
