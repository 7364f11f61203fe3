//! Other figures with an interval or a chance: the success rate of a run, times, named checks, kappa.

use statistics::{
    clustered,
    compare::{
        quantile::{self, Cluster},
        rate::{CHANCE, Stratum},
        stratified::stratified,
    },
    kappa,
};

use crate::{
    chance::Chance,
    sheet::{Required, Share, Sheet},
};

pub(crate) fn calibrate(sheet: &mut Sheet) {
    sheet.section("The success rate of a run, times, named checks, kappa");
    for (scenarios, trials, mean, spread) in [(12, 20, 0.8, 6.0), (150, 4, 0.93, 1.316), (40, 20, 0.9, 3.0)] {
        let holds = sheet.play(|chance| {
            let passes: Vec<(u64, u64)> = (0..scenarios)
                .map(|_| {
                    let rate = chance.rate(mean, spread);
                    (chance.passes(trials, rate), trials)
                })
                .collect();
            let (clustered, _) = clustered::rate(passes.iter().copied());
            let all = passes.iter().fold((0, 0), |all, of| (all.0 + of.0, all.1 + of.1));
            let plain = statistics::interval(all.0, all.1);
            [clustered, plain].map(|rate| (rate.low..=rate.high).contains(&mean))
        });
        let share = |of: usize| Share::Found {
            count: holds.iter().filter(|holds| holds[of]).count() as u64,
            of: holds.len() as u64,
        };
        let what = format!(
            "the interval of a run holds the rate of scenarios like these: {scenarios} × {trials}, mean {mean}"
        );
        sheet.line(what, Required::AtLeast(0.92), share(0), "");
        sheet.line("the same as if trials were independent", Required::Nothing, share(1), "not in gabfest");
    }
    for (quantile, name) in [(0.5, "median"), (0.95, "p95")] {
        let found = sheet.share(|chance| {
            let (base, new) = (conversations(chance), conversations(chance));
            quantile::difference(&base, &new, quantile).is_some_and(|found| found.low > 0.0)
        });
        let what =
            format!("A/A called slower: {name} of the turns of 10 cases × 20 conversations, 2 % without an answer");
        sheet.line(what, Required::AtMost(CHANCE), found, "");
    }
    let found = sheet.share(|chance| {
        let cell = |chance: &mut Chance, scenario| {
            let rate = chance.rate(0.9, 3.0);
            Stratum {
                scenario,
                base_pass: chance.passes(4, rate),
                base_trials: 4,
                new_pass: chance.passes(4, rate),
                new_trials: 4,
                ..Stratum::default()
            }
        };
        let strata: Vec<Stratum> = (0..50).map(|scenario| cell(chance, scenario)).collect();
        stratified(&strata).is_some_and(|found| found.chance <= CHANCE)
    });
    sheet.line("a named check, 50 cases × 4, nothing changed: chance ≤ 5 %", Required::AtMost(CHANCE), found, "");
    for (agreed, labels) in [(0.8, 100), (0.9, 184)] {
        // Two raters with half of each label agree by chance in half of the items.
        let truth = 2.0 * agreed - 1.0;
        let found = sheet.share(|chance| {
            let pairs: Vec<(bool, bool)> = (0..labels)
                .map(|_| {
                    let person = chance.is(0.5);
                    (person, if chance.is(agreed) { person } else { !person })
                })
                .collect();
            let kappa = kappa::of(&pairs);
            (kappa.low..=kappa.high).contains(&truth)
        });
        let what = format!("the 95 % interval of kappa holds {truth:.1}, {labels} labels");
        sheet.line(what, Required::AtLeast(0.93), found, "");
    }
}

/// Turns of one conversation are alike.
fn conversations(chance: &mut Chance) -> Vec<Cluster> {
    let mut all = Vec::new();
    for case in 0..10 {
        for _ in 0..20 {
            let of_conversation = chance.duration();
            let turn = |chance: &mut Chance| {
                let time = of_conversation * chance.duration() * (1.0 + f64::from(case) / 10.0);
                if chance.is(0.02) { f64::INFINITY } else { time }
            };
            all.push(Cluster { weight: 1.0 / 20.0, values: (0..3).map(|_| turn(chance)).collect() });
        }
    }
    all
}
