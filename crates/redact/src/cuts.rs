//! Texts that were cut before redaction: the cut may have split a secret, whose first part is before the `…`.

use std::borrow::Cow;

use crate::mark::{MARK, SHORTEST_SECRET};

/// The mark of an omission.
const CUT: char = '…';

pub(crate) fn redact<'a>(text: &'a str, secrets: &[String]) -> Cow<'a, str> {
    let mut clean = String::new();
    let mut rest = 0;
    for (at, _) in text.match_indices(CUT) {
        // A secret may look like the end of a mark.
        let from = text[rest..at].rfind(MARK).map_or(rest, |mark| rest + mark + MARK.len());
        let left = secrets.iter().filter_map(|secret| left_of(secret, &text[from..at])).max();
        if let Some(left) = left {
            clean.push_str(&text[rest..at - left]);
            clean.push_str(MARK);
            rest = at;
        }
    }
    if rest == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[rest..]);
    Cow::Owned(clean)
}

/// The length of the longest proper prefix of the secret with which the text ends.
fn left_of(secret: &str, text: &str) -> Option<usize> {
    let most = secret.len().min(text.len() + 1);
    let ends = (SHORTEST_SECRET..most).rev().filter(|end| secret.is_char_boundary(*end));
    ends.into_iter().find(|end| text.ends_with(&secret[..*end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_cut_secret_is_hidden_too() {
        let secrets = ["pa55/\"wörd\"".to_owned(), "pa55/\\\"wörd\\\"".to_owned(), "another-one".to_owned()];
        for (text, clean) in [
            ("it is pa55/\"w…", "it is [redacted]…"),
            ("it is pa55/\"wörd…", "it is [redacted]…"),
            ("\"it is pa55/\\\"wör…\"", "\"it is [redacted]…\""),
            ("pa55/\"… and another-…, and", "[redacted]… and [redacted]…, and"),
            ("another-…", "[redacted]…"),
        ] {
            assert_eq!(redact(text, &secrets), clean);
        }
        let like_a_mark = ["acted]</p>[ >".to_owned()];
        assert_eq!(redact("<p>[redacted]</p>…", &like_a_mark), "<p>[redacted]</p>…");
        assert_eq!(redact("<p>acted]</p>…", &like_a_mark), "<p>[redacted]…");
        for text in ["", "…", "plain", "pa55/…", "a word…", "pa55/\"wör", "anothe", "ör…", "another-on e…"]
        {
            assert!(matches!(redact(text, &secrets), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
