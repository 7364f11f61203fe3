//! Dates of the calendar in a text, as day and month.

use std::{ops::Range, sync::LazyLock};

use regex::{Captures, Regex};

const MONTHS: &str = concat!(
    "(jan(?:uary|uar)?|jänner|enero|feb(?:ruary|ruar)?|febrero|mar(?:ch|zo)?|märz|apr(?:il)?|abril|may|mai|mayo|june?|juni|junio",
    "|july?|juli|julio|aug(?:ust)?|agosto|sept?(?:ember)?|septiembre|oct(?:ober)?|okt(?:ober)?|octubre|nov(?:ember)?|noviembre",
    "|dec(?:ember)?|dez(?:ember)?|diciembre)",
);

/// How the months begin, in the order in which they are compared.
const STARTS: [(&str, u32); 17] = [
    ("ja", 1),
    ("jä", 1),
    ("en", 1),
    ("f", 2),
    ("mar", 3),
    ("mär", 3),
    ("ap", 4),
    ("ab", 4),
    ("ma", 5),
    ("jun", 6),
    ("jul", 7),
    ("au", 8),
    ("ag", 8),
    ("s", 9),
    ("o", 10),
    ("n", 11),
    ("d", 12),
];

/// `3 March`, `3. März`, `3 de marzo`, `2nd of May`.
static DAY_MONTH: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"(?i)\b([0-3]?\d)(?:st|nd|rd|th)?\.?\s+(?:of\s+|de\s+)?{MONTHS}\b")));
/// `March 3rd`.
static MONTH_DAY: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"(?i)\b{MONTHS}\.?\s+([0-3]?\d)(?:st|nd|rd|th)?\b")));
/// `2026-03-12`.
static ISO: LazyLock<Regex> = LazyLock::new(|| regex(r"\b\d{4}-(\d{2})-(\d{2})\b"));
/// `12.03.2026`, `3/12/26`.
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(\d{1,2})([./-])(\d{1,2})[./-](?:\d{4}|\d{2})\b"));

fn regex(expression: &str) -> Regex {
    Regex::new(expression).expect("the expressions are fixed, and a test compiles them")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Date {
    day: u32,
    month: u32,
    /// With slashes, the month can stand first.
    either_way: bool,
    /// Its bytes in the text.
    pub(super) place: Range<usize>,
}

impl Date {
    fn new(day: &str, month: Option<u32>, either_way: bool, found: &Captures<'_>) -> Option<Self> {
        let (day, month) = (day.parse().ok()?, month?);
        let is_date = |day: u32, month: u32| (1..=31).contains(&day) && (1..=12).contains(&month);
        let place = found.get(0)?.range();
        (is_date(day, month) || either_way && is_date(month, day)).then_some(Self { day, month, either_way, place })
    }

    pub(super) fn is_same_day(&self, other: &Self) -> bool {
        let turns = self.either_way || other.either_way;
        (self.day, self.month) == (other.day, other.month)
            || turns && (self.day, self.month) == (other.month, other.day)
    }
}

pub(super) fn find(text: &str) -> Vec<Date> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let day_month = DAY_MONTH.captures_iter(text).filter_map(|it| Date::new(&it[1], month(&it[2]), false, &it));
    let month_day = MONTH_DAY.captures_iter(text).filter_map(|it| Date::new(&it[2], month(&it[1]), false, &it));
    let iso = ISO.captures_iter(text).filter_map(|it| Date::new(&it[2], it[1].parse().ok(), false, &it));
    let numbers =
        NUMBERS.captures_iter(text).filter_map(|it| Date::new(&it[1], it[3].parse().ok(), &it[2] == "/", &it));
    day_month.chain(month_day).chain(iso).chain(numbers).collect()
}

fn month(name: &str) -> Option<u32> {
    let name = name.to_lowercase();
    STARTS.iter().find(|(start, _)| name.starts_with(start)).map(|(_, month)| *month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_the_same_however_it_is_written() {
        for (left, right, expected) in [
            ("on 3 March 2026", "2026-03-03", true),
            ("May 2nd", "1987-05-02", true),
            ("2nd of May, '87", "2. Mai 1987", true),
            ("02/05/1987", "5/2/87", true),
            ("02.05.1987", "05.02.1987", false),
            ("el 14 de marzo", "14. März", true),
            ("14 March", "15 March", false),
            ("1 de enero", "1. Jänner", true),
            ("9 June", "9. Juli", false),
        ] {
            assert_eq!(find(left)[0].is_same_day(&find(right)[0]), expected, "{left:?} {right:?}");
        }
        for nothing in ["45 minutes", "at 9.30", "may 5000 people", "99/99/99", "version 1.2.3", ""] {
            assert!(find(nothing).is_empty(), "{nothing:?}: {:?}", find(nothing));
        }
    }
}
