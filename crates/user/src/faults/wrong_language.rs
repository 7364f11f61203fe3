//! `wrong_language`: the draft is not in the user's language.

use isolang::Language;
use whatlang::Lang;

use super::scene::{Line, Scene};

/// Shorter drafts are greetings, names and numbers, too short to recognise a language. Letters that are not ASCII count twice.
const FEWEST_LETTERS: usize = 24;
/// One common word in so many proves the language, whatever the statistics of its letters say.
const WORDS_FOR_EACH_COMMON: usize = 6;
/// To prove another language, one in so many.
const WORDS_FOR_OTHERS: usize = 4;

/// Words that are common in one language and rare in the others.
const COMMON: &[(Lang, &[&str])] = &[
    (
        Lang::Eng,
        &[
            "the", "and", "i", "you", "is", "it", "to", "my", "of", "that", "for", "what", "not", "have", "your", "do",
            "are", "this", "with", "im", "its", "dont", "please", "yes", "ok",
        ],
    ),
    (
        Lang::Deu,
        &[
            "der", "die", "das", "und", "ich", "ist", "nicht", "ein", "eine", "sie", "mir", "mein", "meine", "ja",
            "nein", "bitte", "fur", "auf", "mit", "wie", "noch", "aber", "hab", "habe", "den", "dem", "es", "im",
        ],
    ),
    (
        Lang::Spa,
        &[
            "el", "la", "que", "de", "y", "los", "las", "un", "una", "por", "para", "con", "mi", "me", "no", "es",
            "lo", "se", "pero", "muy", "si", "como", "del", "al",
        ],
    ),
];

pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>, folded: &str) -> Option<String> {
    let expected = lang_of(scene.language?)?;
    let own = COMMON.iter().find(|(lang, _)| *lang == expected);
    if own.is_some_and(|(_, words)| is_common(folded, words, WORDS_FOR_EACH_COMMON)) {
        return None;
    }
    let letters = line.say.chars().filter(|character| character.is_alphabetic());
    if letters.map(|letter| if letter.is_ascii() { 1 } else { 2 }).sum::<usize>() < FEWEST_LETTERS {
        return None;
    }
    let others = COMMON.iter().filter(|(lang, _)| *lang != expected);
    let other = others.into_iter().find(|(_, words)| own.is_some() && is_common(folded, words, WORDS_FOR_OTHERS));
    let found = other.map(|(lang, _)| *lang).or_else(|| {
        let found = whatlang::detect(line.say)?;
        (found.lang() != expected && found.is_reliable()).then(|| found.lang())
    })?;
    Some(format!("{} instead of {}", found.eng_name(), expected.eng_name()))
}

/// Whether at least one word in so many is common in the language.
fn is_common(folded: &str, common: &[&str], words_for_each: usize) -> bool {
    let words = folded.split_whitespace().filter(|word| !matches!(*word, "." | "?"));
    let (all, known) = words.fold((0, 0), |(all, known), word| (all + 1, known + usize::from(common.contains(&word))));
    known > 0 && known * words_for_each >= all
}

/// The language of an ISO 639 code, of a tag such as `de-CH`, or of a name such as `German`.
pub(super) fn lang_of(code: &str) -> Option<Lang> {
    let code = code.trim().split(['-', '_']).next()?.to_ascii_lowercase();
    // The detector names a group by the code of its most spoken member.
    let code = match code.as_str() {
        "zh" | "zho" => "cmn",
        "fa" | "fas" => "pes",
        "no" | "nor" | "nb" => "nob",
        other => other,
    };
    let named = || Lang::all().iter().copied().find(|lang| lang.eng_name().eq_ignore_ascii_case(code));
    Lang::from_code(code).or_else(|| Lang::from_code(Language::from_639_1(code)?.to_639_3())).or_else(named)
}
