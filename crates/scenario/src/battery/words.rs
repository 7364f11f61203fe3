//! Replacements for words: any word, or a synonym.

use std::{collections::BTreeMap, sync::LazyLock};

use super::chance::Chance;

/// A word of the list other than `word`.
pub(super) fn random(word: &str, chance: &mut Chance) -> &'static str {
    let place = chance.below(WORDS.len());
    let found = WORDS[place];
    if found.eq_ignore_ascii_case(word) { WORDS[(place + 1) % WORDS.len()] } else { found }
}

/// A synonym, capitalised like `word`; `None` if the list has none.
pub(super) fn synonym(word: &str, chance: &mut Chance) -> Option<String> {
    let group = SYNONYMS.get(word.to_lowercase().as_str())?;
    let others: Vec<&&str> = group.iter().filter(|other| !other.eq_ignore_ascii_case(word)).collect();
    let other = chance.pick(&others)?;
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    Some(if capital { format!("{}{}", other[..1].to_uppercase(), &other[1..]) } else { (**other).to_owned() })
}

/// The text, with each word that has a synonym replaced with this probability.
pub(super) fn reworded(text: &str, probability: f64, chance: &mut Chance) -> String {
    let words = text.split_whitespace().map(|word| {
        let stem = word.trim_end_matches(|character: char| character.is_ascii_punctuation());
        if chance.unit() >= probability {
            return word.to_owned();
        }
        synonym(stem, chance).map_or_else(|| word.to_owned(), |other| format!("{other}{}", &word[stem.len()..]))
    });
    words.collect::<Vec<_>>().join(" ")
}

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("words.txt").split_whitespace().collect());

/// Groups of words, one per line.
static SYNONYMS: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let groups = include_str!("synonyms.txt").lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    groups.flat_map(|group| group.clone().into_iter().map(move |word| (word, group.clone()))).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_plain_words_each_once() {
        let plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
        assert!(WORDS.len() > 200 && WORDS.iter().all(plain) && SYNONYMS.keys().all(plain));
        let mut sorted = WORDS.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), WORDS.len());
        let written: usize = include_str!("synonyms.txt").split_whitespace().count();
        assert_eq!(written, SYNONYMS.len(), "no word is in two groups");
    }

    #[test]
    fn another_word_is_another_word() {
        let mut chance = Chance::new(1);
        for _ in 0..2_000 {
            assert_ne!(random("banana", &mut chance), "banana");
        }
        assert!(["feline", "kitty"].contains(&synonym("cat", &mut chance).unwrap().as_str()));
        assert!(["Feline", "Kitty"].contains(&synonym("Cat", &mut chance).unwrap().as_str()));
        assert_eq!(synonym("xylophone", &mut chance), None);
        assert_eq!(reworded("A cat, no?", 0.0, &mut chance), "A cat, no?");
        assert_ne!(reworded("A cat, no?", 1.0, &mut chance), "A cat, no?");
    }
}
