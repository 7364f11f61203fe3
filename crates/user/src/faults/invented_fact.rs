//! `invented_fact`: a number, amount, date or address that the user cannot know.
//!
//! It knows what its scenario, its own lines and the agent say, and what can be computed of two amounts that were named.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    date, fold,
    scene::{Line, Scene},
};

/// Phone numbers are the same if so many of their last digits are: country codes are written in many ways.
const PHONE_DIGITS: usize = 8;
/// Digits of a number that stands alone and is not an everyday figure.
const LONG_NUMBER: usize = 6;
/// Digits of a number that follows a word such as `account`.
const SHORT_NUMBER: usize = 4;
/// Digits of a code with letters, such as `W-4711`.
const CODE_DIGITS: usize = 3;
/// Letters of a unit with capitals.
const LONGEST_UNIT: usize = 2;
/// Words of an answer that is little more than a number.
const BARE_ANSWER: usize = 3;
/// Words between `account number` and the number.
const WORDS_TO_CUE: usize = 4;
/// Amounts that are compared in pairs.
const MOST_AMOUNTS: usize = 48;

static MAIL: LazyLock<Regex> = LazyLock::new(|| regex(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"));
static URL: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\b(?:https?://|www\.)[^\s<>]*[\w/]"));
static PHONE: LazyLock<Regex> = LazyLock::new(|| regex(r"\+?\(?\d(?:[ ()/-]{0,2}\d){6,14}"));
static YEARS: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:19|20)\d\d\s?[-/–]\s?(?:19|20)?\d\d$"));
static AMOUNT: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)(?:(?:[$€£¥]|\b(?:eur|usd|gbp|chf))\s?(\d[\d.,']*)",
        r"|\b(\d[\d.,']*)\s?(?:[$€£¥]|(?:eur|usd|gbp|chf|euros?|dollars?|bucks|pounds? sterling|franken|pesos)\b))",
    ))
});
static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\d[\d.,']*"));

/// Words before a short number that make it the number of something.
const CUES: [&str; 44] = [
    "order",
    "account",
    "customer",
    "card",
    "booking",
    "reference",
    "ticket",
    "id",
    "code",
    "pin",
    "invoice",
    "policy",
    "contract",
    "insurance",
    "member",
    "serial",
    "zip",
    "case",
    "number",
    "digits",
    "iban",
    "bestellung",
    "bestellnummer",
    "kundennummer",
    "kontonummer",
    "karte",
    "buchungsnummer",
    "rechnung",
    "rechnungsnummer",
    "vertrag",
    "vertragsnummer",
    "plz",
    "nummer",
    "ziffern",
    "pedido",
    "cliente",
    "cuenta",
    "tarjeta",
    "reserva",
    "factura",
    "poliza",
    "contrato",
    "codigo",
    "numero",
];

/// Currencies in front of an amount look like codes.
const CURRENCIES: [&str; 4] = ["EUR", "USD", "GBP", "CHF"];

fn regex(expression: &str) -> Regex {
    Regex::new(expression).expect("the expressions are fixed, and a test compiles them")
}

/// What the draft says and nobody has told the user.
pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>) -> Option<String> {
    let say = line.say;
    if !say.bytes().any(|byte| byte.is_ascii_digit() || byte == b'@') && !say.contains("www.") && !say.contains("://") {
        return None;
    }
    let mut rest = say.to_owned();
    let invented = address(&mut rest, scene, &MAIL)
        .or_else(|| address(&mut rest, scene, &URL))
        .or_else(|| day(&mut rest, scene))
        .or_else(|| amount(&mut rest, scene))
        .or_else(|| phone(&mut rest, scene))
        .or_else(|| code(&rest, scene));
    invented.map(|place| say[place].trim().to_owned())
}

/// Whether a text says what was invented. For the arguments of tool calls, in which numbers are written in other ways.
pub(crate) fn is_in(invented: &str, text: &str) -> bool {
    if let Some(invented) = date::find(invented).first() {
        return date::find(text).iter().any(|found| found.is_same_day(invented));
    }
    if AMOUNT.is_match(invented) {
        let amounts = amounts(invented);
        return self::amounts(text).iter().any(|found| amounts.contains(found));
    }
    let invented = fold::squashed(invented);
    !invented.is_empty() && fold::squashed(text).contains(&invented)
}

fn address(rest: &mut String, scene: &Scene<'_>, kind: &Regex) -> Option<Range<usize>> {
    let places: Vec<Range<usize>> = kind.find_iter(rest).map(|found| found.range()).collect();
    let known = |place: &Range<usize>| {
        let address = rest[place.clone()].to_lowercase();
        let plain = address.trim_start_matches("https://").trim_start_matches("http://").trim_start_matches("www.");
        scene.sources().any(|source| source.to_lowercase().contains(plain))
    };
    let invented = places.iter().find(|place| !known(place)).cloned();
    places.into_iter().for_each(|place| blank(rest, place));
    invented
}

fn day(rest: &mut String, scene: &Scene<'_>) -> Option<Range<usize>> {
    let days = date::find(rest);
    let known =
        |day: &date::Date| scene.sources().any(|source| date::find(source).iter().any(|it| it.is_same_day(day)));
    let invented = days.iter().find(|day| !known(day)).map(|day| day.place.clone());
    days.into_iter().for_each(|day| blank(rest, day.place));
    invented
}

