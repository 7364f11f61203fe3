//! Sequential verdicts about one rate: false verdicts in launch order, with those in the order of completion beside them.

use record::count::plural;
use statistics::sequential::{
    characteristic::characteristic,
    rule::{Found, Rule, Seen},
    suite::{Outcome, Required as RequiredOfSuite, Suite, Verdict},
};

use crate::{
    chance::Chance,
    sheet::{Required, Share, Sheet, percent},
    slots::{Ended, ends},
};

const MOST: u32 = 400;
const CHANCE: f64 = 0.05;
/// How much longer failures take.
const SLOWER: f64 = 3.0;

pub(crate) fn calibrate(sheet: &mut Sheet) {
    sheet.section("Verdicts that stop a run (one case, failures take 3 times as long)");
    for (bad, good) in [(0.8, 0.8), (0.75, 0.9)] {
        let rule = Rule::new(bad, good, CHANCE, CHANCE).expect("a possible rule");
        let called = if bad < good { format!("Wald {good} against {bad}") } else { format!("mixture at {bad}") };
        for (rate, wrong) in [(bad, Found::Pass), (good, Found::Fail)] {
            let exact = characteristic(&rule, 1, u64::from(MOST), rate);
            let exact = if wrong == Found::Pass { exact.pass } else { exact.fail };
            let name = if wrong == Found::Pass { "PASS" } else { "FAIL" };
            for slots in [1_u64, 10, 40] {
                let both = sheet.play(|chance| {
                    let ended = ends(chance, MOST as usize, slots as usize, SLOWER, |_| rate);
                    let required = RequiredOfSuite::new((bad, good), &[None], (CHANCE, CHANCE), MOST);
                    let launched = in_launch_order(required.expect("a possible rule"), &ended);
                    (launched == Some(wrong), in_order_of_completion(&rule, &ended) == Some(wrong))
                });
                let count = |of: fn(&(bool, bool)) -> bool| {
                    let count = both.iter().filter(|found| of(found)).count() as u64;
                    Share::Found { count, of: both.len() as u64 }
                };
                let what = format!("{called}, true rate {rate}, {}: false {name}", plural(slots, "slot", "slots"));
                let note = format!("{} in the order of completion", percent(count(|both| both.1).value()));
                sheet.line(what.clone(), Required::AtMost(CHANCE), count(|both| both.0), note);
                sheet.line(format!("{what}, as added up exactly"), Required::Exactly(exact), count(|both| both.0), "");
            }
        }
    }
    let found = sheet.share(normal_at_every_look);
    let note = "the usual test at 5 %, read after every 10 trials; not in gabfest";
    sheet.line("interval at every look, 10 to 150 trials, true rate 0.8: false FAIL", Required::Nothing, found, note);
}

fn in_launch_order(required: RequiredOfSuite, ended: &[Ended]) -> Option<Found> {
    let mut suite = Suite::new(required);
    for trial in ended {
        let outcome = if trial.passed { Outcome::Pass } else { Outcome::Fail };
        suite.add(0, u32::try_from(trial.number).unwrap_or(u32::MAX), outcome);
        match suite.verdict() {
            Some(Verdict::Pass) => return Some(Found::Pass),
            Some(Verdict::MeanFails | Verdict::CaseFails(_)) => return Some(Found::Fail),
            Some(Verdict::Undecided) | None => {}
        }
    }
    None
}

fn in_order_of_completion(rule: &Rule, ended: &[Ended]) -> Option<Found> {
    let mut seen = Seen::default();
    ended.iter().find_map(|trial| {
        seen.trials += 1;
        seen.passes += u64::from(trial.passed);
        seen.failures += u64::from(!trial.passed);
        rule.judge(seen)
    })
}

fn normal_at_every_look(chance: &mut Chance) -> bool {
    let (rate, mut passes) = (0.8, 0);
    (1..=15_u64).any(|look| {
        passes += chance.passes(10, rate);
        let trials = (look * 10) as f64;
        let share = passes as f64 / trials;
        let error = (share * (1.0 - share) / trials).sqrt();
        share + 1.645 * error < rate
    })
}
