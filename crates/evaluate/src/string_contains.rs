//! `string_contains`: the reply contains a text, case-insensitive by default.

use scenario::check;

use crate::{
    caseless::Caseless,
    error::Error,
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct StringContains {
    value: String,
    /// `None`: case-sensitive.
    caseless: Option<Caseless>,
}

impl StringContains {
    pub(crate) fn new(rule: &check::StringContains) -> Result<Self, Error> {
        let caseless = if rule.case_sensitive { None } else { Some(Caseless::new(&rule.value, "value")?) };
        Ok(Self { value: rule.value.clone(), caseless })
    }
}

impl Immediate for StringContains {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let found = match &self.caseless {
            Some(caseless) => caseless.is_in(subject.said),
            None => subject.said.contains(&self.value),
        };
        let value = excerpt(&self.value, SHORT_BYTES);
        if found {
            return Outcome::pass(format!("the reply contains {value:?}"));
        }
        let reply = excerpt(subject.said.trim(), SHORT_BYTES);
        Outcome::fail(format!("the reply does not contain {value:?}; it is {reply:?}"))
    }
}