fn amount(rest: &mut String, scene: &Scene<'_>) -> Option<Range<usize>> {
    let found: Vec<(Range<usize>, Option<i64>)> = AMOUNT
        .captures_iter(rest)
        .filter_map(|amount| {
            let number = amount.get(1).or_else(|| amount.get(2))?;
            Some((amount.get(0)?.range(), cents(number.as_str())))
        })
        .collect();
    let mut sources = None;
    let mut known = |amount: Option<i64>| {
        let sources: &Vec<i64> = sources.get_or_insert_with(|| {
            let mut all: Vec<i64> = scene.sources().flat_map(amounts).collect();
            // The newest are at the end.
            all.split_off(all.len().saturating_sub(MOST_AMOUNTS))
        });
        amount.is_none_or(|amount| amount == 0 || is_computed(amount, sources))
    };
    let invented = found.iter().find(|(_, amount)| !known(*amount)).map(|(place, _)| place.clone());
    found.into_iter().for_each(|(place, _)| blank(rest, place));
    invented
}

/// Named, or the sum, difference or double of what was named.
fn is_computed(amount: i64, named: &[i64]) -> bool {
    named.contains(&amount)
        || named.iter().any(|one| named.iter().any(|other| one + other == amount || one - other == amount))
}

fn amounts(text: &str) -> Vec<i64> {
    NUMBER.find_iter(text).filter_map(|number| cents(number.as_str())).collect()
}

/// `1.234,50` and `1,234.50` are 123450 cents.
fn cents(number: &str) -> Option<i64> {
    let number = number.trim_end_matches(['.', ',', '\'']);
    let (whole, fraction) = match number.rfind(['.', ',']) {
        Some(at) if (1..=2).contains(&(number.len() - at - 1)) => (&number[..at], &number[at + 1..]),
        _ => (number, ""),
    };
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    let whole: i64 = whole.parse().ok().filter(|whole| *whole < i64::from(u32::MAX))?;
    let fraction: i64 = format!("{fraction:0<2}").parse().ok()?;
    Some(whole * 100 + fraction)
}

fn phone(rest: &mut String, scene: &Scene<'_>) -> Option<Range<usize>> {
    let places: Vec<Range<usize>> = PHONE
        .find_iter(rest)
        .filter(|found| {
            !YEARS.is_match(found.as_str()) && starts_word(rest, found.start()) && ends_word(rest, found.end())
        })
        .map(|found| found.range())
        .collect();
    let known = |place: &Range<usize>| {
        let digits = digits(&rest[place.clone()]);
        let last = &digits[digits.len().saturating_sub(PHONE_DIGITS)..];
        scene.sources().any(|source| self::digits(source).contains(last))
    };
    let invented = places.iter().find(|place| !known(place)).cloned();
    places.into_iter().for_each(|place| blank(rest, place));
    invented
}

fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '-' | '.' | ',' | '/'))
}

fn ends_word(text: &str, at: usize) -> bool {
    !text[at..].starts_with(|after: char| after.is_alphanumeric())
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Numbers of orders, accounts and the like.
fn code(rest: &str, scene: &Scene<'_>) -> Option<Range<usize>> {
    let mut before: Vec<&str> = Vec::new();
    // A bare number answers the agent's question for one.
    if rest.split_whitespace().count() <= BARE_ANSWER {
        let mut heard = scene.heard().split(|edge: char| !edge.is_alphanumeric());
        before.extend(heard.rfind(|word| is_cue(word)));
    }
    for word in rest.split_whitespace() {
        let bare = word.trim_matches(|edge: char| !edge.is_alphanumeric());
        if is_code(bare, &before) && !is_known(bare, scene) {
            let at = bare.as_ptr() as usize - rest.as_ptr() as usize;
            return Some(at..at + bare.len());
        }
        before.push(bare);
    }
    None
}

fn is_code(word: &str, before: &[&str]) -> bool {
    let count = |wanted: fn(&char) -> bool| word.chars().filter(wanted).count();
    let digits = count(char::is_ascii_digit);
    let letters = count(|character| character.is_alphabetic());
    let is_plain =
        word.chars().all(|character| character.is_alphanumeric() || matches!(character, '-' | '_' | '/' | '#'));
    if digits < CODE_DIGITS || !is_plain || YEARS.is_match(word) {
        return false;
    }
    if letters > 0 {
        // `1500g`, `230V` and `1990s` begin with digits and end with a unit.
        let unit = word.trim_start_matches(|it: char| it.is_ascii_digit());
        let is_quantity = unit.len() < word.len()
            && unit.chars().all(char::is_alphabetic)
            && (unit.chars().all(char::is_lowercase) || unit.len() <= LONGEST_UNIT);
        let is_name = word.chars().take_while(|character| character.is_lowercase()).count() > CODE_DIGITS;
        return !is_quantity && !is_name;
    }
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    digits >= LONG_NUMBER || digits >= SHORT_NUMBER && !is_year && follows_cue(before)
}

/// `account number is 4471`, `AB 4471`.
fn follows_cue(before: &[&str]) -> bool {
    let near = before.iter().rev().take(WORDS_TO_CUE);
    let is_prefix = |word: &str| (2..=4).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase());
    before.last().is_some_and(|word| is_prefix(word) && !CURRENCIES.contains(word))
        || near.into_iter().any(|word| is_cue(word))
}

fn is_cue(word: &str) -> bool {
    CUES.contains(&fold::words(word).trim())
}

fn is_known(code: &str, scene: &Scene<'_>) -> bool {
    let code = fold::squashed(code);
    scene.sources().any(|source| fold::squashed(source).contains(&code))
}

/// Hides what was looked at from the detectors behind it, and keeps the places of the rest.
fn blank(text: &mut String, place: Range<usize>) {
    let spaces = " ".repeat(place.len());
    text.replace_range(place, &spaces);
}
