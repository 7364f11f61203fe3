//! How the person types: typing errors, capital letters and punctuation, after the model and by seed.
//!
//! Values of facts, words with a digit, and addresses stay as they are, because the agent must be able to use them.

use std::ops::Range;

use scenario::{
    battery::Chance,
    ids::seed_of,
    user::{Case, Extras, Punctuation, Typing},
};

/// Shorter words are hardly ever mistyped, and would become unrecognisable.
const FEWEST_LETTERS: usize = 3;
/// The rows of a keyboard.
const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];
/// Marks that the person leaves out with `punctuation: sparse`.
const SPARED: [char; 6] = [',', ';', ':', '\'', '’', '"'];
/// Further marks that the person leaves out with `punctuation: none`.
const OTHER_MARKS: [char; 10] = ['.', '!', '?', '…', '(', ')', '¿', '¡', '“', '”'];

/// The line as typed; `None` if it is unchanged.
pub(crate) fn typed(say: &str, extras: &Extras, seed: u64) -> Option<String> {
    let typing = extras.typing?;
    let kept = kept(say, extras);
    let is_kept = |at: usize| kept.iter().any(|range| range.contains(&at));
    let mut chance = Chance::new(seed_of(&[&seed.to_le_bytes(), b"typing"]));
    let mut typed = String::with_capacity(say.len());
    for (start, piece) in pieces(say) {
        if is_address(piece) {
            typed.push_str(piece);
            continue;
        }
        let is_long = piece.chars().filter(|letter| letter.is_alphabetic()).count() >= FEWEST_LETTERS;
        let mut letters = piece.char_indices().peekable();
        while let Some((offset, letter)) = letters.next() {
            let at = start + offset;
            if is_kept(at) {
                typed.push(letter);
                continue;
            }
            if is_left_out(typing.punctuation, letter, say, at) {
                continue;
            }
            let slip = if is_long && letter.is_alphabetic() { slip(&typing, &mut chance) } else { None };
            match slip {
                None => push(&mut typed, letter, typing.case),
                Some(Slip::Drop) => {}
                Some(Slip::Double) => {
                    push(&mut typed, letter, typing.case);
                    push(&mut typed, letter, typing.case);
                }
                Some(Slip::Beside) => push(&mut typed, beside(letter), typing.case),
                Some(Slip::Swap) => {
                    let next = letters.next_if(|(offset, next)| next.is_alphabetic() && !is_kept(start + offset));
                    next.into_iter().for_each(|(_, next)| push(&mut typed, next, typing.case));
                    push(&mut typed, letter, typing.case);
                }
            }
        }
    }
    // A line of punctuation alone stays.
    (typed != say && !typed.trim().is_empty()).then_some(typed)
}

/// The change to a letter.
#[derive(Debug, Clone, Copy)]
enum Slip {
    Drop,
    Double,
    Beside,
    Swap,
}

/// Whether the next letter is mistyped, and how.
fn slip(typing: &Typing, chance: &mut Chance) -> Option<Slip> {
    let share = typing.typos?.0;
    let slips = [Slip::Drop, Slip::Double, Slip::Beside, Slip::Swap];
    (chance.unit() < share).then(|| chance.pick(&slips).copied())?
}

fn push(text: &mut String, letter: char, case: Case) {
    match case {
        Case::AsWritten => text.push(letter),
        Case::Lower => text.extend(letter.to_lowercase()),
        Case::Upper => text.extend(letter.to_uppercase()),
    }
}

/// The letter on the next key; letters of other alphabets have none.
fn beside(letter: char) -> char {
    let low = letter.to_ascii_lowercase();
    let beside = ROWS.iter().find_map(|row| {
        let at = row.find(low)?;
        let next = if at + 1 < row.len() { at + 1 } else { at - 1 };
        row[next..].chars().next()
    });
    match beside {
        Some(next) if letter.is_uppercase() => next.to_ascii_uppercase(),
        Some(next) => next,
        None => letter,
    }
}

fn is_left_out(punctuation: Punctuation, mark: char, say: &str, at: usize) -> bool {
    let ends_line = || say[at + mark.len_utf8()..].lines().next().is_none_or(|rest| rest.trim().is_empty());
    match punctuation {
        Punctuation::AsWritten => false,
        Punctuation::Sparse => SPARED.contains(&mark) || mark == '.' && ends_line(),
        Punctuation::None => SPARED.contains(&mark) || OTHER_MARKS.contains(&mark),
    }
}

/// The words with the white space after them, and the start of each.
fn pieces(say: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    say.split_inclusive(char::is_whitespace).map(move |piece| {
        let at = start;
        start += piece.len();
        (at, piece)
    })
}

