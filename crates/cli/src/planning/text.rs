//! The plan of a comparison for people.

use std::fmt::Write as _;

use record::count::{digits, plural};
use statistics::planning::{Basis, Chosen, Cost, CostSource, Planning, Wall};

use super::Planned;
use crate::estimate::duration::human;

pub(crate) fn text(planned: &Planned) -> String {
    let found = &planned.planning;
    let mut text = String::new();
    let _ = writeln!(text, "{}", answer(planned));
    if let Some(chosen) = &found.chosen {
        if found.repeats != Some(chosen.repeats) {
            let _ = writeln!(text, "{}", detects(found, chosen));
        }
        let _ = writeln!(text, "\ntime   {}{}", time(&chosen.wall), planned.times);
        let _ = writeln!(text, "money  {}", money(&chosen.cost));
    }
    let _ = writeln!(text, "{}", basis(planned));
    text
}

/// How many repeats are needed.
fn answer(planned: &Planned) -> String {
    let found = &planned.planning;
    let cases = cases(found);
    let fall = format!("a fall of {} with a chance of {}", points(found.detect), report::percent(found.power));
    let conversations = |repeats: u32| u64::from(repeats) * (found.cases + planned.quarantined);
    match found.repeats {
        Some(repeats) => format!(
            "to find {fall}, `gabfest compare --margin {}pp` needs {} of each of {cases} in both runs: {} a run",
            (found.margin * 1e4).round() / 1e2,
            plural(u64::from(repeats), "repeat", "repeats"),
            plural(conversations(repeats), "conversation", "conversations"),
        ),
        None => {
            let limit = match found.smallest_with_any_repeats {
                Some(limit) => format!("the smallest fall that repeats can find is {}", points(tenths(limit))),
                None => "repeats cannot find any".to_owned(),
            };
            format!("no number of repeats of {cases} finds {fall}; {limit}\n{}", mend(found))
        }
    }
}

/// What would make a smaller fall visible.
fn mend(found: &Planning) -> &'static str {
    if (found.detect - found.margin).abs() < 1e-9 && found.power > 0.9 {
        "hint: of a fall by the whole margin at most 95 of 100 are found; choose a smaller margin with --margin"
    } else if found.clustered {
        "hint: more scenarios make a smaller fall visible; more repeats of these do not"
    } else {
        "hint: with 6 scenarios or more, a comparison knows how much scenarios differ"
    }
}

/// What the planned repeats find, if they are not those that are needed.
fn detects(found: &Planning, chosen: &Chosen) -> String {
    let paid = match &found.budget {
        Some(budget) if !budget.is_enough && budget.repeats == chosen.repeats => {
            format!("{} pays ", usd(budget.usd))
        }
        _ => String::new(),
    };
    let repeats = plural(u64::from(chosen.repeats), "repeat", "repeats");
    let (conversations, verb) = (
        plural(chosen.conversations, "conversation", "conversations"),
        if paid.is_empty() { "find" } else { "which find" },
    );
    let smallest = match chosen.smallest {
        Some(fall) => {
            format!("a fall of {} or more with a chance of {}", points(tenths(fall)), report::percent(found.power))
        }
        None => format!("no fall with a chance of {}", report::percent(found.power)),
    };
    let colon = if paid.is_empty() { ")" } else { ")," };
    format!(
        "{paid}{repeats} ({conversations} a run{colon} {verb} {smallest}, and one of {} with a chance of {}",
        points(found.detect),
        report::percent(chosen.power)
    )
}

fn cases(found: &Planning) -> String {
    let cases = plural(found.cases, "case", "cases");
    let scenarios = plural(found.scenarios, "scenario", "scenarios");
    if found.cases == found.scenarios { cases } else { format!("{cases} of {scenarios}") }
}

