//! `regex_match`: a pattern is found anywhere in the text, in linear time; its named groups satisfy checks of their own.

use regex::Regex;
use scenario::Check;

use crate::{
    Bench, Subject,
    compile::{self, PATTERN_BYTES, pattern},
    excerpt::{SHORT_BYTES, excerpt},
    nested::Nested,
    outcome::Outcome,
};

#[derive(Debug)]
pub(crate) struct RegexMatch {
    regex: Regex,
    /// As people write it.
    shown: String,
    /// By the name of the group.
    captures: Vec<(String, Nested)>,
}

impl RegexMatch {
    pub(crate) fn new(
        text: &str,
        case_sensitive: bool,
        captures: &[(String, Vec<Check>)],
    ) -> Result<Self, compile::Error> {
        let regex = pattern(text, case_sensitive, PATTERN_BYTES)?;
        let captures = captures
            .iter()
            .map(|(name, checks)| {
                if !regex.capture_names().flatten().any(|known| known == name) {
                    return Err(compile::Error::Group { name: name.clone() });
                }
                Ok((name.clone(), Nested::new(checks, "captures")?))
            })
            .collect::<Result<_, _>>()?;
        let flag = if case_sensitive { "" } else { "i" };
        let shown = format!("/{}/{flag}", excerpt(text, SHORT_BYTES));
        Ok(Self { regex, shown, captures })
    }

    pub(crate) fn asks_a_model(&self) -> bool {
        self.captures.iter().any(|(_, checks)| checks.asks_a_model())
    }

    /// The evidence is the text that matched first. A group that took no part in the match is empty text.
    pub(crate) async fn find(&self, subject: &Subject<'_>, bench: &dyn Bench) -> Outcome {
        let shown = &self.shown;
        // An anchor means the reply's own ends.
        let found = self.regex.captures(subject.reply).or_else(|| self.regex.captures(subject.said));
        let Some(found) = found else {
            return Outcome::fail(format!("the reply does not match {shown}"));
        };
        let evidence = found.get(0).map_or("", |whole| whole.as_str());
        let values = self.captures.iter().map(|(name, checks)| {
            let value = found.name(name).map_or("", |group| group.as_str());
            (format!("the group `{name}`"), value.to_owned(), checks)
        });
        let outcome = Nested::all(values.collect(), subject, bench).await;
        let outcome = outcome.unwrap_or_else(|| Outcome::pass(format!("the reply matches {shown}")));
        outcome.with_evidence(evidence)
    }
}
