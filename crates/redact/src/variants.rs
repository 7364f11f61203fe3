//! The forms in which a secret may appear: in JSON, HTML or a URL, in hexadecimal digits, in base64 once or twice, in
//! capitals, or line by line.

use crate::mark::SHORTEST_SECRET;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Shorter lines of a key file reveal nothing by themselves.
const SHORTEST_LINE: usize = 16;

/// Every text to look for, each once.
pub(crate) fn of(secret: &str) -> Vec<String> {
    let mut all = dresses(secret);
    if secret.contains('\n') {
        let lines = secret.lines().map(str::trim);
        all.extend(lines.filter(|line| line.len() >= SHORTEST_LINE && !line.starts_with("-----")).flat_map(dresses));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The secret as it is, and between quotes.
pub(crate) fn quoted(secret: &str) -> Vec<String> {
    let mut all = vec![secret.to_owned(), json(secret), debugged(secret)];
    all.sort_unstable();
    all.dedup();
    all
}

fn dresses(secret: &str) -> Vec<String> {
    let quoted = json(secret);
    let debugged = debugged(secret);
    let mut all = vec![
        secret.to_owned(),
        quoted.replace('/', "\\/"),
        // A quoted text inside a JSON document is quoted again.
        json(&quoted),
        json(&debugged),
        quoted,
        debugged,
        percent(secret, false, "%20"),
        percent(secret, true, "%20"),
        percent(secret, false, "+"),
        html(secret),
        // As Go's encoder writes JSON, to be put into HTML.
        json(secret).replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e"),
    ];
    for (before, upper) in [("", false), ("", true), ("%", false), ("%", true)] {
        all.push(hexadecimal(secret, before, upper));
    }
    if is_no_word(secret) {
        all.extend([secret.to_uppercase(), secret.to_lowercase()]);
    }
    for once in in_base64(secret.as_bytes()) {
        all.extend(in_base64(once.as_bytes()));
        all.push(once);
    }
    all
}

/// Whether the secret is not an ordinary word in any case.
fn is_no_word(secret: &str) -> bool {
    secret.chars().any(|character| character.is_ascii_digit()) && secret.chars().any(char::is_alphabetic)
}

/// With both alphabets, at each place in a group of three bytes.
fn in_base64(bytes: &[u8]) -> Vec<String> {
    let all =
        [STANDARD, URL_SAFE].into_iter().flat_map(|alphabet| (0..3).map(move |lead| base64(bytes, lead, alphabet)));
    let mut all: Vec<String> = all.filter(|text| text.len() >= SHORTEST_SECRET).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn hexadecimal(secret: &str, before: &str, upper: bool) -> String {
    let digits = |byte: u8| if upper { format!("{before}{byte:02X}") } else { format!("{before}{byte:02x}") };
    secret.bytes().map(digits).collect()
}

fn html(secret: &str) -> String {
    let escaped = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

fn json(secret: &str) -> String {
    let mut text = String::with_capacity(secret.len());
    for character in secret.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            control if u32::from(control) < 0x20 => text.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text
}

/// As `{:?}` shows it, without its quotes: unlike `escape_debug`, which escapes both kinds of them.
fn debugged(secret: &str) -> String {
    let shown = format!("{secret:?}");
    shown[1..shown.len() - 1].to_owned()
}

fn percent(secret: &str, lower: bool, space: &str) -> String {
    let mut text = String::with_capacity(secret.len());
    for byte in secret.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => text.push(char::from(byte)),
            b' ' => text.push_str(space),
            byte if lower => text.push_str(&format!("%{byte:02x}")),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// The digits of the secret's base64 that do not depend on the text around it, when it starts `lead` bytes into a group
/// of three (`user:secret` encodes a secret in the middle of a group).
fn base64(secret: &[u8], lead: usize, alphabet: &[u8; 64]) -> String {
    let mut bytes = vec![0; lead];
    bytes.extend_from_slice(secret);
    // A digit holds six bits: from the first without bits of the lead to the last that the secret fills.
    let first = (lead * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    (first..last)
        .map(|digit| {
            let bit = digit * 6;
            let pair = (u16::from(bytes[bit / 8]) << 8) | u16::from(bytes.get(bit / 8 + 1).copied().unwrap_or(0));
            let value = (pair >> (10 - bit % 8)) & 63;
            char::from(alphabet[usize::from(value)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // The test vectors of RFC 4648, section 10, without the last digit if it depends on padding.
        for (plain, expected) in [("foo", "Zm9v"), ("foobar", "Zm9vYmFy"), ("fooba", "Zm9vYm"), ("foob", "Zm9vY")] {
            assert_eq!(base64(plain.as_bytes(), 0, STANDARD), expected, "{plain}");
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xbf], 0, STANDARD), "+/+/");
        assert_eq!(base64(&[0xfb, 0xff, 0xbf], 0, URL_SAFE), "-_-_");
        // "xfoobar" is "eGZvb2Jhcg==", "xxfoobar" is "eHhmb29iYXI=".
        assert!("eGZvb2Jhcg==".contains(&base64(b"foobar", 1, STANDARD)));
        assert!("eHhmb29iYXI=".contains(&base64(b"foobar", 2, STANDARD)));
        assert_eq!(base64(b"foobar", 1, STANDARD).len(), 7);
    }

    #[test]
    fn a_plain_key_has_few_variants() {
        let all = of("abcdefghij");
        assert!(all.contains(&"abcdefghij".to_owned()));
        // The plain form, four in hexadecimal digits, three in base64, and each of these three times again.
        assert_eq!(all.len(), 1 + 4 + 3 + 9, "{all:?}");
        assert!(!all.contains(&"ABCDEFGHIJ".to_owned()), "a word in capitals is a word");
    }
}
