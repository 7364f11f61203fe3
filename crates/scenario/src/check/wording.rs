//! The wording of criteria. Judges misread negated ones: "not met" of "does not …" is two negations.

use yaml::{Findings, Spot};

/// In English, German and Spanish. Words such as "nothing" and "without" are absent: positive wording has them too.
const NEGATIONS: [&str; 35] = [
    "not",
    "never",
    "no",
    "cannot",
    "can't",
    "couldn't",
    "didn't",
    "doesn't",
    "don't",
    "hasn't",
    "isn't",
    "aren't",
    "mustn't",
    "shouldn't",
    "wasn't",
    "weren't",
    "won't",
    "wouldn't",
    "nor",
    "nicht",
    "nie",
    "niemals",
    "kein",
    "keine",
    "keinen",
    "keinem",
    "keiner",
    "keines",
    "nunca",
    "jamás",
    "tampoco",
    "ningún",
    "ninguno",
    "ninguna",
    "nadie",
];

/// Warns of a negated criterion. `what` names it.
pub fn check_criterion(what: &str, text: &str, spot: Spot, findings: &mut Findings) {
    if let Some(negation) = negation(text) {
        findings.warning(spot, format!("{what} is worded with `{negation}`"));
        findings.help("judges are more exact with positive wording: say what the agent does");
    }
}

/// The same for a question to a judge. Its instructions, such as "Do not count typos.", may be negated.
pub fn check_question(what: &str, text: &str, spot: Spot, findings: &mut Findings) {
    let sentences = text.split_inclusive(['.', '?', '!', '\n']);
    let asked: String = sentences.filter(|sentence| sentence.ends_with('?')).collect();
    check_criterion(what, if asked.is_empty() { text } else { &asked }, spot, findings);
}

/// Warns of a negated description of what the simulated user does. A judge is asked whether a line is free of it.
pub fn check_violation(what: &str, text: &str, spot: Spot, findings: &mut Findings) {
    if let Some(negation) = negation(text) {
        findings.warning(spot, format!("{what} is worded with `{negation}`"));
        findings.help("judges are more exact with positive wording: say what the user does, such as `threatens staff`");
    }
}

fn negation(text: &str) -> Option<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '’'));
    let words = words.map(|word| word.to_lowercase().replace('’', "'"));
    let words: Vec<String> =
        words.map(|word| word.trim_matches('\'').to_owned()).filter(|word| !word.is_empty()).collect();
    let is_negation = |(place, word): &(usize, &String)| {
        // "yes or no" names the answers, and "no other" means "only".
        let is_answer = *place > 0 && ["or", "yes", "o", "sí"].contains(&words[place - 1].as_str());
        let is_only = words.get(place + 1).is_some_and(|next| next == "other");
        NEGATIONS.contains(&word.as_str()) && !(*word == "no" && (is_answer || is_only))
    };
    words.iter().enumerate().find(is_negation).map(|(_, word)| word.clone())
}
