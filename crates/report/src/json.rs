//! `report.json`: the summary, for programs.

use record::{Summary, visible};

use crate::form::{Form, Make};

pub const FORM: Form = Form {
    name: "json",
    about: "Every figure, for programs",
    file: Some("report.json"),
    make: Make::Page(|summary, _, _| Ok(render(summary))),
};

/// Indented, with keys in the order of the schema, and a final line end.
#[must_use]
pub fn render(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary).expect("a summary has only string keys");
    text.push('\n');
    visible::json_owned(text)
}
