//! Words that the user takes from the agent and says as its own: a question, a statement of the agent about itself, a lesson.
//!
//! People repeat words of the agent to confirm them or to complain about them. Then they change who speaks: "you can" becomes
//! "I can". A user that has lost its role keeps them.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    fold,
    scene::{Line, Scene},
};
use crate::history;

/// Turns whose words are looked for.
const TURNS_BEFORE: usize = 3;
/// So many last words of a question of the agent are the question.
const QUESTION: usize = 6;
/// Shorter questions, such as `Which one?`, are asked by both sides.
const SHORTEST_QUESTION: usize = 5;
/// Shorter statements, such as `I see it.`, are made by both sides.
const SHORTEST_STATEMENT: usize = 4;
/// Shorter sentences, such as `You can do that.`, are no lesson.
const SHORTEST_LESSON: usize = 5;
/// Shorter lines can be the agent's by chance.
const SHORTEST_RECITAL: usize = 8;
/// The share of a sentence's three-word pieces that make it the agent's.
const TAKEN: f64 = 0.65;
/// Folded beginnings of a line that say nothing.
const FILLERS: [&str; 7] = [" ok", " okay", " so", " and", " well", " um", " also"];
/// Folded words by which the agent speaks of itself.
const SELVES: [&str; 12] = ["i", "ill", "im", "ive", "we", "weve", "were", "ich", "wir", "yo", "nosotros", "nosotras"];
/// Folded words by which the agent speaks to the user.
const ADDRESSES: [&str; 22] = [
    "you", "your", "youve", "youre", "youll", "youd", "du", "dir", "dich", "dein", "deine", "sie", "ihnen", "ihr",
    "ihre", "ihren", "tu", "te", "usted", "puedes", "puede", "debes",
];

/// Shorter words, such as `what`, are in most questions.
const SHORTEST_TOPIC: usize = 4;
/// Longer questions of yes or no, such as `Is it still under warranty?`, are people's too.
const LONGEST_GUESS: usize = 5;
/// What a question of yes or no can be about, in a game of guesses.
const GUESSED: [&str; 5] = ["it", "he", "she", "es", "er"];

/// A question for the wishes of the other side, folded.
static WISH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        " (?:do|would|will) you (?:[a-z]+ )?(?:want|like|prefer) | (?:mochten|wollen|bevorzugen|wunschen) (?:sie|ihr) ",
        "| (?:mochtest|willst|bevorzugst|wunschst) du | (?:quieres?|prefieres?|deseas?|(?:te|le) gustaria) ",
    ))
    .expect("the expression is fixed, and a test compiles it")
});

/// A wish that is about the speaker: `Which number do you want from me?`
static OF_SPEAKER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(" (?:i|me|my|mine|ich|mir|mich|meine?[mnrs]?|yo|mi|mis|conmigo) ")
        .expect("the expression is fixed, and a test compiles it")
});

/// Words of questions for wishes that say nothing of their topic.
const OF_ANY_WISH: [&str; 16] = [
    "what", "which", "would", "want", "like", "prefer", "have", "many", "much", "welche", "welchen", "welches",
    "mochten", "mochtest", "quiere", "prefiere",
];

/// The words that were taken.
pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>, folded: &str) -> Option<String> {
    question(scene, folded)
        .or_else(|| wish(scene, folded))
        .or_else(|| guess(scene, folded))
        .or_else(|| of_itself(scene, folded))
        .or_else(|| lesson(scene, folded))
        .or_else(|| recital(line, scene, folded))
}

fn heard<'a>(scene: &Scene<'a>) -> impl Iterator<Item = &'a str> {
    scene.earlier.iter().rev().take(TURNS_BEFORE).map(|exchange| &*exchange.agent)
}

/// The question of the agent that the user asks.
fn question(scene: &Scene<'_>, folded: &str) -> Option<String> {
    if !folded.contains('?') {
        return None;
    }
    // Of any length, if nothing else was said.
    let mut own = folded;
    while let Some(rest) =
        FILLERS.iter().find_map(|filler| own.strip_prefix(filler).filter(|rest| rest.starts_with(' ')))
    {
        own = rest;
    }
    if fold::sentences(scene.heard()) == own {
        return Some(own.trim().to_owned());
    }
    heard(scene).filter(|agent| agent.contains('?')).find_map(|agent| {
        let heard = fold::sentences(agent);
        let mut ends = questions(&heard).filter_map(|question| {
            let words: Vec<&str> = question.split_whitespace().collect();
            let end = &words[words.len().saturating_sub(QUESTION)..];
            (end.len() >= SHORTEST_QUESTION).then(|| end.join(" "))
        });
        ends.find(|end| folded.contains(&format!(" {end} ?")))
    })
}

