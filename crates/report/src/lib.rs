//! A summary in, pages out.
//!
//! A report is a function of a run's [`record::Summary`] and of a capped [`Selection`] of its transcripts, so rendering
//! an old run again gives the same bytes. Trials arrive one by one, in the plan's order; only the selection stays in
//! memory.
//!
//! - [`forms`]: the list of all forms. Each form is one file: [`terminal`], [`markdown`], [`html`], [`junit`], [`github`], [`json`],
//!   [`trials_jsonl`], [`transcripts_jsonl`], [`view`], [`qna`], [`skunit`].
//! - [`Writer`] fills a run's folder with all forms that have a file; [`Rendering`] makes one form without a folder.
//! - `document`: the content of the pages for people, as sections that are computed once. Markdown, the terminal and
//!   HTML lay them out.
//! - [`battery`]: workbooks and distributions of quality batteries.
//! - [`compare`]: the pages of a comparison of two runs.
//! - [`trends`]: the pages of a history of runs.
//! - [`noise`]: the page of `gabfest noise`.
//! - [`schema`]: the shapes of `report.json`, `compare.json` and `gabfest noise --json`.
//! - `found`, `failures`, `informing`: findings over all trials. `cases`, `matrix`, `parts`, `reasons`, `place`,
//!   `clip`, `clean`, `figures`, `spending`, `marks`: shared by the pages.

mod cases;
mod clean;
mod clip;
pub mod compare;
mod document;
mod ending;
mod error;
mod failure_place;
mod failures;
mod figures;
mod form;
mod found;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod gathered;
mod informing;
mod marks;
mod matrix;
mod part_file;
mod parts;
mod reasons;
mod rendering;
mod selected;
mod sparkline;
mod spending;
mod unreadable;

pub mod battery;
pub mod forms;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod noise;
pub mod qna;
pub mod schema;
pub mod selection;
pub mod series_csv;
pub mod skunit;
pub mod terminal;
pub mod transcripts_jsonl;
pub mod trends;
pub mod trials_jsonl;
pub mod view;
pub mod write;

pub use clean::clean;
pub use ending::Ending;
pub use error::Error;
pub use failures::Failures;
pub use figures::{millis, percent};
pub use form::{Form, Played, Screen};
pub use found::Found;
pub use rendering::Rendering;
pub use selected::Selected;
pub use selection::Selection;
pub use write::{Writer, Written};