/// A mail address, a link, a path or a host.
fn is_address(piece: &str) -> bool {
    let word = piece.trim().trim_end_matches(['.', ',', '!', '?', ';', ':', ')']);
    let has_inner_dot = word.match_indices('.').any(|(at, _)| {
        let before = word[..at].chars().next_back();
        let after = word[at + 1..].chars().next();
        before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
    });
    word.contains(['@', '/', '\\', '#']) || has_inner_dot
}

/// The positions of values of facts and words with a digit.
fn kept(say: &str, extras: &Extras) -> Vec<Range<usize>> {
    let mut kept: Vec<Range<usize>> =
        extras.facts.iter().flat_map(|(_, fact)| places(say, fact.value.trim())).collect();
    for (start, piece) in pieces(say) {
        let first = piece.find(char::is_alphanumeric).unwrap_or(0);
        let end = piece.rfind(char::is_alphanumeric).map_or(0, |last| last + 1);
        if piece.contains(|letter: char| letter.is_numeric()) {
            // A sign, such as that of a currency, belongs to it.
            let sign = piece[..first].chars().next_back().filter(|sign| !sign.is_whitespace());
            kept.push(start + first - sign.map_or(0, char::len_utf8)..start + end);
        }
    }
    kept
}

/// The positions of a value in the line, in any case.
fn places(say: &str, value: &str) -> Vec<Range<usize>> {
    let same = |left: char, right: char| left == right || left.to_lowercase().eq(right.to_lowercase());
    let length = value.chars().count();
    let starts = say.char_indices().map(|(at, _)| at).filter(|_| length > 0);
    let found = starts.filter_map(|at| {
        let mut rest = say[at..].char_indices();
        let is_there = value.chars().all(|wanted| rest.next().is_some_and(|(_, letter)| same(letter, wanted)));
        is_there.then(|| at..rest.next().map_or(say.len(), |(offset, _)| at + offset))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn extras(typing: Value) -> Extras {
        let facts = json!({ "name": { "value": "Ana María" }, "order": { "value": "W-4711" } });
        serde_json::from_value(json!({ "facts": facts, "typing": typing })).unwrap()
    }

    #[test]
    fn capitals_and_punctuation_change_and_facts_do_not() {
        let say = "Hello, I'm ana maría. My order: W-4711! Write to Ana@Example.com, or see https://Shop.example/A.\nIt cost €30.";
        for (typing, expected) in [
            (
                json!({ "case": "lower" }),
                "hello, i'm ana maría. my order: W-4711! write to Ana@Example.com, or see https://Shop.example/A.\nit cost €30.",
            ),
            (
                json!({ "punctuation": "sparse" }),
                "Hello Im ana maría. My order W-4711! Write to Ana@Example.com, or see https://Shop.example/A.\nIt cost €30",
            ),
            (
                json!({ "punctuation": "none", "case": "upper" }),
                "HELLO IM ana maría MY ORDER W-4711 WRITE TO Ana@Example.com, OR SEE https://Shop.example/A.\nIT COST €30",
            ),
        ] {
            assert_eq!(typed(say, &extras(typing), 1).as_deref(), Some(expected));
        }
        assert_eq!(typed(say, &extras(json!({})), 1), None);
        assert_eq!(typed(say, &Extras::default(), 1), None);
        assert_eq!(typed("?!", &extras(json!({ "punctuation": "none" })), 1), None);
    }

    #[test]
    fn letters_are_mistyped_by_seed_and_never_in_what_the_agent_needs() {
        let extras = extras(json!({ "typos": 0.2 }));
        let say = "Please look for the parcel that Ana María sent with order W-4711 on 3.12.2026 to ana@example.com";
        let all: Vec<Option<String>> = (0..50).map(|seed| typed(say, &extras, seed)).collect();
        assert_eq!(all, (0..50).map(|seed| typed(say, &extras, seed)).collect::<Vec<_>>());
        assert!(all.iter().flatten().collect::<std::collections::BTreeSet<_>>().len() > 40);
        for line in all.iter().flatten() {
            for kept in ["Ana María", "W-4711", "3.12.2026", "ana@example.com", " on ", " to "] {
                assert!(line.contains(kept), "{kept:?} in {line:?}");
            }
        }
    }

    #[test]
    fn the_share_of_typos_is_the_one_that_is_asked_for() {
        let extras = extras(json!({ "typos": 0.05 }));
        let (typing, mut chance) = (extras.typing.unwrap(), Chance::new(7));
        let mistyped = (0..20_000).filter(|_| slip(&typing, &mut chance).is_some()).count();
        assert!((900..1_100).contains(&mistyped), "{mistyped}");
    }
}
