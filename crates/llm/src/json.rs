//! Bounds foreign JSON: counts its values before it is parsed.
//!
//! A megabyte of small values takes a hundred times its size in memory, so a limit of bytes is not enough.

mod ruled;

use serde_json::Value;

pub use self::ruled::{Rules, read};

/// Values of one text; a reply of a megabyte has a few thousand.
pub const MOST_VALUES: usize = 50_000;

/// Why it is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("JSON of more than {MOST_VALUES} values")]
pub struct TooMany;

/// Checks that the text has no more values than the limit; text that is not JSON passes.
///
/// # Errors
/// It has too many.
pub fn check(text: &[u8]) -> Result<(), TooMany> {
    if text.len() <= MOST_VALUES {
        return Ok(());
    }
    let is_json = text.trim_ascii_start().first().is_some_and(|first| matches!(first, b'[' | b'{'));
    if is_json && values(text) > MOST_VALUES { Err(TooMany) } else { Ok(()) }
}

/// An upper bound of the number of values: each follows a bracket or a comma, or is the whole.
fn values(text: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (1, false, false);
    for byte in text {
        if in_text {
            in_text = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
        } else {
            match byte {
                b'"' => in_text = true,
                b'[' | b'{' | b',' => count += 1,
                _ => {}
            }
        }
    }
    count
}

/// The bytes of a value in a request.
pub(crate) fn bytes(value: &Value) -> u64 {
    let mut count = Count(0);
    // The counter accepts every write, and a value that cannot be serialised has no bytes.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct Count(u64);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_words_are_not() {
        let rows = [
            ("1", 1),
            ("[]", 2),
            ("[1,2]", 3),
            (r#"{"a":1,"b":[2]}"#, 4),
            (r#"["a,b[{","\",["]"#, 3),
            (r#""\\",1"#, 2),
        ];
        for (text, expected) in rows {
            assert_eq!(values(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_crowd_is_refused_and_a_long_text_is_not() {
        let crowd = |piece: &str| format!("[{}1]", piece.repeat(1 << 17));
        for text in [crowd("1,"), crowd("[],"), crowd(r#"{"":0},"#), "[".repeat(1 << 17)] {
            assert_eq!(check(text.as_bytes()), Err(TooMany));
        }
        let long = format!(r#"{{"text":"{}"}}"#, "a, b, [c] {d} ".repeat(1 << 16));
        for text in [long.as_str(), &"prose, with commas, ".repeat(1 << 16), "{}"] {
            assert_eq!(check(text.as_bytes()), Ok(()));
        }
    }
}
