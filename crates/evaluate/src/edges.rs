//! `starts_with`, `ends_with` and `equals`: the start, the end or the whole of the text, without surrounding white
//! space.

use crate::{
    anchor::Anchor,
    error::Error,
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    needle::{Needle, listed},
    outcome::Outcome,
    subject::Subject,
};

/// One of the values is enough.
#[derive(Debug)]
pub(crate) struct Edges {
    needles: Vec<Needle>,
    place: Anchor,
}

impl Edges {
    pub(crate) fn new(place: Anchor, values: &[String], ignore_case: bool) -> Result<Self, Error> {
        Ok(Self { needles: Needle::all(values, place, ignore_case, "values")?, place })
    }
}

impl Immediate for Edges {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let (does, does_not) = match self.place {
            Anchor::Anywhere => ("contains", "contains none of"),
            Anchor::Start => ("begins with", "does not begin with"),
            Anchor::End => ("ends with", "does not end with"),
            Anchor::Whole => ("is", "is not"),
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
