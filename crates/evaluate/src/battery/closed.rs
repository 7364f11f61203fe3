//! Whether a reply says yes or no.

use std::sync::LazyLock;

use regex::Regex;

/// Words of negation; tokenised text has spaces around the apostrophe.
static NO: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:no|not|nope|never)\b|\b\w*n ?['’] ?t\b").expect("the pattern is a constant that compiles")
});

/// Judges the first sentence: true unless it negates.
///
/// Revision 9043c93 looks for three spellings anywhere in it, with case, so that `know` negates and `No` does not.
pub(super) fn says_yes(reply: &str, compat: bool) -> bool {
    let first = reply.split('.').next().unwrap_or("");
    if compat {
        return !["no", "do not", "don ' t"].iter().any(|spelling| first.contains(spelling));
    }
    !NO.is_match(first)
}

#[cfg(test)]
mod tests {
    use super::says_yes;

    #[test]
    fn corrected_and_as_it_was() {
        // (reply, corrected, revision 9043c93)
        let rows = [
            ("yes , i have one .", true, true),
            ("no , but i have a dog .", false, false),
            ("No, I have a dog.", false, true),
            ("I don't have any.", false, true),
            ("I don’t have any.", false, true),
            ("i don ' t have any pets .", false, false),
            ("I do not.", false, false),
            ("You're not the owner of a cat.", false, false),
            ("As far as I know, you have a cat.", true, false),
            ("I have two now.", true, false),
            ("You have a cat. No dog, though.", true, true),
            ("You haven't got any.", false, true),
            ("A notebook lies on the knot.", true, false),
            ("", true, true),
        ];
        for (reply, corrected, compat) in rows {
            assert_eq!((says_yes(reply, false), says_yes(reply, true)), (corrected, compat), "{reply}");
        }
    }
}
