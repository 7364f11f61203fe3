//! `role_flip`: the user speaks as the assistant.
//!
//! [`phrases`](super::phrases) are searched in the folded text. A phrase that only an assistant says is enough. A phrase that
//! people say too, such as `you're welcome`, needs a second one. A user that asks the agent's own question, or says in the
//! agent's words what the agent does, has lost its role too.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{
    fold,
    phrases::{CERTAIN, LIKELY},
    scene::{Line, Scene},
};

/// So many last words of a question of the agent are the question.
const QUESTION: usize = 6;
/// Turns whose questions are looked for.
const TURNS_BEFORE: usize = 3;
/// Shorter questions, such as `Which one?`, are asked by both sides.
const SHORTEST_QUESTION: usize = 5;
/// Shorter statements, such as `I see it.`, are made by both sides.
const SHORTEST_STATEMENT: usize = 4;
/// Folded words by which the agent speaks of itself.
const SELVES: [&str; 12] = ["i", "ill", "im", "ive", "we", "weve", "were", "ich", "wir", "yo", "nosotros", "nosotras"];

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
    script(line).or_else(|| echo(scene, folded)).or_else(|| copied(scene, folded))
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

/// The question of the agent that the user asks.
fn echo(scene: &Scene<'_>, folded: &str) -> Option<String> {
    if !folded.contains('?') {
        return None;
    }
    // Of any length, if nothing else was said.
    if fold::sentences(scene.heard()) == folded {
        return Some(folded.trim().to_owned());
    }
    let heard = scene.earlier.iter().rev().take(TURNS_BEFORE).map(|exchange| &*exchange.agent);
    heard.filter(|agent| agent.contains('?')).find_map(|agent| {
        let heard = fold::sentences(agent);
        let questions = heard.split_inclusive(['.', '?']).filter(|sentence| sentence.ends_with('?'));
        let ends = questions.filter_map(|question| {
            // The mark is a word of its own.
            let words: Vec<&str> = question.split_whitespace().collect();
            let end = &words[words.len().saturating_sub(QUESTION + 1)..];
            (end.len() > SHORTEST_QUESTION).then(|| end.join(" "))
        });
        ends.into_iter().find(|end| folded.contains(&format!(" {end}")))
    })
}

/// A statement of the agent about itself, said by the user as its own: one sentence of each side, word for word.
fn copied(scene: &Scene<'_>, folded: &str) -> Option<String> {
    let heard = fold::sentences(scene.heard());
    let statements = heard.split_inclusive(['.', '?']).filter_map(|sentence| sentence.strip_suffix('.'));
    let mut of_itself = statements.map(str::trim).filter(|statement| {
        let mut words = statement.split(' ');
        words.clone().count() >= SHORTEST_STATEMENT && words.any(|word| SELVES.contains(&word))
    });
    of_itself.find(|statement| folded.contains(&format!(" {statement} "))).map(str::to_owned)
}

/// What an expression matched; compiled only once there is a fault to explain.
fn words_of(expression: &str, folded: &str) -> String {
    let found = Regex::new(expression).ok().and_then(|regex| regex.find(folded).map(|found| found.as_str().trim()));
    found.unwrap_or_default().to_owned()
}
