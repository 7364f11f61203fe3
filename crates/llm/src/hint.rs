//! An error and its hint in one line, since reports and logs have no room for two.

const BETWEEN: &str = "; hint: ";

/// The message with its hint, if there is one.
#[must_use]
pub fn with(message: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| message.to_owned(), |hint| format!("{message}{BETWEEN}{hint}"))
}

/// The message, and the hint behind it.
#[must_use]
pub fn split(text: &str) -> (&str, Option<&str>) {
    text.rsplit_once(BETWEEN).map_or((text, None), |(message, hint)| (message, Some(hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_can_be_taken_off_again() {
        for hint in [None, Some("start the server")] {
            assert_eq!(split(&with("nothing listens", hint)), ("nothing listens", hint));
        }
    }
}
