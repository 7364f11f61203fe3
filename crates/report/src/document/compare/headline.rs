//! The top of a comparison: the verdict and why, the success rates, and the cases in numbers.

use record::Verdict;
use statistics::compare::{
    found::{CaseFound, CompareVerdict, Comparison, Outcome, RateFound},
    rate::Within,
};

use super::words;
use crate::{
    document::{
        headline::{Fact, Headline, Words},
        sentinels,
    },
    figures::{count, percent, plural},
    marks::Mark,
};

pub(super) fn of(comparison: &Comparison) -> Headline {
    let (verdict, word) = match comparison.verdict {
        CompareVerdict::Better => (Verdict::Pass, "BETTER"),
        CompareVerdict::NotWorse => (Verdict::Pass, "NOT WORSE"),
        CompareVerdict::Worse => (Verdict::Fail, "WORSE"),
        CompareVerdict::CannotTell => (Verdict::Inconclusive, "CANNOT TELL"),
    };
    let fact = |name, text: String| Fact { name, words: vec![Words { text, verdict: None }] };
    let mut facts = vec![fact("because", because(comparison))];
    facts.extend(rates(&comparison.rate).map(|text| fact("success", text)));
    facts.push(Fact { name: "cases", words: cases(comparison) });
    facts.extend(comparison.sentinels.as_ref().and_then(sentinels::alert_between).map(|text| fact("judge", text)));
    facts.extend(undecided(&comparison.rate).map(|text| fact("undecided", text)));
    Headline {
        mark: Mark { word, ..Mark::of(verdict) },
        name: format!("{} → {}", comparison.base.called, comparison.new.called),
        note: None,
        facts,
    }
}

/// Why the verdict is what it is.
fn because(comparison: &Comparison) -> String {
    let rate = &comparison.rate;
    let margin = words::points(rate.margin).trim_start_matches('+').to_owned();
    let moved = |how: &str| {
        let chance = words::chance(rate.chance_if_equal.unwrap_or(1.0));
        format!("the success rate {how} ({chance})")
    };
    let fell = || moved("fell");
    let listed = plural(comparison.worse_cases, "case is worse", "cases are worse");
    match (rate.within, comparison.worse_cases) {
        (Within::Worse, 0) => fell(),
        (Within::Worse, _) => format!("{}, and {listed}", fell()),
        (_, 1..) => listed,
        (Within::NotWorse, 0) if rate.rose => format!("{}, and no case is worse", moved("rose")),
        (Within::NotWorse, 0) => {
            let odds = |chance| words::one_in(chance).unwrap_or_else(|| "less than 1 in a million".to_owned());
            let chance = rate
                .chance_if_worse_by_margin
                .map_or_else(String::new, |chance| format!(" (if it had, the chance of this is {})", odds(chance)));
            format!("the success rate did not fall by {margin}{chance}, and no case is worse")
        }
        (Within::CannotTell, 0) if rate.cells == 0 && rate.quarantined > 0 => {
            "all cases that the runs have in common are in quarantine".to_owned()
        }
        (Within::CannotTell, 0) if rate.cells == 0 => "the runs have no case in common".to_owned(),
        (Within::CannotTell, 0) if rate.decided_by_undecided => {
            "trials without a result could turn the answer round".to_owned()
        }
        (Within::CannotTell, 0) => match (rate.low, rate.high) {
            (Some(low), Some(_)) => format!(
                "too little evidence: the success rate may have fallen by up to {}, and {margin} are allowed",
                words::points(low).trim_start_matches('−')
            ),
            _ => "no compared case has a result in both runs".to_owned(),
        },
    }
}

/// `91.7% → 80%: −11.7 points (between −19 and −4.2), 110 of 120 → 96 of 120 trials`.
fn rates(rate: &RateFound) -> Option<String> {
    let (low, high) = (words::signed(rate.low?), words::signed(rate.high?));
    let held = match (rate.clustered, rate.scenarios) {
        (true, _) => "for scenarios like these".to_owned(),
        (false, 1) => "for this scenario".to_owned(),
        (false, few) => format!("for these {few} scenarios"),
    };
    Some(format!(
        "{} → {}: {} (between {low} and {high}, {held}); {} of {} → {} of {} trials",
        percent(rate.base_rate?),
        percent(rate.new_rate?),
        words::points(rate.difference?),
        count(rate.base_pass),
        count(rate.base_trials),
        count(rate.new_pass),
        count(rate.new_trials),
    ))
}

fn cases(comparison: &Comparison) -> Vec<Words> {
    let contract = &comparison.contract;
    let paired = match contract.paired {
        0 => String::new(),
        paired if paired == contract.compared => " with the same seeds".to_owned(),
        paired => format!(" ({} with the same seeds)", count(paired)),
    };
    let compared = format!("{} compared{paired}", count(contract.compared));
    let mut all = vec![Words { text: compared, verdict: None }];
    for (outcome, word, verdict) in [
        (Outcome::Worse, "worse", Some(Verdict::Fail)),
        (Outcome::NewlyFailing, "newly failing", Some(Verdict::Fail)),
        (Outcome::Flakier, "perhaps flakier", None),
        (Outcome::Better, "better", Some(Verdict::Pass)),
        (Outcome::Fixed, "fixed", Some(Verdict::Pass)),
        (Outcome::MoreStable, "perhaps more stable", None),
        (Outcome::Same, "the same", None),
        (Outcome::Undecided, "undecided", Some(Verdict::Inconclusive)),
        (Outcome::New, "new", None),
        (Outcome::Gone, "gone", None),
    ] {
        let is = |case: &&CaseFound| case.outcome == outcome && !case.quarantined;
        let number = comparison.cases.iter().filter(is).count() as u64;
        if number > 0 {
            all.push(Words { text: format!("{} {word}", count(number)), verdict });
        }
    }
    let quarantined = comparison.cases.iter().filter(|case| case.quarantined).count() as u64;
    if quarantined > 0 {
        all.push(Words { text: format!("{} in quarantine", count(quarantined)), verdict: None });
    }
    all
}

fn undecided(rate: &RateFound) -> Option<String> {
    (rate.base_undecided + rate.new_undecided > 0).then(|| {
        let trials = plural(rate.base_undecided, "trial", "trials");
        let said = format!("{trials} of BASE and {} of NEW say nothing about the agent", count(rate.new_undecided));
        match rate.least_difference.zip(rate.most_difference) {
            None => said,
            Some((least, most)) => format!(
                "{said}; whatever they would have said, the difference is from {} to {}",
                words::signed(least),
                words::points(most)
            ),
        }
    })
}
