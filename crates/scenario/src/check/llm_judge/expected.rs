//! What a judge should find: `yes`, `no`, `0.8+`, `0.3-`, `0.4-0.6`, or any other word.

use serde::{Deserialize, Serialize};

/// What the judge should find.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    Yes,
    No,
    /// `0.8+`: confidence at least this.
    AtLeast(f64),
    /// `0.3-`: confidence at most this.
    AtMost(f64),
    /// `0.4-0.6`: confidence within, both ends included.
    Between(f64, f64),
    /// Any other word: the judgment must contain it.
    Says(String),
}

/// Reads the grammar.
///
/// # Errors
/// A confidence outside 0 to 1, an empty range, a bare number, or no text; a lowercase fragment.
pub(super) fn parse(text: &str) -> Result<Expected, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("expected what the judge should find, found no text".to_owned());
    }
    if trimmed.eq_ignore_ascii_case("yes") {
        return Ok(Expected::Yes);
    }
    if trimmed.eq_ignore_ascii_case("no") {
        return Ok(Expected::No);
    }
    if let Some(least) = trimmed.strip_suffix('+').and_then(number) {
        return Ok(Expected::AtLeast(confidence(least)?));
    }
    if let Some(most) = trimmed.strip_suffix('-').and_then(number) {
        return Ok(Expected::AtMost(confidence(most)?));
    }
    if let Some((low, high)) = range(trimmed) {
        let (low, high) = (confidence(low)?, confidence(high)?);
        if low > high {
            return Err(format!("the range {low}-{high} is empty"));
        }
        return Ok(Expected::Between(low, high));
    }
    if let Some(bare) = number(trimmed) {
        return Err(format!("`{bare}` is not an expectation: write `{bare}+` for at least, `{bare}-` for at most"));
    }
    Ok(Expected::Says(trimmed.to_owned()))
}

/// The dash of a range is between two numbers; a dash of a negative number or exponent is not.
fn range(text: &str) -> Option<(f64, f64)> {
    text.match_indices('-')
        .skip_while(|(at, _)| *at == 0)
        .find_map(|(at, _)| Some((number(&text[..at])?, number(&text[at + 1..])?)))
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    // Rust would take `inf` and `nan` for numbers.
    let written = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
    if written { text.parse().ok() } else { None }
}

fn confidence(number: f64) -> Result<f64, String> {
    if (0.0..=1.0).contains(&number) {
        return Ok(number);
    }
    Err(format!("a confidence lies from 0 to 1, found {number}"))
}
