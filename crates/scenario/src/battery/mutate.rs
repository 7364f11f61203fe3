//! Questions made hard to read: typing mistakes, wrong word order, words left out, words replaced.

use serde::{Deserialize, Serialize};

use super::{Requirement, chance::Chance, words};

/// A garbled text and how it was garbled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mutation {
    pub text: String,
    pub values: Values,
    /// The original words that were changed, moved or left out.
    pub changed: Vec<String>,
}

/// How strongly a text was garbled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// The share of words with typos, 0 to 1, and the typos in each, 1 to 5.
    Typos { share: f64, each: u32 },
    /// Swaps of neighbours.
    Swaps(u32),
    /// The share of words left out or replaced, 0 to 1.
    Share(f64),
}

/// How words are joined again, and what replaces a replaced word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// A space after every word, including those left out, as in revision 9043c93.
    pub ragged: bool,
    pub replacement: Replacement,
}

/// The replacement of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// A random word of the built-in list.
    #[default]
    Words,
    /// A synonym, if the built-in list has one.
    Synonyms,
}

/// Histograms have this many levels of error.
pub const LEVELS: usize = 20;

impl Values {
    /// The bar of a histogram that the values belong to, 0 to 19.
    #[must_use]
    pub fn level(self) -> usize {
        let level = match self {
            // In twentieths, to avoid the rounding of binary fractions.
            Self::Typos { share, each } => twentieths(share) * each as usize / 5,
            Self::Swaps(swaps) => swaps as usize,
            Self::Share(share) => twentieths(share),
        };
        level.min(LEVELS - 1)
    }

    /// As the workbook shows them: `0.3:4`, `2`, `0.35`.
    #[must_use]
    pub fn shown(self) -> String {
        match self {
            Self::Typos { share, each } => format!("{}:{each}", hundredths(share)),
            Self::Swaps(swaps) => swaps.to_string(),
            Self::Share(share) => hundredths(share),
        }
    }

    /// Reads the form of [`Self::shown`] for this requirement.
    #[must_use]
    pub fn parse(requirement: Requirement, text: &str) -> Option<Self> {
        let share = |text: &str| text.trim().parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        match requirement {
            Requirement::Typos => {
                let (first, each) = text.split_once(':')?;
                let each = each.trim().parse().ok().filter(|each| (1..=5).contains(each))?;
                Some(Self::Typos { share: share(first)?, each })
            }
            Requirement::WordOrder => text.trim().parse().ok().map(Self::Swaps),
            Requirement::WordsLeftOut | Requirement::WordsReplaced => share(text).map(Self::Share),
            _ => None,
        }
    }
}

/// Garbles a question for the requirement; `None` for requirements without garbling.
#[must_use]
pub fn garble(requirement: Requirement, text: &str, style: Style, chance: &mut Chance) -> Option<Mutation> {
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let (values, changed) = match requirement {
        Requirement::Typos => typos(&mut words, chance),
        Requirement::WordOrder => swaps(&mut words, chance),
        Requirement::WordsLeftOut => leave_out(&mut words, style, chance),
        Requirement::WordsReplaced => replace(&mut words, style.replacement, chance),
        _ => return None,
    };
    let mut text = words.join(" ");
    if style.ragged && !words.is_empty() {
        text.push(' ');
    }
    Some(Mutation { text, values, changed })
}

fn typos(words: &mut [String], chance: &mut Chance) -> (Values, Vec<String>) {
    let share = chance.unit();
    let each = ((5.0 * chance.unit()).ceil() as u32).clamp(1, 5);
    let places = chosen(share, words.len(), chance);
    let changed = places.iter().map(|place| words[*place].clone()).collect();
    for place in places {
        for _ in 0..each {
            mistype(&mut words[place], chance);
        }
    }
    (Values::Typos { share, each }, changed)
}

/// Inserts, removes or replaces one letter; an empty word has none to remove.
fn mistype(word: &mut String, chance: &mut Chance) {
    let mut letters: Vec<char> = word.chars().collect();
    let kind = chance.unit();
    let place = chance.below(letters.len());
    let letter = char::from(b'a' + u8::try_from(chance.below(26)).expect("there are 26 letters"));
    if letters.is_empty() || kind < 1.0 / 3.0 {
        letters.insert(place, letter);
    } else if kind < 2.0 / 3.0 {
        letters.remove(place);
    } else {
        letters[place] = letter;
    }
    *word = letters.into_iter().collect();
}

fn swaps(words: &mut [String], chance: &mut Chance) -> (Values, Vec<String>) {
    let gaps = words.len().saturating_sub(1);
    let many = half_to_even(gaps as f64 * chance.unit());
    let before = words.to_vec();
    for _ in 0..many {
        let place = chance.below(gaps);
        words.swap(place, place + 1);
    }
    let moved = before.into_iter().zip(words.iter()).filter(|(before, now)| before != *now);
    (Values::Swaps(u32::try_from(many).unwrap_or(u32::MAX)), moved.map(|(before, _)| before).collect())
}

fn leave_out(words: &mut Vec<String>, style: Style, chance: &mut Chance) -> (Values, Vec<String>) {
    let share = chance.unit();
    let mut places = chosen(share, words.len(), chance);
    let changed = places.iter().map(|place| words[*place].clone()).collect();
    places.sort_unstable();
    for place in places.into_iter().rev() {
        if style.ragged {
            " ".clone_into(&mut words[place]);
        } else {
            words.remove(place);
        }
    }
    (Values::Share(share), changed)
}

