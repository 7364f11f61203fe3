//! `role_flip`: the user speaks as the assistant.
//!
//! [`phrases`](super::phrases) are searched in the folded text. A phrase that only an assistant says is enough. A phrase that
//! people say too, such as `you're welcome`, needs a second one. A user that speaks in the agent's [own words](super::borrowed), or
//! explains what it wants to learn, has lost its role too.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{
    borrowed, fold,
    phrases::{CERTAIN, LIKELY},
    scene::{Line, Scene},
};

/// Shorter sentences, such as `To add them?`, explain nothing.
const SHORTEST_EXPLANATION: usize = 6;

static CERTAINLY: LazyLock<RegexSet> = LazyLock::new(|| set(CERTAIN));
static PERHAPS: LazyLock<RegexSet> = LazyLock::new(|| set(LIKELY));

/// A name in front of words, as in a script of both sides.
static LABELS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:^|[\s*.!?])(?:user|customer|nutzer|nutzerin|kunde|kundin|usuario|cliente",
        r"|(assistant|agent|ai|bot|support agent|assistent|assistentin|agente|asistente|ki))\*{0,2}:",
    ))
    .expect("the expression is fixed, and a test compiles it")
});

fn set(expressions: &[&str]) -> RegexSet {
    RegexSet::new(expressions).expect("the expressions are fixed, and a test compiles them")
}

/// The words that give the role away.
pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>, folded: &str) -> Option<String> {
    if let Some(first) = CERTAINLY.matches(folded).iter().next() {
        return Some(words_of(CERTAIN[first], folded));
    }
    let likely: Vec<String> = PERHAPS.matches(folded).iter().map(|found| words_of(LIKELY[found], folded)).collect();
    if likely.len() > 1 {
        return Some(likely.join(" … "));
    }
    script(line).or_else(|| explains(scene, folded)).or_else(|| borrowed::find(line, scene, folded))
}

/// A phrase of assistants that people say too.
pub(super) fn is_likely(folded: &str) -> bool {
    PERHAPS.is_match(folded)
}

/// The agent's name in front of the words, or the names of both sides.
fn script(line: &Line<'_>) -> Option<String> {
    if !line.say.contains(':') {
        return None;
    }
    let labels: Vec<_> = LABELS.captures_iter(line.say).collect();
    let of_agent = labels.iter().find_map(|label| label.get(1))?;
    let is_first = line.say.trim_start_matches([' ', '*']).starts_with(of_agent.as_str());
    let names = || labels.iter().map(|label| label[0].trim()).collect::<Vec<_>>().join(" ");
    (is_first || labels.len() > 1).then(names)
}

/// An explanation of what the user wants to learn: `To add fractions, find …` of a user that wants to know how to add fractions, and
/// `To know the sum, you need …` of one that wants to know the sum.
fn explains(scene: &Scene<'_>, folded: &str) -> Option<String> {
    let is_explanation = |own: &&str| own.starts_with("to ") && !borrowed::is_of_speaker(own);
    let mut explanations = borrowed::statements(folded).filter(is_explanation);
    let is_wanted = |own: &&str| {
        let words: Vec<&str> = own.split(' ').collect();
        if words.len() < SHORTEST_EXPLANATION {
            return false;
        }
        let how = format!(" how to {} ", words[1]);
        let aim = words.contains(&"you").then(|| format!(" {} ", words[..3].join(" ")));
        scene.wishes.iter().any(|wish| {
            let wish = format!(" {} ", fold::words(wish).trim());
            wish.contains(&how) || aim.as_ref().is_some_and(|aim| wish.contains(aim.as_str()))
        })
    };
    explanations.find(is_wanted).map(str::to_owned)
}

/// What an expression matched; compiled only once there is a fault to explain.
fn words_of(expression: &str, folded: &str) -> String {
    let found = Regex::new(expression).ok().and_then(|regex| regex.find(folded).map(|found| found.as_str().trim()));
    found.unwrap_or_default().to_owned()
}
