//! `report.qna`: what became of each question, as comments of the knowledge base that was asked for.
//!
//! The layout is that of `bf qnamaker:test`. Results stand in comments, so the file is the same knowledge base when
//! it is read again. A batch that names only ids becomes the batch tester's table, `report.qna.tsv`.

mod batch;
pub mod table;

pub use self::batch::Batch;
use crate::form::{Form, Make};

pub const FORM: Form = Form {
    name: "qna",
    about: "The knowledge base that was asked, with the results as comments",
    file: Some("report.qna"),
    make: Make::Questions(Batch::qna),
};
