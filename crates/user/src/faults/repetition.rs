//! `repetition`: the user says again what it said in one of its last three turns, or what the agent has just said.
//!
//! An answer to the same question is no repetition: an agent that asks it again gets the same answer.

use std::collections::BTreeSet;

use record::user_fault::Severity;

use super::{
    fold,
    scene::{Exchange, Line, Scene},
};

/// Lines that are compared.
const LINES_BEFORE: usize = 3;
/// Words of a shingle.
const SHINGLE: usize = 3;
/// The share of common shingles above which two lines are the same.
const SAME: f64 = 0.8;
/// Lines with fewer words, such as `Yes, please do.`, are repeated by people too.
const FEWEST_WORDS: usize = 5;
/// The share of a line's pieces above which it repeats the agent.
const PARROTED: f64 = 0.7;
/// Three-word pieces of a line that can repeat the agent: people repeat short pieces, such as a date, to confirm them.
const FEWEST_PARROTED: usize = 5;

/// The third repetition in a row is critical: the conversation goes nowhere.
pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>) -> Option<(Severity, String)> {
    let earlier = scene.earlier;
    let again = repeats_any(line.say, earlier, earlier.len())?;
    let repeated = |back: usize| {
        let at = earlier.len().checked_sub(back);
        at.is_some_and(|at| repeats_any(&earlier[at].user, earlier, at).is_some())
    };
    let severity = if repeated(1) && repeated(2) { Severity::Critical } else { Severity::Minor };
    Some((severity, again.to_owned()))
}

fn repeats_any<'a>(say: &str, earlier: &'a [Exchange<'_>], at: usize) -> Option<&'a str> {
    repeats(say, earlier, at).or_else(|| parrots(say, earlier, at))
}

/// The agent's last words, if the user's are mostly taken from them. Who asks back repeats words on purpose.
fn parrots<'a>(say: &str, earlier: &'a [Exchange<'_>], at: usize) -> Option<&'a str> {
    let heard = &*earlier.get(at.checked_sub(1)?)?.agent;
    if say.contains('?') {
        return None;
    }
    let (own, heard_words) = (fold::words(say), fold::words(heard));
    let (own, others) = (shingles(&own)?, shingles(&heard_words)?);
    let common = own.intersection(&others).count();
    (own.len() >= FEWEST_PARROTED && common as f64 >= PARROTED * own.len() as f64).then_some(heard)
}

/// The line among the three before turn `at` that `say` repeats.
fn repeats<'a>(say: &str, earlier: &'a [Exchange<'_>], at: usize) -> Option<&'a str> {
    let lines = at.saturating_sub(LINES_BEFORE)..at;
    // Lines that are the same are about equally long: most turns end here.
    let is_near = |line: &usize| {
        let (own, other) = (say.len(), earlier[*line].user.len());
        own <= 2 * other && other <= 2 * own
    };
    let mut lines = lines.rev().filter(is_near).peekable();
    lines.peek()?;
    let folded = fold::words(say);
    let shingles = shingles(&folded)?;
    let heard = |line: usize| line.checked_sub(1).map_or("", |before| &*earlier[before].agent);
    let same: Vec<usize> = lines.filter(|line| is_same(&shingles, &earlier[*line].user)).collect();
    // Without a question mark, the agent may ask or just say the same: the first answer may be given once more.
    let is_patient = heard(at).contains('?') || same.len() == 1;
    same.into_iter().find(|line| !(is_patient && asked_alike(heard(at), heard(*line)))).map(|line| &*earlier[line].user)
}

fn is_same(shingles: &BTreeSet<&str>, other: &str) -> bool {
    let folded = fold::words(other);
    let Some(others) = self::shingles(&folded) else { return false };
    let common = shingles.intersection(&others).count();
    let all = shingles.len() + others.len() - common;
    common as f64 > SAME * all as f64
}

fn asked_alike(now: &str, then: &str) -> bool {
    if now.trim().is_empty() {
        return false;
    }
    let folded = fold::words(now);
    folded == fold::words(then) || shingles(&folded).is_some_and(|shingles| is_same(&shingles, then))
}

/// Each three words in a row; `None` for lines with too few words.
fn shingles(folded: &str) -> Option<BTreeSet<&str>> {
    let starts: Vec<usize> = folded.trim_end().match_indices(' ').map(|(at, _)| at + 1).collect();
    if starts.len() < FEWEST_WORDS {
        return None;
    }
    let end = |word: usize| starts.get(word + SHINGLE).map_or(folded.len(), |next| *next);
    Some((0..=starts.len() - SHINGLE).map(|word| &folded[starts[word]..end(word)]).collect())
}
