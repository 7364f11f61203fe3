//! The beginning of a text of any size, for a reason or as evidence.

use std::borrow::Cow;

/// How much of a text a reason shows.
pub(crate) const SHORT_BYTES: usize = 120;
/// How much of a text is kept as evidence.
pub(crate) const LONG_BYTES: usize = 4_000;

/// At most `max_bytes` of `text`, cut between characters. `…` marks a cut.
pub(crate) fn excerpt(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..boundary(text, max_bytes)]))
}

/// The last place at or before `index` where a character begins.
pub(crate) fn boundary(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn cuts_between_characters() {
        for (text, max, expected) in
            [("", 0, ""), ("abc", 3, "abc"), ("abcd", 3, "abc…"), ("äöü", 3, "ä…"), ("😀", 3, "…")]
        {
            assert_eq!(excerpt(text, max), expected, "{text:?} at {max}");
        }
    }
}
