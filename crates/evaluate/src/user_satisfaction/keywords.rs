//! Counts the words that show whether users are satisfied.

use record::{Turn, turn::Origin};
use regex::Regex;

use crate::{error::Error, pattern::pattern};

/// Room for some thousands of words.
const PATTERN_BYTES: usize = 16 << 20;

const POSITIVE: [&str; 20] = [
    "thank you",
    "thanks",
    "thank you very much",
    "great",
    "excellent",
    "perfect",
    "wonderful",
    "amazing",
    "awesome",
    "helpful",
    "satisfied",
    "happy",
    "pleased",
    "appreciate",
    "appreciated",
    "love it",
    "works now",
    "that worked",
    "resolved",
    "solved",
];

/// Includes phrases that negate a positive word, so that they count once, as negative.
const NEGATIVE: [&str; 28] = [
    "frustrated",
    "frustrating",
    "annoyed",
    "annoying",
    "angry",
    "upset",
    "disappointed",
    "disappointing",
    "confused",
    "confusing",
    "unhelpful",
    "useless",
    "terrible",
    "awful",
    "horrible",
    "unacceptable",
    "dissatisfied",
    "unhappy",
    "waste of time",
    "not helpful",
    "not happy",
    "not satisfied",
    "not resolved",
    "not solved",
    "doesn't work",
    "does not work",
    "didn't help",
    "did not help",
];

#[derive(Debug)]
pub(super) struct Keywords {
    /// Group 1: a negative word, group 2: a positive one. `None`: both lists are empty.
    regex: Option<Regex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) positive: u32,
    pub(super) negative: u32,
}

impl Keywords {
    pub(super) fn new(positive: Option<&[String]>, negative: Option<&[String]>) -> Result<Self, Error> {
        let positive = alternatives(positive, &POSITIVE);
        let negative = alternatives(negative, &NEGATIVE);
        if positive.is_empty() && negative.is_empty() {
            return Ok(Self { regex: None });
        }
        let mut groups = Vec::with_capacity(2);
        // Group numbers must not depend on which list is empty: `[^\s\S]` matches nothing.
        for words in [negative, positive] {
            groups.push(if words.is_empty() { r"([^\s\S])".to_owned() } else { format!("({})", words.join("|")) });
        }
        // Half boundaries, because a keyword can start or end with a sign, such as `:)`.
        let text = format!(r"\b{{start-half}}(?:{})\b{{end-half}}", groups.join("|"));
        Ok(Self { regex: Some(pattern(&text, false, PATTERN_BYTES)?) })
    }

    /// Counts only the user's words: an agent's apology is not the user's anger.
    pub(super) fn count(&self, turns: &[Turn]) -> Counts {
        let mut counts = Counts::default();
        let said = turns.iter().filter(|turn| turn.speaker != Origin::Program).map(|turn| turn.user.as_str());
        for (regex, text) in self.regex.iter().flat_map(|regex| said.clone().map(move |text| (regex, text))) {
            for found in regex.captures_iter(text) {
                if found.get(1).is_some() {
                    counts.negative += 1;
                } else {
                    counts.positive += 1;
                }
            }
        }
        counts
    }
}

impl Counts {
    /// The positive share; one half if there are no such words.
    pub(super) fn score(self) -> f64 {
        let all = self.positive + self.negative;
        if all == 0 { 0.5 } else { f64::from(self.positive) / f64::from(all) }
    }
}

/// Escaped, the longest first (the first alternative wins), with any white space between words and either apostrophe.
fn alternatives(written: Option<&[String]>, usual: &[&str]) -> Vec<String> {
    let mut words: Vec<&str> = match written {
        Some(words) => words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect(),
        None => usual.to_vec(),
    };
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let escaped = |word: &str| regex::escape(word).replace('\'', "['’]");
    words.iter().map(|words| words.split_whitespace().map(escaped).collect::<Vec<_>>().join(r"\s+")).collect()
}
