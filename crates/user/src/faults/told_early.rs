//! `told_early`: the user tells a fact before the agent has asked for it.

use super::{
    fold, mention,
    scene::{Fact, Line, Scene, Tell},
};

pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>) -> Option<String> {
    let early = scene.facts.iter().find(|fact| {
        let Tell::Asked(words) = fact.tell else { return false };
        mention::names(line.say, fact.value) && !is_known(scene, fact.value) && !is_asked(scene, fact, words)
    });
    early.map(|fact| fact.value.to_owned())
}

/// Part of what the user wants, or said before by either side.
fn is_known(scene: &Scene<'_>, value: &str) -> bool {
    scene.wishes.iter().copied().chain(scene.said()).any(|text| mention::names(text, value))
}

fn is_asked(scene: &Scene<'_>, fact: &Fact<'_>, words: &[String]) -> bool {
    scene.earlier.iter().any(|exchange| asks_for(&exchange.agent, fact.name, words))
}

/// Whether the agent's words ask for a fact: by one of `words`, or by its name if there are none. Parts of words count: `allerg`
/// asks for allergies, `datum` is in `Kaufdatum`.
pub(super) fn asks_for(agent: &str, name: &str, words: &[String]) -> bool {
    let heard = fold::words(agent);
    let asks = |word: &str| heard.contains(fold::words(word).trim());
    words.iter().any(|word| asks(word)) || words.is_empty() && asks(name)
}
