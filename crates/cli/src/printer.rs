//! Cleans texts for a terminal: foreign names and texts cannot control it, our own colours pass.

use std::borrow::Cow;

use record::visible;

/// The start of a colour sequence, as `paint` and the diagnostics write it.
const BEGIN: &str = "\u{1b}[";

/// Escapes all control characters except colours: `ESC [`, digits and semicolons, `m`. Callers that add colours clean
/// the texts between them first, so all remaining colours are our own.
pub(crate) fn painted(text: &str) -> Cow<'_, str> {
    if !text.contains(BEGIN) {
        return visible::text(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut parts = text.split(BEGIN);
    shown.push_str(&visible::text(parts.next().unwrap_or_default()));
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|next: char| next.is_ascii_digit() || next == ';').len();
        let is_color = part[digits..].starts_with('m');
        shown.push_str(if is_color { BEGIN } else { "\\u{1b}[" });
        shown.push_str(&visible::text(part));
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_pass_and_nothing_else() {
        for (text, expected) in [
            ("\u{1b}[1;32mok\u{1b}[0m\n", "\u{1b}[1;32mok\u{1b}[0m\n"),
            ("\u{1b}[2J\u{1b}[mx", "\\u{1b}[2J\u{1b}[mx"),
            ("\u{1b}[1\u{1b}]0;x\u{7}", "\\u{1b}[1\\u{1b}]0;x\\u{7}"),
            ("\u{9b}31m\u{202e}", "\\u{9b}31m\\u{202e}"),
            ("\u{1b}[", "\\u{1b}["),
        ] {
            assert_eq!(painted(text), expected);
        }
    }
}
