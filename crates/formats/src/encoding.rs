//! The text of a file's bytes: UTF-8 with or without a mark, UTF-16 with one, else Windows-1252 with a warning.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use yaml::Diagnostic;

/// The text, with a warning if it was not UTF-8. `path` is for the findings.
///
/// # Errors
/// The bytes are not text: they contain a zero byte, or do not match their byte order mark.
pub fn decode(bytes: Vec<u8>, path: &str) -> Result<(String, Option<Diagnostic>), Diagnostic> {
    let marked = Encoding::for_bom(&bytes);
    if let Some((encoding, mark)) = marked.filter(|(encoding, _)| *encoding != UTF_8) {
        return encoding
            .decode_without_bom_handling_and_without_replacement(&bytes[mark..])
            .map(|text| (text.into_owned(), None))
            .ok_or_else(|| {
                let message = format!("the file is marked as {} and is not", encoding.name());
                Diagnostic::error(path, 1, 0, message).with_help("save it as UTF-8")
            });
    }
    if let Some(zero) = bytes.iter().position(|byte| *byte == 0) {
        let line = line_of(&bytes, zero);
        return Err(Diagnostic::error(path, line, 0, "the file is not text: it contains a zero byte")
            .with_help("save it as UTF-8"));
    }
    let mark = marked.map_or(0, |(_, mark)| mark);
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            text.drain(..mark);
            Ok((text, None))
        }
        Err(error) => {
            let line = line_of(error.as_bytes(), error.utf8_error().valid_up_to());
            let (text, _) = WINDOWS_1252.decode_without_bom_handling(&error.as_bytes()[mark..]);
            let warning =
                Diagnostic::warning(path, line, 0, "the file is not UTF-8 here; gabfest reads it as Windows-1252")
                    .with_help("save it as UTF-8");
            Ok((text.into_owned(), Some(warning)))
        }
    }
}

/// 1-based.
fn line_of(bytes: &[u8], place: usize) -> u32 {
    let line = 1 + bytes[..place].iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(line).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text_or_a_finding_at_their_line() {
        let read = |bytes: &[u8]| {
            decode(bytes.to_vec(), "x")
                .map(|(text, warning)| (text, warning.map(|found| found.line)))
                .map_err(|found| found.line)
        };
        assert_eq!(read(b"plain"), Ok(("plain".to_owned(), None)));
        assert_eq!(read(b"\xef\xbb\xbfmarked \xc3\xa9"), Ok(("marked é".to_owned(), None)));
        assert_eq!(read(b"a\nb\ncaf\xe9 \x80"), Ok(("a\nb\ncafé €".to_owned(), Some(3))));
        assert_eq!(read(b"\xff\xfeh\0i\0"), Ok(("hi".to_owned(), None)));
        assert_eq!(read(b"\xff\xfe\x00\xd8"), Err(1));
        assert_eq!(read(b"a\nb\0"), Err(2));
        assert_eq!(read(b""), Ok((String::new(), None)));
    }
}
