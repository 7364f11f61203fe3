//! Questions and answers of Bot Framework and QnA Maker: `.qna` and `.lu` files, knowledge bases as JSON, and the
//! batch tester's table.
//!
//! A [`KnowledgeBase`] is the value of all of them. `parse` reads the lines of one file into a `sheet`, `collate` puts
//! it together with what it imports, [`json`] and [`write`](mod@write) are the other ways in and out, and `document` makes a
//! scenario of each question.

mod base;
mod collate;
mod document;
pub mod json;
mod parse;
mod sheet;
mod tsv;
pub mod write;

use serde_json::Value;

use super::Script;
use crate::{Diagnostic, plan::Axis, schema, yaml::Document};

pub use base::{Alteration, DEFAULT_SOURCE, FileLink, Filter, KnowledgeBase, Pair, Prompt, Targets, normal};
pub use collate::{Collated, Files, NoFiles, Place, TextFile, collate};
pub use document::{Asked, Beside, QUESTION, REQUEST, Request};

/// Reads a knowledge base: JSON where the text begins as an object does or the file is named so, else `.qna`.
#[must_use]
pub fn knowledge_base(text: &str, path: &str, files: &mut dyn Files) -> Collated {
    let text_begins = |mark: char| text.trim_start().starts_with(mark);
    let is_json = text_begins('{') || (text_begins('[') && path.to_ascii_lowercase().ends_with(".json"));
    if is_json { json::read(text, path) } else { collate(text, path, files) }
}

pub(super) fn open(text: &str, path: &str, files: &mut dyn Files) -> (Vec<Document>, Vec<Diagnostic>) {
    if path.to_ascii_lowercase().ends_with(".tsv") {
        return tsv::open(text, path);
    }
    document::documents(knowledge_base(text, path, files))
}

pub(super) fn axes(document: &Document) -> Vec<Axis> {
    document::axes(document)
}

pub(super) fn read(document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
    document::read(document)
}

pub(super) fn schema() -> Value {
    schema::of::<Asked>()
}
