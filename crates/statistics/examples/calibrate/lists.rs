//! The list of cases that are worse: how many of its entries are false.

use statistics::compare::{discoveries::adjusted, exact::fisher};

use crate::{
    chance::Chance,
    sheet::{Required, Share, Sheet},
};

const CASES: usize = 200;
const TRIALS: u64 = 20;
/// The share of a list's findings that may be false.
const FALSE_SHARE: f64 = 0.05;

pub(crate) fn calibrate(sheet: &mut Sheet) {
    sheet.section("The list of worse and better cases (Benjamini and Hochberg)");
    let what = format!("nothing changed, {CASES} cases × {TRIALS} at 0.95: the list has an entry");
    let found = sheet.share(|chance| !list(chance, 0).is_empty());
    sheet.line(what, Required::AtMost(FALSE_SHARE), found, "");
    for fallen in [5, 20] {
        let lists = sheet.play(|chance| {
            let list = list(chance, fallen);
            let right = list.iter().filter(|case| **case < fallen).count();
            (list.len(), right)
        });
        let share = |(all, right): &(usize, usize)| (all - right) as f64 / (*all).max(1) as f64;
        let mean = lists.iter().map(share).sum::<f64>() / lists.len() as f64;
        let found = lists.iter().map(|(_, right)| *right as f64).sum::<f64>() / lists.len() as f64;
        let note = format!("finds {found:.1} of {fallen} on average");
        let what = format!("{fallen} of {CASES} cases fell from 0.95 to 0.5: mean share of false entries");
        sheet.line(what, Required::AtMost(FALSE_SHARE), Share::Exact(mean), note);
    }
    let popular = sheet.play(|chance| (0..CASES).filter(|_| chance.passes(5, 0.95) < 4).count());
    let nights = popular.iter().filter(|alarms| **alarms > 0).count() as u64;
    let mean = popular.iter().sum::<usize>() as f64 / popular.len() as f64;
    let note = format!("{mean:.1} false alarms a night; not in gabfest");
    let found = Share::Found { count: nights, of: popular.len() as u64 };
    sheet.line("the rule \"4 of 5 must pass\", nothing changed: a case alarms", Required::Nothing, found, note);
}

/// The numbers of the cases on the list; the first `fallen` did change.
fn list(chance: &mut Chance, fallen: usize) -> Vec<usize> {
    let of = |case: usize| {
        let after = if case < fallen { 0.5 } else { 0.95 };
        fisher(chance.passes(TRIALS, 0.95), TRIALS, chance.passes(TRIALS, after), TRIALS)
    };
    let chances: Vec<f64> = (0..CASES).map(of).collect();
    let listed = adjusted(&chances).into_iter().enumerate().filter(|(_, chance)| *chance <= FALSE_SHARE);
    listed.map(|(case, _)| case).collect()
}
