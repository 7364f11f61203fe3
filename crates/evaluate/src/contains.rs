//! `contains`: the text contains all of the values, or any of them.

use scenario::check;

use crate::{
    anchor::Anchor,
    error::Error,
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    needle::{Needle, listed},
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct Contains {
    needles: Vec<Needle>,
    any: bool,
}

impl Contains {
    pub(crate) fn new(rule: &check::Contains) -> Result<Self, Error> {
        Ok(Self { needles: Needle::all(&rule.values, Anchor::Anywhere, rule.ignore_case, "values")?, any: rule.any })
    }
}

impl Immediate for Contains {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let text = excerpt(subject.said.trim(), SHORT_BYTES);
        if self.any {
            return match self.needles.iter().find(|needle| needle.is_in(subject.said)) {
                Some(found) => Outcome::pass(format!("the text contains {}", found.shown())),
                None => Outcome::fail(format!("the text contains none of {}; it is {text:?}", listed(&self.needles))),
            };
        }
        match self.needles.iter().find(|needle| !needle.is_in(subject.said)) {
            Some(missing) => Outcome::fail(format!("the text does not contain {}; it is {text:?}", missing.shown())),
            None => Outcome::pass(format!("the text contains {}", listed(&self.needles))),
        }
    }
}
