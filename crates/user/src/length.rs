//! How long a line should be: from the scenario's `length`, or else from numbers and words in its constraints, or else from the style.

use std::sync::LazyLock;

use regex::Regex;
use scenario::{
    conversation::Simulator,
    ids::seed_of,
    user::{Length, WordRange},
};

const TERSE: (u32, u32) = (1, 15);
const NORMAL: (u32, u32) = (5, 40);
const TALKATIVE: (u32, u32) = (25, 120);
/// So many times the most words are too many.
const TOLERANCE: u32 = 2;
/// No constraint limits a line to more words or sentences.
const MOST: u32 = 400;

/// Word prefixes of styles that mean short or long lines.
const TERSE_STYLES: [&str; 8] = ["terse", "curt", "brief", "short", "laconic", "concise", "to the point", "monosyllab"];
const TALKATIVE_STYLES: [&str; 7] = ["talkative", "chatty", "verbose", "wordy", "rambl", "long-winded", "detailed"];
/// Words of persona and constraints that ask for short lines. `short` alone is in `a short temper` too.
const TERSE_RULES: [&str; 14] = [
    "few words",
    "short sentences",
    "short messages",
    "short answers",
    "short replies",
    "short lines",
    "tersely",
    "keeps it short",
    "kurze sätze",
    "kurzen sätzen",
    "wenigen worten",
    "wenige worte",
    "frases cortas",
    "pocas palabras",
];

/// Numbers from one to twelve, in the order of their values.
const NUMBERS: [&[&str]; 12] = [
    &["one", "a", "ein", "eine", "einem", "einen", "una", "un"],
    &["two", "zwei", "dos"],
    &["three", "drei", "tres"],
    &["four", "vier", "cuatro"],
    &["five", "fünf", "cinco"],
    &["six", "sechs", "seis"],
    &["seven", "sieben", "siete"],
    &["eight", "acht", "ocho"],
    &["nine", "neun", "nueve"],
    &["ten", "zehn", "diez"],
    &["eleven", "elf", "once"],
    &["twelve", "zwölf", "doce"],
];

/// `at most two sentences`, `one to five words`, `never more than one sentence`.
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:\b(?P<most>at most|no more than|not more than|never (?:\w+ )?more than|up to|a maximum of|only|höchstens",
        r"|maximal|nie mehr als|nicht mehr als|como máximo|no más de|nunca más de|nur|solo)\s+)?",
        r"(?:\b(?P<low>\p{L}{1,6}|\d{1,3})\s*(?:to|or|and|bis|oder|a|o|-|–)\s*)?",
        r"\b(?P<high>\p{L}{1,6}|\d{1,3})\s+(?P<unit>words?|wörtern?|worten?|wort|palabras?|sentences?|sätzen?|satz|frases?)\b",
    ))
    .expect("the expression is fixed, and a test compiles it")
});

/// How long a line should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The fewest and the most words.
    pub(crate) words: (u32, u32),
    /// The most words that a draft may have.
    pub(crate) most_words: u32,
    /// The most sentences, if a constraint limits them.
    pub(crate) sentences: Option<u32>,
}

impl Limits {
    pub(crate) fn of(simulator: &Simulator) -> Self {
        let rules = simulator.constraints.iter().flat_map(|constraint| rules(constraint));
        let (words, sentences): (Vec<_>, Vec<_>) = rules.partition(|rule| rule.of_words);
        let own = simulator.extras.length.map(|Length { words: WordRange(low, high) }| (low, high));
        let ruled = words.first().map(|rule| (rule.low.unwrap_or(1), rule.high));
        // A constraint is exact. Otherwise a few extra words are not a fault: models count badly.
        let tolerance = if own.is_none() && ruled.is_some() { 1 } else { TOLERANCE };
        let words = own.or(ruled).unwrap_or_else(|| of_style(simulator));
        Self { words, most_words: tolerance * words.1, sentences: sentences.iter().map(|rule| rule.high).min() }
    }

    /// The number of words for the line with this seed: the lower of two draws, because short lines are more frequent than long
    /// ones in people's chats, and because small models fill long ones with words of the other side.
    pub(crate) fn draw(self, seed: u64) -> u32 {
        let (low, high) = self.words;
        let drawn = |name: &[u8]| seed_of(&[&seed.to_le_bytes(), name]) % u64::from(high - low + 1);
        low + u32::try_from(drawn(b"words").min(drawn(b"words again"))).unwrap_or(0)
    }
}

/// A number of words or sentences in a constraint.
#[derive(Debug, Clone, Copy)]
struct Rule {
    of_words: bool,
    low: Option<u32>,
    high: u32,
}

