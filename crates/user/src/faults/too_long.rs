//! `too_long`: the draft has more than twice the words that the user's style allows.

use super::scene::{Line, Scene};

/// A few words too many are no fault: models count badly.
const TOLERANCE: usize = 2;

pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>) -> Option<String> {
    let most = usize::try_from(scene.most_words?).ok()?;
    let words = line.say.split_whitespace().count();
    (words > TOLERANCE * most).then(|| format!("{words} words, at most {most} wanted"))
}
