//! "Did you mean": the nearest of the names that would have been right.

/// A help text for an unknown word; `None` if no known word is similar.
#[must_use]
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|name| format!("did you mean `{name}`?"))
}

/// A help text with the nearest known word, or else with all of them, if there are any.
#[must_use]
pub fn known_names<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    did_you_mean(word, known.clone()).unwrap_or_else(|| {
        let names: Vec<&str> = known.into_iter().collect();
        if names.is_empty() { "none is known".to_owned() } else { format!("known: {}", names.join(", ")) }
    })
}

/// A help text for a missing name: the unknown word that may have been meant for it.
#[must_use]
pub fn misspelt<'a>(missing: &str, strangers: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(missing, strangers).map(|word| format!("did you mean `{missing}`? `{word}` is written"))
}

/// The nearest known word, if one is similar.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(word);
    let letters = folded.chars().count();
    // A third of the letters may be wrong: `pesona` and `maxTurns` are similar enough, `colour` and `code` are not.
    let is_near = |distance: usize, name: &str| distance * 3 <= name.chars().count().max(3);
    known
        .into_iter()
        .map(|name| (fold(name), name))
        // The difference in length is a lower bound of the distance, and free to compute.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_is_never_an_empty_list() {
        for (word, known, help) in [
            ("smoek", &["nightly", "smoke"][..], "did you mean `smoke`?"),
            ("zebra", &["nightly", "smoke"], "known: nightly, smoke"),
            ("zebra", &[], "none is known"),
        ] {
            assert_eq!(known_names(word, known.iter().copied()), help);
        }
    }
}
