//! The tables: their columns, and how rows are made. `docs/export.md` lists them.

mod attempts;
mod judgments;
mod runs;
mod spend;
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

/// The columns of a table, and the function that makes a row of them: name, kind, one sentence, value.
macro_rules! columns {
    ($row:ident($it:ident: $of:ty); $($name:literal $kind:ident $about:literal $value:expr;)*) => {
        pub(super) const COLUMNS: &[crate::schema::Column] = &[$(
            crate::schema::Column { name: $name, kind: crate::schema::Kind::$kind, about: $about },
        )*];

        fn $row($it: &$of) -> Vec<crate::value::Value> {
            vec![$($value.into(),)*]
        }
    };
}
use columns;

/// Unix milliseconds as a time; 0 in records of before.
fn time(millis: u64) -> Option<i64> {
    (millis > 0).then(|| i64::try_from(millis).unwrap_or(i64::MAX).saturating_mul(1_000))
}
