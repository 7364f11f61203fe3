//! A summary in, pages out.
//!
//! A report is a function of a run's [`record::Summary`] and of a capped [`Selection`] of its transcripts, so
//! rendering an old run again gives the same bytes. Trials come one by one, in the plan's order; only the
//! selection stays in memory.
//!
//! - [`Writer`] fills a run's folder; [`Page`] renders one page without a folder.
//! - [`json`], [`junit`], [`markdown`], [`html`], [`terminal`]: the pages, one file a format.
//! - [`trials_jsonl`], [`transcripts_jsonl`], [`view`]: one line a trial.
//! - [`qna`]: the knowledge base that was asked for, with its results.
//! - [`battery`]: workbooks and distributions of quality batteries.
//! - [`skunit`]: every word of a run while it is played.
//! - [`schema`]: the shape of `report.json`.
//! - `found`, `failures`, `informing`: what every trial was found to be; `cases`, `matrix`, `parts`, `reasons`, `place`, `clip`, `figures`: what
//!   the pages share.

mod cases;
mod clip;
mod failures;
mod figures;
mod found;
mod informing;
mod matrix;
mod part_file;
mod parts;
mod place;
mod reasons;
mod unreadable;

pub mod battery;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod page;
pub mod qna;
pub mod schema;
pub mod selection;
pub mod skunit;
mod spending;
pub mod terminal;
pub mod transcripts_jsonl;
pub mod trials_jsonl;
pub mod view;
pub mod write;

pub use failures::Failures;
pub use figures::{millis, percent};
pub use found::Found;
pub use page::Page;
pub use selection::{Selected, Selection};
pub use write::{Error, Writer, Written};
