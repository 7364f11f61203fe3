//! The words of a comparison: chances, points, and what differs.

use statistics::compare::{
    found::{CaseFound, ContractDifference, Moved, SideFound},
    nights::NightsFound,
};

use crate::figures::{count, millis, percent, usd};

/// Above this chance a difference is what two runs of the same agent show.
pub(super) const USUAL: f64 = 0.1;
const MILLION: f64 = 1e6;
const DIGEST_CHARS: usize = 8;

/// `1 in 4,000 by chance`.
pub(super) fn chance(chance: f64) -> String {
    if chance > USUAL {
        return format!("not unusual between two runs: {} by chance", percent(chance));
    }
    one_in(chance).map_or_else(|| "less than 1 in a million by chance".to_owned(), |odds| format!("{odds} by chance"))
}

/// `1 in 170`, in two digits; `None` beyond a million.
pub(super) fn one_in(chance: f64) -> Option<String> {
    let odds = 1.0 / chance;
    if !odds.is_finite() || odds > MILLION {
        return None;
    }
    let unit = 10_f64.powf(odds.log10().floor() - 1.0).max(1.0);
    Some(format!("1 in {}", count(((odds / unit).round() * unit) as u64)))
}

/// What the history says about the difference.
pub(super) fn nights(found: &NightsFound) -> String {
    let usual = points(found.usual).trim_start_matches('+').to_owned();
    let differences = count(found.differences);
    let odds = one_in(found.chance).unwrap_or_else(|| "less than 1 in a million".to_owned());
    if found.beyond {
        format!(
            "The history has {differences} differences from one night to the next, by {usual}; the difference of these runs is larger than nights explain ({odds}): the agent changed, or what is listed here"
        )
    } else {
        format!(
            "The history has {differences} differences from one night to the next, by {usual}; the difference of these runs may be the night's"
        )
    }
}

/// `−11.7 points`.
pub(super) fn points(share: f64) -> String {
    format!("{} {}", signed(share), if (share.abs() - 0.01).abs() < 1e-9 { "point" } else { "points" })
}

/// `−11.7`, in percentage points.
pub(super) fn signed(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    let sign = if tenths < 0.0 {
        "−"
    } else if tenths > 0.0 {
        "+"
    } else {
        ""
    };
    let size = tenths.abs();
    if size.fract() == 0.0 { format!("{sign}{size:.0}") } else { format!("{sign}{size:.1}") }
}

/// `refund / combo-000-59fc3c / impatient @ bot`.
pub(super) fn name(case: &CaseFound) -> String {
    let mut name = case.title.clone();
    if let Some(variant) = case.variant.as_ref().filter(|variant| **variant != case.title) {
        name.push_str(&format!(" / {variant}"));
    }
    if let Some(persona) = &case.persona {
        name.push_str(&format!(" / {persona}"));
    }
    if let Some(agent) = &case.agent {
        name.push_str(&format!(" @ {agent}"));
    }
    name
}

/// `18/20`, and trials without a result.
pub(super) fn passed(side: SideFound) -> String {
    let open = if side.undecided > 0 { format!(" ({} undecided)", count(side.undecided)) } else { String::new() };
    format!("{}/{}{open}", count(side.pass), count(side.pass + side.fail))
}

/// `median turn 120 ms → 340 ms`.
pub(super) fn times(moved: &Moved) -> String {
    let time = |of: Option<f64>| of.map_or_else(|| "no answer".to_owned(), millis);
    format!("median turn {} → {}", time(moved.base), time(moved.new))
}

/// `$0.01 → $0.02 a conversation`.
pub(super) fn costs(moved: &Moved) -> String {
    let cost = |of: Option<f64>| of.map_or_else(|| "unknown".to_owned(), usd);
    format!("{} → {} a conversation", cost(moved.base), cost(moved.new))
}

/// `model of judge: gpt-4.1 → gpt-5`; digests are not shown whole.
pub(super) fn difference(of: &ContractDifference) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let digest = |value: &Option<String>| {
        value.as_ref().map_or_else(|| "none".to_owned(), |one| one.chars().take(DIGEST_CHARS).collect())
    };
    match of.what.as_str() {
        "model" => format!("model of {}: {} → {}", of.name, value(&of.base), value(&of.new)),
        "gabfest" => format!("gabfest: {} → {}", value(&of.base), value(&of.new)),
        what => format!("{what} {}: {} → {}", of.name, digest(&of.base), digest(&of.new)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_read_as_odds() {
        for (given, text) in [
            (0.7, "not unusual between two runs: 70% by chance"),
            (0.1, "1 in 10 by chance"),
            (0.005_74, "1 in 170 by chance"),
            (0.000_26, "1 in 3,800 by chance"),
            (1e-9, "less than 1 in a million by chance"),
            (0.0, "less than 1 in a million by chance"),
        ] {
            assert_eq!(chance(given), text);
        }
    }

    #[test]
    fn differences_are_in_points_with_a_sign() {
        for (share, text) in [
            (-0.117, "−11.7 points"),
            (0.01, "+1 point"),
            (0.0, "0 points"),
            (-0.45, "−45 points"),
            (0.0001, "0 points"),
        ] {
            assert_eq!(points(share), text);
        }
    }
}
