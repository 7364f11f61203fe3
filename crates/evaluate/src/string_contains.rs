//! `string_contains`: the reply has a text in it, in any case unless the scenario says otherwise.

use crate::{
    Subject,
    caseless::Caseless,
    compile,
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
};

#[derive(Debug)]
pub(crate) struct StringContains {
    value: String,
    /// `None`: the case matters.
    caseless: Option<Caseless>,
}

impl StringContains {
    pub(crate) fn new(value: &str, case_sensitive: bool) -> Result<Self, compile::Error> {
        let caseless = if case_sensitive { None } else { Some(Caseless::new(value, "value")?) };
        Ok(Self { value: value.to_owned(), caseless })
    }

    pub(crate) fn find(&self, subject: &Subject<'_>) -> Outcome {
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
