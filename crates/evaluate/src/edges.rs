//! `starts_with`, `ends_with` and `equals`: the beginning, the end or the whole of the text, without the white space around it.

use crate::{
    error::Error,
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    needle::{Needle, listed},
    outcome::Outcome,
    place::Place,
    subject::Subject,
};

/// One of the values is enough.
#[derive(Debug)]
pub(crate) struct Edges {
    needles: Vec<Needle>,
    place: Place,
}

impl Edges {
    pub(crate) fn new(place: Place, values: &[String], ignore_case: bool) -> Result<Self, Error> {
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
