//! `regex_match`: the text matches a pattern, in linear time, and the named groups satisfy their checks.

use regex::Regex;
use scenario::check;

use crate::{
    error::Error,
    evaluator::{Behaviour, Compile, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    nested::{Named, Nested},
    outcome::Outcome,
    pattern::{PATTERN_BYTES, pattern},
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct RegexMatch {
    regex: Regex,
    /// The pattern in the form `/…/i`, for reasons.
    shown: String,
    /// By the name of the group.
    captures: Vec<(String, Nested)>,
}

impl RegexMatch {
    pub(crate) fn new(rule: &check::RegexMatch, compile: Compile) -> Result<Self, Error> {
        let check::RegexMatch { pattern: text, case_sensitive, captures } = rule;
        let regex = pattern(text, *case_sensitive, PATTERN_BYTES)?;
        let captures = captures
            .iter()
            .map(|(name, checks)| {
                if !regex.capture_names().flatten().any(|known| known == name) {
                    return Err(Error::Group { name: name.clone() });
                }
                Ok((name.clone(), Nested::new(checks, "captures", compile)?))
            })
            .collect::<Result<_, _>>()?;
        let flag = if *case_sensitive { "" } else { "i" };
        let shown = format!("/{}/{flag}", excerpt(text, SHORT_BYTES));
        Ok(Self { regex, shown, captures })
    }
}

impl Behaviour for RegexMatch {
    /// The evidence is the text that matched first.
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        // The reply first: `^` and `$` then mean its ends.
        let found = self.regex.captures(subject.reply).or_else(|| self.regex.captures(subject.said));
        let Some(found) = found else {
            return Found::Now(Outcome::fail(format!("the reply does not match {}", self.shown)));
        };
        let evidence = found.get(0).map_or("", |whole| whole.as_str());
        let matches = || Outcome::pass(format!("the reply matches {}", self.shown));
        if self.captures.is_empty() {
            return Found::Now(matches().with_evidence(evidence));
        }
        // A group that took no part in the match is empty text.
        let value = |name: &str| found.name(name).map_or("", |group| group.as_str()).to_owned();
        let values: Vec<Named<'a>> =
            self.captures.iter().map(|(name, checks)| (format!("the group `{name}`"), value(name), checks)).collect();
        Found::asking(async move {
            Nested::all(values, subject, pool).await.unwrap_or_else(matches).with_evidence(evidence)
        })
    }
}
