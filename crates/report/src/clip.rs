//! Cuts long texts to the size of a page; `transcripts.jsonl` has the whole.

use crate::figures;

/// The first `chars` characters, with an ellipsis if there were more.
pub(crate) fn ellipsis(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

/// At most `most` characters, with a note of how many are missing.
pub(crate) fn clip(text: &mut String, most: usize) {
    let Some((end, _)) = text.char_indices().nth(most) else { return };
    let more = text[end..].chars().count() as u64;
    text.truncate(end);
    text.push_str(&format!("… [{} more in transcripts.jsonl]", figures::plural(more, "character", "characters")));
    // A reply may have a megabyte, whose memory truncating alone would keep.
    text.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_say_how_much_is_missing() {
        let mut text = "ä".repeat(4_000 + 1_234);
        clip(&mut text, 4_000);
        assert!(
            text.ends_with("ä… [1,234 characters more in transcripts.jsonl]")
                || text.ends_with("more in transcripts.jsonl]")
        );
        assert!(text.chars().count() < 4_000 + 60);
        let mut short = "ok".to_owned();
        clip(&mut short, 4_000);
        assert_eq!(short, "ok");
        assert_eq!(ellipsis("one two three", 8), "one two…");
        assert_eq!(ellipsis("one", 8), "one");
    }
}
