//! `too_polite`: the user thanks three turns running.

use std::sync::LazyLock;

use regex::Regex;

use super::{fold, scene::Scene};

/// Thanks in this draft and in so many lines before it.
const LINES_BEFORE: usize = 2;

static THANKS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(" (?:thanks?|thankyou|thx|danke|dank|dankeschon|gracias|merci|grazie|obrigad[oa]) ")
        .expect("the expression is fixed, and a test compiles it")
});

pub(super) fn find(scene: &Scene<'_>, folded: &str) -> Option<String> {
    let thanks = THANKS.find(folded)?;
    let before = scene.earlier.iter().rev().take(LINES_BEFORE);
    let again = before.filter(|exchange| THANKS.is_match(&fold::sentences(&exchange.user))).count();
    (again == LINES_BEFORE).then(|| thanks.as_str().trim().to_owned())
}
