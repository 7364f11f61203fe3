//! `leak`: the user says what must not leave its instructions: their words, marks of the reply form, its reasoning, or a fact
//! that it never tells.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{
    fold, mention,
    scene::{Line, Scene, Tell},
};

/// So many words in a row of the instructions are no chance.
const OVERLAP: usize = 8;
/// Eight words in a row contain four whose first has a number that four divides: these are searched first.
const PIECE: usize = OVERLAP / 2;

/// Marks of the reply form and of reasoning.
static MARKS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?im)</?(?:think|thinking|thought|reasoning|scratchpad|reflection)>|###|<\|",
        r#"|"(?:say|signal|parts_done|thought)"\s*:"#,
        r"|^[\s*(\[]*(?:thoughts?|thinking|reasoning|inner monologue|internal note|gedanken?|überlegung|pensamiento",
        r"|razonamiento)\*{0,2}\s*:",
    ))
    .expect("the expression is fixed, and a test compiles it")
});

/// Words about the role play itself, folded.
static PLAY: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r" (?:my|the|this) persona ",
        r" (?:my|the) (?:system prompt|instructions (?:say|tell|are)) ",
        r" simulated (?:user|customer|person) ",
        r" as the (?:user|customer) i (?:would|should|will) ",
        r" the user (?:wants|would|should|asks|is asking) ",
        r" (?:role ?playing|simulating) (?:a|the|an) (?:user|customer|person) ",
        r" the other side (?:has|says|said|wants|asks|asked|needs|offers|offered|provided) ",
        r" meine persona ",
        r" (?:laut|gemass) (?:meiner |der |den )?(?:anweisung|anweisungen|rollenbeschreibung) ",
        r" (?:simulierte[rn]?|gespielte[rn]?) (?:nutzer|kunde|kunden|person) ",
        r" der nutzer (?:will|mochte|wurde|sollte|fragt) ",
        r" mi persona es ",
        r" segun (?:las|mis) instrucciones ",
        r" (?:usuario|cliente) simulado ",
        r" el usuario (?:quiere|desea|deberia|pregunta) ",
    ])
    .expect("the expressions are fixed, and a test compiles them")
});

pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>, folded: &str) -> Option<String> {
    if let Some(mark) = MARKS.find(line.say) {
        return Some(mark.as_str().trim().to_owned());
    }
    if PLAY.is_match(folded) {
        return Some("words about the role that it plays".to_owned());
    }
    secret(line, scene).or_else(|| instruction(line, scene))
}

/// A fact that is never told, unless the agent has said it.
fn secret(line: &Line<'_>, scene: &Scene<'_>) -> Option<String> {
    let never = scene.facts.iter().filter(|fact| matches!(fact.tell, Tell::Never));
    let mut told = never.map(|fact| fact.value).filter(|value| mention::names(line.say, value));
    let heard = |value: &str| scene.earlier.iter().any(|exchange| mention::names(&exchange.agent, value));
    told.find(|value| !heard(value)).map(|value| format!("{value:?}, which is never told"))
}

/// Eight words in a row of the instructions, without those of wishes, facts and the conversation.
fn instruction(line: &Line<'_>, scene: &Scene<'_>) -> Option<String> {
    // With quotations: instructions that are quoted are given away too.
    let say = fold::words(line.say);
    // Each word begins behind one of these spaces; the last one ends the text.
    let spaces: Vec<usize> = say.match_indices(' ').map(|(at, _)| at).collect();
    let words = spaces.len().checked_sub(1).filter(|words| *words >= OVERLAP)?;
    if scene.instructions.is_empty() {
        return None;
    }
    let instructions = fold::words(&scene.instructions.join("\n"));
    let part = |first: usize, count: usize| &say[spaces[first]..=spaces[first + count]];
    if !(0..=words - PIECE).step_by(PIECE).any(|first| instructions.contains(part(first, PIECE))) {
        return None;
    }
    // `I want …` is no leak of `You want: …`: what the user may say is no part of the instructions.
    let facts = scene.facts.iter().map(|fact| fact.value);
    let own = scene.wishes.iter().copied().chain(facts).chain(scene.said()).map(fold::words);
    let instructions = own.filter(|own| own.len() > 1).fold(instructions, |rest, own| rest.replace(&own, " | "));
    let found = (0..=words - OVERLAP).map(|first| part(first, OVERLAP)).find(|part| instructions.contains(part))?;
    Some(found.trim().to_owned())
}
