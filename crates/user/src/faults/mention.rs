//! Whether a text names the value of a fact, however it is written: `2 May 1987` names `1987-05-02`.

use super::{date, fold};

/// Shorter numbers are compared as whole words alone: `42` is in many numbers.
const SHORTEST_NUMBER: usize = 6;

pub(super) fn names(text: &str, value: &str) -> bool {
    let words = fold::words(value);
    if words.trim().is_empty() || text.is_empty() {
        return false;
    }
    if fold::words(text).contains(words.as_str()) {
        return true;
    }
    if !value.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    if let Some(date) = date::find(value).first() {
        return date::find(text).iter().any(|found| found.is_same_day(date));
    }
    let number = fold::squashed(value);
    number.len() >= SHORTEST_NUMBER && fold::squashed(text).contains(&number)
}
