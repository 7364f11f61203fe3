//! The name of a client in its certificate, for people.

const LONGEST_CHARS: usize = 64;

/// What a client calls itself, without what would steer a terminal or not fit a certificate.
pub(crate) fn cleaned(name: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_graphic() && !"\"\\,+<>;=#".contains(*letter);
    let name: String = name.chars().filter(plain).take(LONGEST_CHARS).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_letters_stay() {
        assert_eq!(cleaned("worker-7.rack_2@host"), "worker-7.rack_2@host");
        assert_eq!(cleaned("a\u{1b}[31m, OU=admin"), "a[31mOUadmin");
        assert_eq!(cleaned("\u{1b}"), "unnamed");
        assert_eq!(cleaned(&"x".repeat(100)).len(), 64);
    }
}
