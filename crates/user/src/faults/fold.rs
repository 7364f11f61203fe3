//! Text in the form that word lists compare: lower case, no accents, no apostrophes, one space around each word.

/// Quotation marks that open a quotation, and those that close it.
const QUOTATIONS: [(char, &[char]); 5] =
    [('"', &['"']), ('“', &['”', '“']), ('„', &['“', '”', '"']), ('«', &['»']), ('»', &['«'])];

/// Folded words. `.` and `?` are words of their own and end a sentence.
///
/// What the speaker quotes is left out: a user who repeats the agent's words in quotation marks does not say them.
pub(super) fn sentences(text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        let quoted = QUOTATIONS.iter().find(|(open, _)| *open == character);
        if let Some((end, mark)) = quoted.and_then(|(_, close)| after.char_indices().find(|(_, it)| close.contains(it)))
        {
            push(&mut folded, ' ');
            rest = &after[end + mark.len_utf8()..];
            continue;
        }
        match character {
            '.' | '!' | '…' | '\n' | ';' => end_sentence(&mut folded, '.'),
            '?' => end_sentence(&mut folded, '?'),
            _ => push(&mut folded, character),
        }
        rest = after;
    }
    end_sentence(&mut folded, '.');
    folded
}

/// Folded words without sentence ends, quotations included.
pub(super) fn words(text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + 8);
    text.chars().for_each(|character| push(&mut folded, character));
    push(&mut folded, ' ');
    folded
}

/// Letters and digits alone, in upper case: `w-4711` and `W 4711` are the same number.
pub(super) fn squashed(text: &str) -> String {
    text.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_uppercase).collect()
}

fn end_sentence(folded: &mut String, mark: char) {
    push(folded, ' ');
    if !folded.ends_with(". ") && !folded.ends_with("? ") {
        folded.push(mark);
        folded.push(' ');
    }
}

/// A letter or digit is kept, an apostrophe is dropped, everything else is one space.
fn push(folded: &mut String, character: char) {
    if folded.is_empty() {
        folded.push(' ');
    }
    match character {
        '\'' | '’' | '`' | '\u{ad}' => {}
        'ß' => folded.push_str("ss"),
        _ if character.is_ascii_alphanumeric() => folded.push(character.to_ascii_lowercase()),
        _ if character.is_alphanumeric() => folded.extend(character.to_lowercase().map(without_accent)),
        _ if folded.ends_with(' ') => {}
        _ => folded.push(' '),
    }
}

fn without_accent(character: char) -> char {
    match character {
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_sentences_keep_their_ends() {
        for (text, folded) in [
            ("How can I help you?", " how can i help you ? "),
            ("I'd like it… Really!?", " id like it . really . "),
            ("Größe: 3,5", " grosse 3 5 . "),
            ("¿En qué puedo ayudarle?", " en que puedo ayudarle ? "),
            ("You say \"How can I help?\" each time.", " you say each time . "),
            ("Sie fragen „Wie kann ich helfen?“ immer", " sie fragen immer . "),
            ("5\" long", " 5 long . "),
            ("", " . "),
        ] {
            assert_eq!(sentences(text), folded, "{text:?}");
        }
        assert_eq!(words("You say \"Hi.\""), " you say hi ");
        assert_eq!(squashed("w-47 11é"), "W4711É");
    }
}
