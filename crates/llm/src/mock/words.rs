//! The words of a text, the salient ones, and the text turned from "I" to "you".

use std::sync::LazyLock;

/// Words between white space, without surrounding punctuation; `elizaOS/eliza` and `0x4f` stay whole.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// The words that describe the topic of a text, each once, in order.
pub(crate) fn salient(text: &str, limit: usize) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for word in words(text) {
        if found.len() == limit {
            break;
        }
        let matters = word.len() > 2 && !is_filler(word) || word.bytes().any(|byte| byte.is_ascii_digit());
        if matters && !found.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            found.push(word);
        }
    }
    found
}

/// Whether a word of the text starts with one of `wanted` (lower case, ASCII): `charge` matches `Charged`.
pub(crate) fn mentions(text: &str, wanted: &[&str]) -> bool {
    // Called dozens of times per reply. Bytes are enough, because no wanted word starts with a letter outside ASCII.
    let bit = |byte: u8| 1_u32 << (byte & 31);
    let first_letters = wanted.iter().filter_map(|start| start.bytes().next()).fold(0, |bits, byte| bits | bit(byte));
    let mut inside = false;
    text.bytes().enumerate().any(|(at, byte)| {
        let begins_here = !inside;
        inside = byte.is_ascii_alphanumeric() || !byte.is_ascii();
        begins_here
            && inside
            && first_letters & bit(byte) != 0
            && wanted.iter().any(|start| begins_bytes(&text.as_bytes()[at..], start.as_bytes()))
    })
}

/// Whether a text starts with `start`, in either case.
pub(crate) fn begins(text: &str, start: &str) -> bool {
    begins_bytes(text.as_bytes(), start.as_bytes())
}

fn begins_bytes(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

pub(crate) fn contains_ignoring_case(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len().max(1)).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// The same from the other's side: `I lost my key` is `you lost your key`.
pub(crate) fn reflect(text: &str) -> String {
    let mut said = String::with_capacity(text.len() + 16);
    let mut about_you = false;
    for token in text.split_whitespace() {
        let core = token.trim_matches(|c: char| !c.is_alphanumeric());
        let swapped = swap(core, about_you);
        about_you = core.eq_ignore_ascii_case("i");
        if !said.is_empty() {
            said.push(' ');
        }
        match swapped {
            Some(new) => {
                let start = token.find(core).unwrap_or(0);
                said.push_str(&token[..start]);
                said.push_str(new);
                said.push_str(&token[start + core.len()..]);
            }
            None => said.push_str(token),
        }
    }
    said
}

/// Sentences with their closing mark.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(split_sentences).map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// At most this many characters, cut at a word, with dots if something was cut.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let cut: String = text.chars().take(limit).collect();
    let whole = cut.rfind(char::is_whitespace).map_or(cut.as_str(), |end| &cut[..end]);
    format!("{} …", whole.trim_end())
}

pub(crate) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        // `I` and names in capitals stay as they are.
        Some(first) if !chars.as_str().starts_with(|c: char| c.is_uppercase() || c == ' ' || c == '\'') => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

fn split_sentences(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let bytes = line.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let ends = matches!(byte, b'.' | b'!' | b'?') && bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace);
        if ends {
            parts.push(&line[start..=at]);
            start = at + 1;
        }
    }
    parts.push(&line[start..]);
    parts
}

/// "You can" sounds like a solution, so abilities are phrased differently.
fn swap(word: &str, about_you: bool) -> Option<&'static str> {
    const PAIRS: [(&str, &str); 14] = [
        ("i", "you"),
        ("i'm", "you are"),
        ("i've", "you have"),
        ("i'd", "you would"),
        ("i'll", "you will"),
        ("me", "you"),
        ("my", "your"),
        ("mine", "yours"),
        ("myself", "yourself"),
        ("we", "you"),
        ("our", "your"),
        ("us", "you"),
        ("your", "my"),
        ("we're", "you are"),
    ];
    const AFTER_I: [(&str, &str); 5] = [
        ("am", "are"),
        ("was", "were"),
        ("can", "are able to"),
        ("can't", "are not able to"),
        ("cannot", "are not able to"),
    ];
    let find = |pairs: &[(&str, &'static str)]| {
        pairs.iter().find(|(from, _)| from.eq_ignore_ascii_case(word)).map(|(_, to)| *to)
    };
    if about_you { find(&AFTER_I).or_else(|| find(&PAIRS)) } else { find(&PAIRS) }
}

/// Words that say nothing about the topic. Sorted, for the search.
static FILLER: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "able about after again all also always and any anything are aren't ask asked because been before being but can \
    can't cannot could couldn't did didn't does doesn't doing don't each even every for from get gets getting give \
    going got had has have haven't hello here hey him his how i'd i'll i'm i've into isn't it's its just keep know \
    let like look make many may maybe me more much must need needs not now off okay one only other our out over \
    please quite really said same say see she should since some something still such take tell than that that's the \
    their them then there these they thing this those too very want wants was way well were what when where which \
    who why will with would yes you your"
        .split(' ')
        .collect()
});

fn is_filler(word: &str) -> bool {
    // The longest of them has nine letters.
    let mut lower = [0; 9];
    let Some(lower) = lower.get_mut(..word.len()) else { return false };
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    FILLER.binary_search_by(|known| known.as_bytes().cmp(lower)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filler_is_sorted_and_short() {
        assert!(FILLER.is_sorted() && FILLER.iter().all(|word| word.len() <= 9));
    }

    #[test]
    fn salient_words_carry_the_topic() {
        let rows: [(&str, &[&str]); 5] = [
            ("Hi, I was charged twice for order 48213!", &["charged", "twice", "order", "48213"]),
            ("List open issues for elizaOS/eliza", &["List", "open", "issues", "elizaOS/eliza"]),
            ("Hello, I need help.", &["help"]),
            ("password, Password and PASSWORD", &["password"]),
            ("", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(salient(text, 8), expected, "{text}");
        }
    }

    #[test]
    fn words_are_found_by_how_they_begin() {
        let rows = [
            ("You CHARGED me", &["charge"][..], true),
            ("recharged", &["charge"], false),
            ("pre-charge (log-in)", &["log-in"], true),
            ("élan charge", &["lan"], false),
            ("", &["charge"], false),
            ("charge", &[], false),
        ];
        for (text, wanted, expected) in rows {
            assert_eq!(mentions(text, wanted), expected, "{text}");
        }
    }

    #[test]
    fn reflections() {
        let rows = [
            ("I lost my key.", "you lost your key."),
            ("I can't log in to my account", "you are not able to log in to your account"),
            ("I was late, and I'm sorry for myself", "you were late, and you are sorry for yourself"),
            ("your software crashed on me!", "my software crashed on you!"),
            ("über «mein» 日本", "über «mein» 日本"),
            ("", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(reflect(text), expected, "{text}");
        }
    }

    #[test]
    fn sentences_end_at_marks_before_space() {
        let rows: [(&str, &[&str]); 4] = [
            ("Hi! Is v2.1 out? Yes", &["Hi!", "Is v2.1 out?", "Yes"]),
            ("one\ntwo", &["one", "two"]),
            ("…é.", &["…é."]),
            (" ", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(sentences(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn short_texts_stay_and_long_ones_are_cut_at_a_word() {
        assert_eq!(shorten(" a bc ", 9), "a bc");
        assert_eq!(shorten("alpha beta gamma", 12), "alpha beta …");
        assert_eq!(shorten("日本日本", 2), "日本 …");
    }
}
