//! `empty`: there is no text, or nothing but white space.

use crate::{
    Subject,
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
};

pub(crate) fn find(subject: &Subject<'_>) -> Outcome {
    let text = subject.reply.trim();
    if text.is_empty() {
        return Outcome::pass("the text is empty");
    }
    Outcome::fail(format!("the text is not empty: {:?}", excerpt(text, SHORT_BYTES)))
}
