//! `too_long`: the draft has more words or sentences than it may have.

use super::scene::{Line, Scene};

/// `Yes.` and `Hi!` do not count as sentences.
const SHORTEST_SENTENCE: usize = 2;

pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>) -> Option<String> {
    words(line, scene).or_else(|| sentences(line, scene))
}

fn words(line: &Line<'_>, scene: &Scene<'_>) -> Option<String> {
    let most = usize::try_from(scene.most_words?).ok()?;
    let words = line.say.split_whitespace().count();
    (words > most).then(|| format!("{words} words, at most {most} wanted"))
}

fn sentences(line: &Line<'_>, scene: &Scene<'_>) -> Option<String> {
    let most = usize::try_from(scene.most_sentences?).ok()?;
    let mut sentences = 0;
    let mut words = 0;
    for word in line.say.split_whitespace() {
        words += 1;
        if word.ends_with(['.', '!', '?', '…']) {
            sentences += usize::from(words >= SHORTEST_SENTENCE);
            words = 0;
        }
    }
    sentences += usize::from(words >= SHORTEST_SENTENCE);
    (sentences > most).then(|| format!("{sentences} sentences, at most {most} wanted"))
}
