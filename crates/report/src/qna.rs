//! `report.qna`: the result of each question, as comments in the tested knowledge base.
//!
//! The layout is that of `bf qnamaker:test`. Results are in comments, so the file is still the same knowledge base. A
//! batch that names only ids becomes the batch tester's table, `report.qna.tsv`.

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