fn replace(words: &mut [String], replacement: Replacement, chance: &mut Chance) -> (Values, Vec<String>) {
    let share = chance.unit();
    let mut changed = Vec::new();
    for place in chosen(share, words.len(), chance) {
        let word = &words[place];
        let stem = word.trim_end_matches(|character: char| character.is_ascii_punctuation());
        let other = match replacement {
            Replacement::Words => Some(words::random(stem, chance).to_owned()),
            Replacement::Synonyms => words::synonym(stem, chance),
        };
        if let Some(other) = other {
            // A question keeps its mark.
            let new = format!("{other}{}", &word[stem.len()..]);
            changed.push(std::mem::replace(&mut words[place], new));
        }
    }
    (Values::Share(share), changed)
}

/// The positions of that share of the words, in random order.
fn chosen(share: f64, words: usize, chance: &mut Chance) -> Vec<usize> {
    chance.distinct(half_to_even(share * words as f64), words)
}

/// Python's `round`.
fn half_to_even(number: f64) -> usize {
    number.round_ties_even() as usize
}

/// The nearest twentieth of a share in hundredths, at most 19.
fn twentieths(share: f64) -> usize {
    let hundredths = (share.clamp(0.0, 1.0) * 100.0).round_ties_even() as usize;
    ((hundredths + 2) / 5).min(LEVELS - 1)
}

fn hundredths(share: f64) -> String {
    ((share * 100.0).round_ties_even() / 100.0).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GARBLING: [Requirement; 4] =
        [Requirement::Typos, Requirement::WordOrder, Requirement::WordsLeftOut, Requirement::WordsReplaced];

    fn words_of(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    proptest! {
        #[test]
        fn the_changed_words_are_reported(seed: u64, text in "\\PC{0,60}", ragged: bool, synonyms: bool) {
            let replacement = if synonyms { Replacement::Synonyms } else { Replacement::Words };
            let style = Style { ragged, replacement };
            let before = words_of(&text);
            for requirement in GARBLING {
                let mutation = garble(requirement, &text, style, &mut Chance::new(seed)).unwrap();
                prop_assert_eq!(&mutation, &garble(requirement, &text, style, &mut Chance::new(seed)).unwrap());
                let after = words_of(&mutation.text);
                prop_assert!(mutation.values.level() < LEVELS);
                match (requirement, mutation.values) {
                    (Requirement::Typos, Values::Typos { share, each }) => {
                        prop_assert!((1..=5).contains(&each));
                        prop_assert_eq!(mutation.changed.len(), half_to_even(share * before.len() as f64));
                    }
                    (Requirement::WordOrder, Values::Swaps(swaps)) => {
                        prop_assert!(swaps as usize <= before.len().saturating_sub(1));
                        let sorted = |mut words: Vec<String>| { words.sort_unstable(); words };
                        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
                        prop_assert_eq!(sorted(owned(&before)), sorted(owned(&after)));
                    }
                    (Requirement::WordsLeftOut, Values::Share(share)) => {
                        prop_assert_eq!(mutation.changed.len(), half_to_even(share * before.len() as f64));
                        prop_assert_eq!(after.len() + mutation.changed.len(), before.len());
                    }
                    (Requirement::WordsReplaced, Values::Share(share)) => {
                        prop_assert_eq!(after.len(), before.len());
                        let most = half_to_even(share * before.len() as f64);
                        prop_assert!(mutation.changed.len() <= most && (synonyms || mutation.changed.len() == most));
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }

        #[test]
        fn values_are_read_as_they_are_shown(share in 0.0..=1.0_f64, each in 1_u32..=5, swaps in 0_u32..30) {
            let rows = [
                (Requirement::Typos, Values::Typos { share, each }),
                (Requirement::WordOrder, Values::Swaps(swaps)),
                (Requirement::WordsLeftOut, Values::Share(share)),
                (Requirement::WordsReplaced, Values::Share(share)),
            ];
            for (requirement, values) in rows {
                let read = Values::parse(requirement, &values.shown()).unwrap();
                prop_assert_eq!(read.level(), values.level());
                prop_assert_eq!(read.shown(), values.shown());
            }
        }
    }

    #[test]
    fn levels_are_those_of_the_golden_workbook() {
        let typos = |share, each| Values::Typos { share, each }.level();
        assert_eq!([typos(0.1, 3), typos(0.2, 4), typos(0.9, 4), typos(1.0, 5)], [1, 3, 14, 19]);
        assert_eq!([Values::Swaps(3).level(), Values::Swaps(40).level()], [3, 19]);
        assert_eq!(
            [0.0, 0.02, 0.03, 0.07, 0.08, 0.15, 0.99, 1.0].map(|share| Values::Share(share).level()),
            [0, 0, 1, 1, 2, 3, 19, 19]
        );
        assert_eq!(Values::Typos { share: 0.299_9, each: 4 }.shown(), "0.3:4");
    }

    #[test]
    fn a_ragged_text_is_as_the_old_revision_wrote_it() {
        let style = Style { ragged: true, ..Style::default() };
        let found = (0..200)
            .map(|seed| {
                garble(Requirement::WordsLeftOut, "Which name do I have?", style, &mut Chance::new(seed)).unwrap().text
            })
            .find(|text| text.starts_with("  "))
            .expect("some seed leaves the first word out");
        assert!(found.ends_with(' '), "{found:?}");
        let smooth = garble(Requirement::WordOrder, "a b  c", Style::default(), &mut Chance::new(1)).unwrap();
        assert_eq!(smooth.text.len(), 5);
    }
}
