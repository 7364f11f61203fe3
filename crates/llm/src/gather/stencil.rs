//! Pieces of a stream that differ in their text alone. Most servers send such ones.
//!
//! Parsing the JSON around a text costs many times what the text does. Here it is compared instead. Servers that put something new into
//! each piece, as OpenAI does with `obfuscation`, gain nothing.

/// The last piece of a stream that said text and nothing else, without that text.
#[derive(Debug, Default)]
pub(crate) struct Stencil {
    /// Empty: there was no such piece.
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Stencil {
    /// Remembers a piece. `text` is a JSON string in it, without its quotes, and without escapes.
    pub(crate) fn cut(&mut self, piece: &[u8], text: &str) {
        let Some(from) = text.as_ptr().addr().checked_sub(piece.as_ptr().addr()) else { return };
        let parts = piece.split_at_checked(from).zip(piece.split_at_checked(from + text.len()));
        let Some(((before, _), (_, after))) = parts else { return };
        self.before.clear();
        self.before.extend_from_slice(before);
        self.after.clear();
        self.after.extend_from_slice(after);
    }

    /// The text of this piece, if the rest of it is that of the remembered one. Without escapes or quotes in it, the piece is
    /// the same JSON with another text.
    pub(crate) fn text<'a>(&self, piece: &'a [u8]) -> Option<&'a str> {
        if self.before.is_empty() {
            return None;
        }
        let text = piece.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let is_plain = text.iter().all(|byte| *byte >= b' ' && !matches!(byte, b'"' | b'\\'));
        str::from_utf8(text).ok().filter(|_| is_plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_may_differ() {
        let piece = r#"{"model":"m","text":"hello","n":1}"#;
        let mut stencil = Stencil::default();
        assert_eq!(stencil.text(piece.as_bytes()), None);
        assert_eq!(stencil.text(b"5"), None);
        stencil.cut(piece.as_bytes(), &piece[21..26]);
        let rows: [(&[u8], Option<&str>); 10] = [
            (piece.as_bytes(), Some("hello")),
            (br#"{"model":"m","text":"a b","n":1}"#, Some("a b")),
            (br#"{"model":"m","text":"","n":1}"#, Some("")),
            ("{\"model\":\"m\",\"text\":\"\u{1F600}\",\"n\":1}".as_bytes(), Some("\u{1F600}")),
            (br#"{"model":"m","text":"a\"b","n":1}"#, None),
            (br#"{"model":"m","text":"a","text":"b","n":1}"#, None),
            (b"{\"model\":\"m\",\"text\":\"a\nb\",\"n\":1}", None),
            (b"{\"model\":\"m\",\"text\":\"\xff\",\"n\":1}", None),
            (br#"{"model":"n","text":"hello","n":1}"#, None),
            (br#"{"model":"m","text":"#, None),
        ];
        for (piece, text) in rows {
            assert_eq!(stencil.text(piece), text, "{}", String::from_utf8_lossy(piece));
        }
    }

    #[test]
    fn a_text_from_elsewhere_is_not_cut() {
        let mut stencil = Stencil::default();
        let (piece, elsewhere) = ("a".repeat(9), "b".to_owned());
        stencil.cut(piece.as_bytes(), &elsewhere);
        assert_eq!(stencil.text(piece.as_bytes()), None);
    }
}
