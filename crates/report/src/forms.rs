//! All forms of a report. A new one is its file and its line here.

use crate::{
    Form, github, html, json, junit, markdown, qna, series_csv, skunit, terminal, transcripts_jsonl, trials_jsonl, view,
};

pub const ALL: [Form; 13] = [
    terminal::FORM,
    json::FORM,
    junit::FORM,
    github::FORM,
    markdown::FORM,
    html::FORM,
    trials_jsonl::FORM,
    transcripts_jsonl::FORM,
    series_csv::FORM,
    qna::FORM,
    qna::table::FORM,
    skunit::FORM,
    view::FORM,
];

#[must_use]
pub fn find(name: &str) -> Option<&'static Form> {
    static FORMS: [Form; ALL.len()] = ALL;
    FORMS.iter().find(|form| form.name == name)
}
