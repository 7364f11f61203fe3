//! Nights of one agent that differ by chance and by night: how often the history, the ledger, a quarantine and sentinels raise an alarm.

use statistics::{
    compare::{
        found::RateFound,
        nights::NightsFound,
        power::{Design, Expected, Nights},
        rate::{CHANCE, Difference, Stratum, Within, difference},
    },
    ledger::{Belief, HALF_LIFE, Outcomes, State, night_correlation},
    quarantine::ALERT,
    sentinels::{self, NightSentinels, SentinelVerdict},
};

use crate::{
    chance::Chance,
    sheet::{Required, Share, Sheet, percent},
};

const SCENARIOS: usize = 40;
const TRIALS: u64 = 20;
/// Of the logit of every scenario, in one night.
const NIGHT: f64 = 0.3;

pub(crate) fn calibrate(sheet: &mut Sheet) {
    sheet.section("Nights of the same agent (A/A), which differ for all scenarios (logit ± 0.3)");
    for nights in [7, 14] {
        let what =
            format!("larger than nights explain: {SCENARIOS} scenarios × {TRIALS}, a history of {nights} nights");
        let found = sheet.share(|chance| is_beyond_nights(chance, nights, 0.0));
        sheet.line(what, Required::AtMost(CHANCE), found, "");
        let found = sheet.share(|chance| is_beyond_nights(chance, nights, 1.2));
        sheet.line("the same for an agent that got worse (logit − 1.2)", Required::Nothing, found, "found");
    }
    for (rate, trials) in [(0.7, 20), (0.9, 20), (0.5, 5)] {
        let what = format!("alert about a quarantined case: rate {rate}, {trials} trials in each of 10 nights");
        let found = sheet.share(|chance| alerts(chance, rate, rate, trials));
        sheet.line(what, Required::AtMost(ALERT), found, "");
        let found = sheet.share(|chance| alerts(chance, rate, rate / 3.0, trials));
        sheet.line("the same for a case that passes a third as often", Required::Nothing, found, "found");
    }
    ledger(sheet);
    for flips in [0.0, 0.05, 0.2] {
        let what =
            format!("the judge is said to have changed: 30 sentinels, {} flip by chance, 5 nights", percent(flips));
        let found = sheet.share(|chance| drifts(chance, flips, 0.0));
        sheet.line(what, Required::AtMost(sentinels::CHANCE), found, "");
        let found = sheet.share(|chance| drifts(chance, flips, 0.4));
        sheet.line("the same for a judge that decides 40 % otherwise", Required::Nothing, found, "found");
    }
    plan(sheet);
}

fn moved(rate: f64, logit: f64) -> f64 {
    1.0 / (1.0 + (1.0 - rate) / rate * (-logit).exp())
}

/// The last night of the history is BASE, and one more is NEW, in which the logit is lower by `fall`.
fn is_beyond_nights(chance: &mut Chance, nights: usize, fall: f64) -> bool {
    let rates: Vec<f64> = (0..SCENARIOS).map(|_| 0.6 + 0.35 * chance.share()).collect();
    let mut play = |fall: f64| -> Vec<u64> {
        let night = chance.normal() * NIGHT - fall;
        rates.iter().map(|rate| chance.passes(TRIALS, moved(*rate, night))).collect()
    };
    let mut history: Vec<Vec<u64>> = (0..nights).map(|_| play(0.0)).collect();
    history.push(play(fall));
    let found: Vec<Difference> =
        history.windows(2).filter_map(|pair| difference(&strata(&pair[0], &pair[1]))).collect();
    let Some((last, before)) = found.split_last() else { return false };
    let differences: Vec<f64> = before.iter().map(|found| found.difference).collect();
    NightsFound::of(&differences, &rate_found(last)).is_some_and(|found| found.beyond)
}

fn strata(base: &[u64], new: &[u64]) -> Vec<Stratum> {
    let both = base.iter().zip(new).enumerate();
    both.map(|(scenario, (base, new))| Stratum {
        scenario,
        base_pass: *base,
        base_trials: TRIALS,
        new_pass: *new,
        new_trials: TRIALS,
        ..Stratum::default()
    })
    .collect()
}

fn rate_found(of: &Difference) -> RateFound {
    RateFound {
        margin: 0.03,
        within: Within::CannotTell,
        rose: false,
        cells: SCENARIOS as u64,
        scenarios: of.scenarios,
        clustered: of.clustered,
        base_pass: 0,
        base_trials: 0,
        new_pass: 0,
        new_trials: 0,
        quarantined: 0,
        base_undecided: 0,
        new_undecided: 0,
        least_difference: None,
        most_difference: None,
        decided_by_undecided: false,
        base_rate: Some(of.base),
        new_rate: Some(of.new),
        difference: Some(of.difference),
        low: Some(of.low),
        high: Some(of.high),
        chance_if_equal: None,
        chance_if_worse_by_margin: None,
    }
}

