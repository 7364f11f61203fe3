//! `empty`: there is no text, or only white space.

use crate::{
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct Empty;

impl Immediate for Empty {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let text = subject.reply.trim();
        if text.is_empty() {
            return Outcome::pass("the text is empty");
        }
        Outcome::fail(format!("the text is not empty: {:?}", excerpt(text, SHORT_BYTES)))
    }
}
