//! `language`: the text is written in a language.

use scenario::check;
use whatlang::Lang;

use crate::{error::Error, evaluator::Immediate, outcome::Outcome, subject::Subject};

#[derive(Debug)]
pub(crate) struct Language {
    lang: Lang,
}

impl Language {
    pub(crate) fn new(rule: &check::Language) -> Result<Self, Error> {
        let lang = lang_of(&rule.code).ok_or_else(|| Error::Language { code: rule.code.clone() })?;
        Ok(Self { lang })
    }
}

impl Immediate for Language {
    /// A text that is too short is inconclusive, unless it looks like the expected language.
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let expected = self.lang.eng_name();
        let Some(info) = whatlang::detect(subject.reply) else {
            return Outcome::undecided(format!("the text has no words to tell its language by, expected {expected}"));
        };
        let found = info.lang().eng_name();
        if info.lang() == self.lang {
            return Outcome::pass(format!("the text is written in {found}"));
        }
        if !info.is_reliable() {
            return Outcome::undecided(format!(
                "the text is too short or too mixed to tell its language (perhaps {found}), expected {expected}"
            ));
        }
        Outcome::fail(format!("the text is written in {found}, expected {expected}"))
    }
}

/// The language of an ISO 639-3 or 639-1 code. `de-CH` means `de`.
fn lang_of(code: &str) -> Option<Lang> {
    let code = code.trim().split(['-', '_']).next()?.to_ascii_lowercase();
    // The detector names a group by its most widely spoken member.
    let code = match code.as_str() {
        "zh" | "zho" => "cmn",
        "fa" | "fas" => "pes",
        "no" | "nor" | "nb" => "nob",
        other => other,
    };
    Lang::from_code(code).or_else(|| Lang::from_code(isolang::Language::from_639_1(code)?.to_639_3()))
}
