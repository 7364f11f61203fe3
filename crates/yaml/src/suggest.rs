//! "Did you mean": the nearest of the names that would have been right.

/// A help text for a word that is none of the known ones; `None` where nothing is near.
#[must_use]
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|name| format!("did you mean `{name}`?"))
}

/// A help text that names the nearest word, else all that are known.
#[must_use]
pub fn known_names<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    did_you_mean(word, known.clone()).unwrap_or_else(|| {
        let names: Vec<&str> = known.into_iter().collect();
        format!("known: {}", names.join(", "))
    })
}

/// A help text for a name that is missing: which of the words that nobody knows may have been meant for it.
#[must_use]
pub fn misspelt<'a>(missing: &str, strangers: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(missing, strangers).map(|word| format!("did you mean `{missing}`? `{word}` is written"))
}

/// The nearest of the known words, where one is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(word);
    let letters = folded.chars().count();
    // A third of the letters may be wrong: `pesona` and `maxTurns` are near, `colour` and `code` are not.
    let is_near = |distance: usize, name: &str| distance * 3 <= name.chars().count().max(3);
    known
        .into_iter()
        .map(|name| (fold(name), name))
        // Words are as far apart as their lengths at least, which costs nothing to find out.
        .filter(|(other, name)| is_near(letters.abs_diff(other.chars().count()), name))
        .map(|(other, name)| (strsim::damerau_levenshtein(&folded, &other), name))
        .filter(|(distance, name)| is_near(*distance, name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Letters and digits only, in lower case: `responseFn`, `response_fn` and `response-fn` are one word.
fn fold(word: &str) -> String {
    word.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).take(64).collect()
}