fn time(wall: &Wall) -> String {
    let range = span(wall.low_seconds, wall.high_seconds);
    let by = if wall.low_limit == wall.high_limit {
        wall.low_limit.clone()
    } else {
        format!("{}, or {}", wall.low_limit, wall.high_limit)
    };
    let past = wall.history.map_or_else(String::new, |past| {
        let nights = plural(past.nights, "night", "nights");
        format!("\n       {} if conversations take as long as in {nights}", span(past.low, past.high))
    });
    format!("{range}; the limit is {by}{past}")
}

/// `2 minutes to 5 minutes`.
fn span(low: f64, high: f64) -> String {
    let (low, high) = (human(low), human(high));
    if low == high { low } else { format!("{low} to {high}") }
}

fn money(cost: &Cost) -> String {
    match (cost.source, cost.usd, cost.low.zip(cost.high)) {
        (CostSource::History, Some(mean), Some((low, high))) => {
            format!("{} a run, {} to {} in 9 of 10 nights by the history", usd(mean), usd(low), usd(high))
        }
        (_, Some(_), Some((_, high))) if high <= 0.0 => "nothing".to_owned(),
        (_, Some(_), Some((low, high))) => {
            format!("{} to {} a run, by the files and prices", usd(low), usd(high))
        }
        _ => format!("unknown: there is no price of {}", cost.unpriced.join(", ")),
    }
}

/// Where the figures come from.
fn basis(planned: &Planned) -> String {
    let found = &planned.planning;
    let Basis { nights, known_cases, assumed_rate, night_correlation, common_deviation, usual_difference } =
        found.basis;
    let mut text = String::from("basis  ");
    if known_cases == 0 {
        let _ = write!(
            text,
            "no history of these cases: assumed are a success rate of {} of each (--assume-rate) and nights that differ by chance only",
            report::percent(assumed_rate)
        );
    } else {
        let _ = write!(
            text,
            "{} of the history; the expected success rate is {}",
            plural(nights, "night", "nights"),
            report::percent(found.success_rate)
        );
        let new = found.cases - known_cases;
        if new > 0 {
            let cases = plural(new, "case has", "cases have");
            let _ = write!(text, "; {cases} no result there and count as {}", report::percent(assumed_rate));
        }
        let _ = write!(text, "\n       trials of one night are alike with a correlation of {night_correlation:.2}; ");
        match common_deviation.zip(usual_difference) {
            Some((common, usual)) => {
                let _ = write!(
                    text,
                    "from one night to the next the success rate differs by {}, of which all cases share {}",
                    points(usual),
                    points(common)
                );
            }
            None => {
                text.push_str("fewer than 7 nights do not show whether all cases move together, so none is assumed to")
            }
        }
    }
    text.push_str(
        "\n       a fall is taken to lower every case by the same share, and equal seeds not to make trials alike",
    );
    if planned.quarantined > 0 {
        let _ = write!(
            text,
            "\n       {} in quarantine: played, and not compared",
            plural(planned.quarantined, "case is", "cases are")
        );
    }
    if let (Some(budget), Some(needed)) = (&found.budget, planned.needed_usd)
        && !budget.is_enough
    {
        let _ = write!(
            text,
            "\nbudget {} a run would pay {} repeats",
            usd(needed),
            digits(u64::from(found.repeats.unwrap_or_default()))
        );
        if budget.repeats == 0 {
            let _ = write!(text, "; {} does not pay one", usd(budget.usd));
        }
    }
    text
}

/// A fall that is found, in tenths of a point rounded up.
fn tenths(fall: f64) -> f64 {
    (fall * 1_000.0).ceil() / 1_000.0
}

/// `3 points`, `1.25 points`.
fn points(share: f64) -> String {
    let points = (share * 1e4).round() / 1e2;
    format!("{points} {}", if (points - 1.0).abs() < 1e-9 { "point" } else { "points" })
}

fn usd(dollars: f64) -> String {
    let cents = if dollars < 1.0 { 4 } else { 2 };
    format!("${dollars:.cents$}")
}
