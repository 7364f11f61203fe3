//! `starts_with`, `ends_with` and `equals`: how the text begins, how it ends, what it is; white space around it aside.

use crate::{
    error::Error,
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    needle::{Needle, listed},
    outcome::Outcome,
    place::Place,
    subject::Subject,
};

/// Any of the values will do.
#[derive(Debug)]
pub(crate) struct Edges {
    needles: Vec<Needle>,
    place: Place,
}

impl Edges {
    pub(crate) fn new(values: &[String], place: Place, ignore_case: bool) -> Result<Self, Error> {
        Ok(Self { needles: Needle::all(values, place, ignore_case, "values")?, place })
    }
}

impl Immediate for Edges {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let (does, does_not) = match self.place {
            Place::Anywhere => ("contains", "contains none of"),
            Place::Start => ("begins with", "does not begin with"),
            Place::End => ("ends with", "does not end with"),
            Place::Whole => ("is", "is not"),
        };
        match self.needles.iter().find(|needle| needle.is_in(subject.reply)) {
            Some(found) => Outcome::pass(format!("the text {does} {}", found.shown())),
            None => {
                let text = excerpt(subject.reply.trim(), SHORT_BYTES);
                Outcome::fail(format!("the text {does_not} {}; it is {text:?}", listed(&self.needles)))
            }
        }
    }
}