/// The question of the agent for the user's wish, in other words: `Which seat do you want?` for `Which seat would you like?`
fn wish(scene: &Scene<'_>, folded: &str) -> Option<String> {
    let own = questions(folded).find(|own| WISH.is_match(own) && !OF_SPEAKER.is_match(own))?;
    let is_topic = |word: &&str| word.len() >= SHORTEST_TOPIC && !OF_ANY_WISH.contains(word);
    let topics: Vec<&str> = own.split(' ').filter(is_topic).collect();
    let asks = |agent: &str| {
        let heard = fold::sentences(agent);
        questions(&heard).any(|asked| WISH.is_match(asked) && asked.split(' ').any(|word| topics.contains(&word)))
    };
    heard(scene).any(|agent| agent.contains('?') && asks(agent)).then(|| own.trim().to_owned())
}

/// A guess for a guess: `Is it a bird?` for `Is it a penguin?`
fn guess(scene: &Scene<'_>, folded: &str) -> Option<String> {
    let own = folded.trim().strip_suffix(" ?")?;
    let words: Vec<&str> = own.split(' ').collect();
    if !words.get(1).is_some_and(|about| GUESSED.contains(about)) || words.len() > LONGEST_GUESS {
        return None;
    }
    let heard = fold::sentences(scene.heard());
    let asked = questions(&heard).last()?.trim().to_owned();
    asked.starts_with(&format!("{} {} ", words[0], words[1])).then(|| own.to_owned())
}

/// A statement of the agent about itself, said by the user as its own: one sentence of each side, word for word.
fn of_itself(scene: &Scene<'_>, folded: &str) -> Option<String> {
    let heard = fold::sentences(scene.heard());
    let mut of_itself = statements(&heard)
        .filter(|statement| statement.split(' ').count() >= SHORTEST_STATEMENT && has_any(statement, &SELVES));
    of_itself.find(|statement| folded.contains(&format!(" {statement} "))).map(str::to_owned)
}

/// A sentence to the user that the agent has said much like this: a lesson that the user gives back.
fn lesson(scene: &Scene<'_>, folded: &str) -> Option<String> {
    let is_lesson = |own: &&str| own.split(' ').count() >= SHORTEST_LESSON && has_any(own, &ADDRESSES);
    let lessons: Vec<&str> = statements(folded).filter(is_lesson).collect();
    if lessons.is_empty() {
        return None;
    }
    heard(scene).find_map(|agent| {
        let heard = fold::words(agent);
        lessons.iter().find(|own| is_taken(own, &heard)).map(|own| (*own).to_owned())
    })
}

/// Most pieces are the agent's, and one of them that speaks to the user is.
fn is_taken(own: &str, heard: &str) -> bool {
    let words: Vec<&str> = own.split(' ').collect();
    let pieces = words.windows(3);
    let all = pieces.len();
    let taken: Vec<&[&str]> = pieces.filter(|piece| heard.contains(&format!(" {} ", piece.join(" ")))).collect();
    taken.len() as f64 >= TAKEN * all as f64
        && taken.iter().any(|piece| piece.iter().any(|word| ADDRESSES.contains(word)))
}

/// A whole sentence of the agent, word for word, in a line that says nothing of the user.
fn recital(line: &Line<'_>, scene: &Scene<'_>, folded: &str) -> Option<String> {
    let is_long = |text: &str| text.split_whitespace().nth(SHORTEST_RECITAL - 1).is_some();
    if !is_long(line.say) || is_of_speaker(folded) {
        return None;
    }
    let is_whole = |agent: &str, at: usize, length: usize| {
        let (before, after) = (agent[..at].trim_end(), &agent[at + length..]);
        (before.is_empty() || before.ends_with(['.', '!', '?', ':']))
            && (after.is_empty() || after.starts_with(['.', '!', '\n']))
    };
    let own = history::sentences(line.say).into_iter().filter(|own| is_long(own) && !own.ends_with('?'));
    own.map(|own| own.trim_end_matches(['.', '!'])).find_map(|own| {
        let is_said = |agent: &str| agent.match_indices(own).any(|(at, _)| is_whole(agent, at, own.len()));
        heard(scene).any(is_said).then(|| own.to_owned())
    })
}

/// With the spaces around them.
fn questions(folded: &str) -> impl Iterator<Item = &str> {
    folded.split_inclusive(['.', '?']).filter_map(|sentence| sentence.strip_suffix('?'))
}

/// Whether folded words say something of who says them.
pub(super) fn is_of_speaker(folded: &str) -> bool {
    has_any(folded, &SELVES) || OF_SPEAKER.is_match(&format!(" {folded} "))
}

pub(super) fn statements(folded: &str) -> impl Iterator<Item = &str> {
    folded.split_inclusive(['.', '?']).filter_map(|sentence| sentence.strip_suffix('.')).map(str::trim)
}

fn has_any(sentence: &str, words: &[&str]) -> bool {
    sentence.split(' ').any(|word| words.contains(&word))
}
