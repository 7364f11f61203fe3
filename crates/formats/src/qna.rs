//! Questions and answers of Bot Framework and QnA Maker: `.qna` and `.lu` files, knowledge bases as JSON, and the batch
//! tester's table.
//!
//! All of them become a [`KnowledgeBase`]. `parse` reads the lines of one file into a `sheet`, `collate` merges it with
//! its imports, [`json`] and [`write`](mod@write) are the other forms, and `document` turns each question into a
//! scenario.

mod base;
mod collate;
pub mod json;
mod parse;
mod question_cases;
mod sheet;
mod tsv;
pub mod write;

use scenario::{
    Format,
    format::{Files, Script},
    plan::{Axis, Group},
};
use serde_json::Value;
use yaml::{Diagnostic, Document, schema};

pub use base::{Alteration, DEFAULT_SOURCE, FileLink, KnowledgeBase, Pair, Prompt, Targets, normal};
pub use collate::{Collated, SourceLine, collate};
pub use question_cases::{Asked, Beside};

/// The largest file, in bytes. It is plain text, so a small file cannot overwhelm a parser.
const MAX_BYTES: usize = 16 << 20;

pub const FORMAT: &dyn Format = &Qna;

#[derive(Debug)]
struct Qna;

impl Format for Qna {
    fn name(&self) -> &'static str {
        question_cases::NAME
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".qna", ".qna.json", ".qna.tsv"]
    }

    fn loose_endings(&self) -> &'static [&'static str] {
        &[".lu", ".tsv", ".json"]
    }

    fn max_bytes(&self) -> usize {
        MAX_BYTES
    }

    fn open_beside(&self, text: &str, path: &str, files: &mut dyn Files) -> (Vec<Document>, Vec<Diagnostic>) {
        if path.to_ascii_lowercase().ends_with(".tsv") {
            return tsv::open(text, path);
        }
        question_cases::documents(knowledge_base(text, path, files))
    }

    fn nothing_found(&self, text: &str, path: &str) -> Option<Diagnostic> {
        let help = "write `# ? question`, and below it the answer between two lines of ```";
        Some(if text.trim().is_empty() {
            Diagnostic::error(path, 0, 0, "the file is empty").with_help(help)
        } else {
            Diagnostic::warning(path, 0, 0, "the file contains no question").with_help(help)
        })
    }

    /// Each question of a pair is a case.
    fn axes(&self, document: &Document) -> Vec<Axis> {
        question_cases::axes(document)
    }

    fn translate(&self, document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
        question_cases::read(document)
    }

    fn schema(&self) -> Value {
        schema::of::<Asked>()
    }
}

/// What a group of a plan asks, if it comes from a knowledge base.
#[must_use]
pub fn asked(group: &Group) -> Option<Asked> {
    if group.format == question_cases::NAME { Asked::of(&group.document) } else { None }
}

/// Reads a knowledge base: JSON if the text or the file name says so, otherwise `.qna`.
#[must_use]
pub fn knowledge_base(text: &str, path: &str, files: &mut dyn Files) -> Collated {
    let text_begins = |mark: char| text.trim_start().starts_with(mark);
    let is_json = text_begins('{') || (text_begins('[') && path.to_ascii_lowercase().ends_with(".json"));
    if is_json { json::read(text, path) } else { collate(text, path, files) }
}
