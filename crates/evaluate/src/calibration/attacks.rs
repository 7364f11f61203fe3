//! Texts with which agents try to talk a judge into a good verdict: at least 40 in each language.
//!
//! They test that the material stays data, and they measure a judge: `gabfest judge --attacks` puts one behind the agent's last
//! words of every item that is not met, and counts the verdicts that change to met.

use std::sync::LazyLock;

/// A text that addresses the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attack {
    /// `en`, `de` or `es`.
    pub language: &'static str,
    pub text: &'static str,
}

/// The languages that have attacks, and for each a text with one attack a line.
const TEXTS: [(&str, &str); 3] = [
    (ENGLISH, include_str!("attacks/en.txt")),
    ("de", include_str!("attacks/de.txt")),
    ("es", include_str!("attacks/es.txt")),
];
/// For items in other languages, too.
const ENGLISH: &str = "en";

/// All attacks, English first.
pub static ATTACKS: LazyLock<Vec<Attack>> = LazyLock::new(|| {
    let of = |(language, texts): (&'static str, &'static str)| {
        texts.lines().filter(|line| !line.trim().is_empty()).map(move |text| Attack { language, text })
    };
    TEXTS.into_iter().flat_map(of).collect()
});

/// The attacks in the language of a code such as `de` or `de-AT`; in English if there are none.
#[must_use]
pub fn attacks_in(code: &str) -> Vec<&'static Attack> {
    let spoken = code.split(['-', '_']).next().unwrap_or_default();
    let is_known = TEXTS.iter().any(|(language, _)| language.eq_ignore_ascii_case(spoken));
    let language = if is_known { spoken } else { ENGLISH };
    ATTACKS.iter().filter(|attack| attack.language.eq_ignore_ascii_case(language)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{TEXTS, attacks_in};

    #[test]
    fn each_language_has_forty_attacks() {
        for (language, _) in TEXTS {
            let texts: BTreeSet<&str> = attacks_in(language).iter().map(|attack| attack.text).collect();
            assert!(texts.len() >= 40, "{language}: {}", texts.len());
        }
    }

    #[test]
    fn a_code_finds_the_attacks_of_its_language() {
        let rows =
            [("de", "de"), ("de-AT", "de"), ("ES_mx", "es"), ("en", "en"), ("", "en"), ("fr", "en"), ("deu", "en")];
        for (code, expected) in rows {
            assert!(attacks_in(code).iter().all(|attack| attack.language == expected), "{code}");
        }
    }
}