/// How much nights differ is estimated from this case and eleven others.
fn alerts(chance: &mut Chance, rate: f64, tonight: f64, trials: u64) -> bool {
    let mut nights = [0.0; 11];
    nights.fill_with(|| chance.normal() * NIGHT);
    let mut play = |rate: f64, night: f64| Outcomes { passed: chance.passes(trials, moved(rate, night)), trials };
    let (tonight_is, before) = nights.split_last().expect("there are nights");
    let cases: Vec<Vec<Outcomes>> = (0..12).map(|_| before.iter().map(|night| play(rate, *night)).collect()).collect();
    let correlation = night_correlation(cases.iter().map(Vec::as_slice));
    let belief = Belief::of(&cases[0], correlation, HALF_LIFE);
    belief.chance_of_at_most(play(tonight, *tonight_is), correlation) <= ALERT
}

/// Cases with rates from the ledger's own prior: of those that are called something with 90 % or more, so many must be it.
fn ledger(sheet: &mut Sheet) {
    let calls = sheet.play(|chance| {
        let rate = chance.rate(0.5, 1.0);
        let nights: Vec<Outcomes> =
            (0..8).map(|_| Outcomes { passed: chance.passes(TRIALS, rate), trials: TRIALS }).collect();
        let belief = Belief::of(&nights, 0.0, HALF_LIFE);
        let (stated, is) = match belief.state {
            State::Stable => (belief.stable, rate >= 0.98),
            State::Broken => (belief.broken, rate <= 0.2),
            State::Flaky | State::New => (belief.flaky, rate > 0.2 && rate < 0.98),
        };
        (stated, is)
    });
    for (low, high) in [(0.9, 1.01), (0.5, 0.9)] {
        let of: Vec<_> = calls.iter().filter(|(stated, _)| (low..high).contains(stated)).collect();
        let mean = of.iter().map(|(stated, _)| stated).sum::<f64>() / of.len().max(1) as f64;
        let right = of.iter().filter(|(_, is)| *is).count() as u64;
        let what = format!("the ledger is right where it says so with {} or more", percent(low));
        let note = format!("{} of the cases; it says {} on average", of.len(), percent(mean));
        sheet.line(what, Required::AtLeast(mean), Share::Found { count: right, of: of.len() as u64 }, note);
    }
}

/// `flips`: how often a verdict differs by chance. `swap`: how many verdicts another judge gives the other way.
fn drifts(chance: &mut Chance, flips: f64, swap: f64) -> bool {
    let mut night = |swap: f64| {
        let mut verdicts = std::collections::BTreeMap::new();
        for id in 0..30 {
            let is_usual = chance.is(1.0 - flips) != chance.is(swap);
            let verdict = if is_usual { "met" } else { "not_met" };
            verdicts.insert(format!("{id}"), SentinelVerdict { label: "met".to_owned(), verdict: verdict.to_owned() });
        }
        NightSentinels { verdicts, ..NightSentinels::default() }
    };
    let before: Vec<NightSentinels> = (0..5).map(|_| night(0.0)).collect();
    sentinels::drift(&before, &night(swap)).drifted
}

/// The planned chance of finding a fall, beside how often the comparison finds it.
fn plan(sheet: &mut Sheet) {
    for (scenarios, fall, wanted) in [(12, 0.10, 0.9), (40, 0.05, 0.9), (4, 0.10, 0.8)] {
        let rates: Vec<f64> = (0..scenarios).map(|place| 0.8 + 0.19 * place as f64 / scenarios as f64).collect();
        let cells = rates.iter().enumerate().map(|(scenario, rate)| Expected { scenario, rate: *rate }).collect();
        let design = Design::new(cells, Nights::default(), 0.03).expect("cells that pass");
        let repeats = design.least_repeats(fall, wanted, 10_000).expect("enough repeats");
        let found = sheet.share(|chance| {
            let lower = 1.0 - fall / design.mean();
            let strata: Vec<Stratum> = rates
                .iter()
                .enumerate()
                .map(|(scenario, rate)| Stratum {
                    scenario,
                    base_pass: chance.passes(u64::from(repeats), *rate),
                    base_trials: u64::from(repeats),
                    new_pass: chance.passes(u64::from(repeats), rate * lower),
                    new_trials: u64::from(repeats),
                    ..Stratum::default()
                })
                .collect();
            difference(&strata).is_some_and(|found| found.within(0.03) == Within::Worse)
        });
        let points = fall * 100.0;
        let what = format!("`gabfest plan` finds a fall of {points} points: {scenarios} scenarios × {repeats}");
        let note = format!("planned {}", percent(design.power(repeats, fall)));
        sheet.line(what, Required::AtLeast(wanted - 0.02), found, note);
    }
}
