//! `repetition`: the user says again what it said in one of its last three turns.
//!
//! An answer to the same words of the agent is no repetition: an agent that asks the same question twice gets the same answer.

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
/// Lines with fewer words, such as `Yes, please do.`, are said again by people too.
const FEWEST_WORDS: usize = 5;

/// The third repetition in a row is critical: the conversation goes nowhere.
pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>) -> Option<(Severity, String)> {
    let earlier = scene.earlier;
    let again = repeats(line.say, earlier, earlier.len())?;
    let repeated = |back: usize| {
        let at = earlier.len().checked_sub(back);
        at.is_some_and(|at| repeats(&earlier[at].user, earlier, at).is_some())
    };
    let severity = if repeated(1) && repeated(2) { Severity::Critical } else { Severity::Minor };
    Some((severity, again.to_owned()))
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
    lines
        .find(|line| is_same(&shingles, &earlier[*line].user) && !asked_alike(heard(at), heard(*line)))
        .map(|line| &*earlier[line].user)
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