/// A number without a word such as `at most` limits only as a range: `writes three sentences about the weather` does not.
fn rules(constraint: &str) -> Vec<Rule> {
    let found = RULE.captures_iter(constraint).filter_map(|found| {
        let number = |name: &str| found.name(name).and_then(|text| number(text.as_str()));
        let (low, high) = (number("low"), number("high")?);
        let unit = found["unit"].to_lowercase();
        let of_words = unit.starts_with(['w', 'p']);
        let is_rule = found.name("most").is_some() || low.is_some_and(|low| low < high);
        (is_rule && (1..=MOST).contains(&high)).then_some(Rule { of_words, low, high })
    });
    found.collect()
}

fn number(text: &str) -> Option<u32> {
    let text = text.to_lowercase();
    let of_words = || NUMBERS.iter().position(|names| names.contains(&text.as_str())).map(|at| at as u32 + 1);
    text.parse().ok().or_else(of_words)
}

fn of_style(simulator: &Simulator) -> (u32, u32) {
    let style = simulator.style.as_deref().unwrap_or_default().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| style.contains(word));
    let mut described = [&simulator.persona].into_iter().chain(&simulator.constraints).map(|text| text.to_lowercase());
    let mut is_described_terse = || described.any(|text| TERSE_RULES.iter().any(|rule| text.contains(rule)));
    match () {
        () if has(&TERSE_STYLES) => TERSE,
        () if has(&TALKATIVE_STYLES) => TALKATIVE,
        () if is_described_terse() => TERSE,
        () => NORMAL,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn simulator(style: &str, constraints: &[&str], extras: Value) -> Simulator {
        serde_json::from_value(json!({
            "model_type": "large", "temperature": 0.7, "max_tokens": 200, "persona": "p", "objective": "o", "style": style,
            "constraints": constraints, "emotional_state": null, "knowledge_level": "beginner", "gabfest": extras,
        }))
        .unwrap()
    }

    #[test]
    fn the_scenario_sets_the_limits_else_a_constraint_and_else_the_style() {
        let own = json!({ "length": { "words": [3, 9] } });
        for (style, constraint, extras, words, sentences) in [
            ("Curt and rude", "", json!({}), TERSE, None),
            ("chatty", "", json!({}), TALKATIVE, None),
            ("casual", "", json!({}), NORMAL, None),
            ("chatty", "", own.clone(), (3, 9), None),
            ("", "writes short sentences", json!({}), TERSE, None),
            ("chatty", "writes short sentences", json!({}), TALKATIVE, None),
            ("", "has a short temper", json!({}), NORMAL, None),
            ("", "answers with one to five words", json!({}), (1, 5), None),
            ("", "answers with one or two words", json!({}), (1, 2), None),
            ("", "answers with one or two words", own.clone(), (3, 9), None),
            ("", "writes at most 12 words", json!({}), (1, 12), None),
            ("", "antwortet in 3-8 Wörtern", json!({}), (3, 8), None),
            ("", "writes at most two sentences", json!({}), NORMAL, Some(2)),
            ("", "never writes more than one sentence", json!({}), NORMAL, Some(1)),
            ("", "writes in one or two sentences", own.clone(), (3, 9), Some(2)),
            ("", "schreibt höchstens zwei Sätze", json!({}), NORMAL, Some(2)),
            ("", "escribe como máximo una frase", json!({}), NORMAL, Some(1)),
            // Not about the length of a line.
            ("", "ends with two words of thanks", json!({}), NORMAL, None),
            ("", "writes at least three sentences", json!({}), NORMAL, None),
            ("", "writes more than one sentence", json!({}), NORMAL, None),
            ("", "in other words: rude", json!({}), NORMAL, None),
            ("", "asks for a sentence about love", json!({}), NORMAL, None),
        ] {
            let limits = Limits::of(&simulator(style, &[constraint], extras));
            assert_eq!((limits.words, limits.sentences), (words, sentences), "{style:?} {constraint:?}");
        }
    }

    #[test]
    fn a_number_of_words_in_a_constraint_is_meant_as_it_is_written() {
        for (constraint, extras, most_words) in [
            ("answers with one to five words", json!({}), 5),
            ("answers with one to five words", json!({ "length": { "words": [3, 9] } }), 18),
            ("writes short sentences", json!({}), 30),
            ("", json!({}), 80),
        ] {
            assert_eq!(Limits::of(&simulator("", &[constraint], extras)).most_words, most_words, "{constraint:?}");
        }
    }

    #[test]
    fn short_lines_are_drawn_more_often_than_long_ones() {
        let drawn = |words| -> Vec<u32> {
            (0..1_000).map(|seed| Limits { words, most_words: 99, sentences: None }.draw(seed)).collect()
        };
        let all: std::collections::BTreeSet<u32> = drawn((3, 9)).into_iter().collect();
        assert_eq!(all.into_iter().collect::<Vec<_>>(), (3..=9).collect::<Vec<_>>());
        let short = drawn(NORMAL).into_iter().filter(|words| *words <= 14).count();
        assert!((430..=530).contains(&short), "{short}");
        assert!(drawn((4, 4)).into_iter().all(|words| words == 4));
        assert!(drawn((0, 2)).into_iter().all(|words| words <= 2));
    }
}
