//! The tables: their columns, and how rows are made. `docs/export.md` lists them.

mod attempts;
mod judgments;
mod runs;
mod spend;
mod table;
mod trials;
mod turns;

pub(crate) use self::{attempts::attempts, judgments::judgment, runs::run, spend::line, trials::trial, turns::turns};
use crate::schema::Column;

/// Every table with its columns.
pub const TABLES: [(&str, &[Column]); 6] = [
    ("runs", runs::COLUMNS),
    ("trials", trials::COLUMNS),
    ("turns", turns::COLUMNS),
    ("judgments", judgments::COLUMNS),
    ("attempts", attempts::COLUMNS),
    ("spend", spend::COLUMNS),
];
