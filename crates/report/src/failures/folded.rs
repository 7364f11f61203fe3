//! Folds a reason: removes the parts that differ between trials, which are numbers, ids and quoted replies.

/// How a check begins to quote the text that it was given.
const QUOTED: &str = "; it is \"";
/// A hexadecimal word of at least this length is an id.
const ID_CHARS: usize = 8;

/// Every number and every id becomes `#`.
pub(super) fn of(reason: &str) -> String {
    let reason = reason.find(QUOTED).map_or(reason, |at| &reason[..at]);
    let mut folded = String::with_capacity(reason.len());
    let mut rest = reason;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|character: char| !is_word(character)).map_or(rest, |end| &rest[..end]);
        if is_id(word) {
            folded.push('#');
            rest = &rest[word.len()..];
        } else if word.is_empty() {
            folded.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            fold_digits(word, &mut folded);
            rest = &rest[word.len()..];
            // The rest of a number such as 1,234.5.
            while folded.ends_with('#') && number_goes_on(rest) {
                rest = rest[1..].trim_start_matches(|character: char| character.is_ascii_digit());
            }
        }
    }
    folded
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '-' || character == '_'
}

fn is_id(word: &str) -> bool {
    word.len() >= ID_CHARS
        && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

fn fold_digits(word: &str, folded: &mut String) {
    let mut inside = false;
    for character in word.chars() {
        if !character.is_ascii_digit() {
            folded.push(character);
        } else if !inside {
            folded.push('#');
        }
        inside = character.is_ascii_digit();
    }
}

fn number_goes_on(rest: &str) -> bool {
    let mut bytes = rest.bytes();
    matches!(bytes.next(), Some(b'.' | b',')) && bytes.next().is_some_and(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn reasons_that_differ_only_in_numbers_are_equal() {
        for (reason, folded) in [
            ("", ""),
            ("latency: took 5312 ms, at most 5000 ms", "latency: took # ms, at most # ms"),
            ("score 0.35, required 0.7.", "score #, required #."),
            ("$1,234.56 of $9", "$# of $#"),
            ("order A-1234 is lost", "order A-# is lost"),
            ("request 3f2a9c1d-77b0-4e1f-9a55-0123456789ab failed", "request # failed"),
            ("facade and dead-beef are words", "facade and dead-beef are words"),
            ("HTTP 503, step1b: Größe 12 €", "HTTP #, step#b: Größe # €"),
            ("equals: the text is not \"Hello\"; it is \"Hallo 4\"", "equals: the text is not \"Hello\""),
        ] {
            assert_eq!(of(reason), folded);
        }
    }
}
