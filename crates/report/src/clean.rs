//! Text from outside on one line, and cut to columns.

use unicode_width::UnicodeWidthChar as _;

/// One line, without characters that control a terminal or change the reading direction.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => cleaned.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}' => {}
            '\u{2028}' | '\u{2029}' => cleaned.push(' '),
            control if control.is_control() => {}
            other => cleaned.push(other),
        }
    }
    cleaned.trim().to_owned()
}

/// Cut to `columns`, with an ellipsis if something was cut.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let mut taken = 0;
    for (index, character) in text.char_indices() {
        let wide = character.width().unwrap_or(0);
        // The last column is reserved for the ellipsis, unless this is the last character.
        let last = index + character.len_utf8() == text.len();
        if taken + wide > columns.saturating_sub(usize::from(!last)) {
            return format!("{}…", text[..index].trim_end());
        }
        taken += wide;
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed() {
        for (text, cleaned) in [
            ("plain", "plain"),
            ("a\u{1b}[31mred\u{1b}[0m", "a[31mred[0m"),
            ("title\u{1b}]0;pwned\u{7}", "title]0;pwned"),
            ("c1\u{9b}31m", "c131m"),
            ("two\nlines\r\nand\ttab", "two lines  and tab"),
            ("abc\u{202e}fdp.exe", "abcfdp.exe"),
            ("nul\0del\u{7f}", "nuldel"),
            ("日本 ok", "日本 ok"),
        ] {
            assert_eq!(clean(text), cleaned, "{text:?}");
        }
    }

    #[test]
    fn texts_are_cut_by_columns() {
        for (text, columns, fitted) in [
            ("exact", 5, "exact"),
            ("longer text", 7, "longer…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("", 0, ""),
        ] {
            assert_eq!(fit(text, columns), fitted);
        }
    }
}
