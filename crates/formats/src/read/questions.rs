//! Reads questions and answers on their own, for `gabfest qnamaker` and for the mock that answers from a file.

use std::path::Path;

use scenario::Reading;

use super::{
    Beside, Found, Reader,
    kind::Kind,
    text::{shown, text_of},
};
use crate::qna::{self, Collated};

/// Reads questions and answers: a file, the standard input (`-`), or a folder, whose files are one knowledge base.
#[must_use]
pub fn questions(path: &Path) -> Reading {
    let mut reader = Reader::default();
    let found = |path: std::path::PathBuf| Found { path, kind: Kind::Scenario(qna::FORMAT), named: true, root: None };
    if path.is_dir() {
        // A file that imports the whole folder, and has no name that a file could have.
        reader.open_scenarios("[all](./**)", &found(path.join("**")), qna::FORMAT);
    } else {
        reader.read_scenarios(&found(path.to_path_buf()), qna::FORMAT);
    }
    reader.reading
}

/// Reads a knowledge base of questions and answers with all that it imports; `-` is the standard input.
#[must_use]
pub fn knowledge_base(path: &Path) -> Collated {
    match text_of(path, qna::FORMAT.max_bytes()) {
        Ok((text, warning)) => {
            let mut collated = qna::knowledge_base(&text, &shown(path), &mut Beside::of(path));
            collated.diagnostics.splice(0..0, warning);
            collated
        }
        Err(diagnostic) => Collated { diagnostics: vec![diagnostic], ..Collated::default() },
    }
}
