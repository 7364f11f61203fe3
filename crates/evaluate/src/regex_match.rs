//! `regex_match`: a pattern is found anywhere in the reply, in any case, in linear time.

use regex::Regex;

use crate::{
    Subject,
    compile::{self, PATTERN_BYTES, pattern},
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
};

#[derive(Debug)]
pub(crate) struct RegexMatch {
    regex: Regex,
}

impl RegexMatch {
    pub(crate) fn new(text: &str) -> Result<Self, compile::Error> {
        Ok(Self { regex: pattern(text, PATTERN_BYTES)? })
    }

    /// The evidence is the text that matched.
    pub(crate) fn find(&self, subject: &Subject<'_>) -> Outcome {
        let shown = excerpt(self.regex.as_str(), SHORT_BYTES);
        match self.regex.find(subject.reply) {
            Some(found) => Outcome::pass(format!("the reply matches /{shown}/i")).with_evidence(found.as_str()),
            None => Outcome::fail(format!("the reply does not match /{shown}/i")),
        }
    }
}
