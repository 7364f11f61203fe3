//! How a table is written down, and what its rows share.

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
pub(super) use columns;

/// Unix milliseconds as a time; 0 in records of before.
pub(super) fn time(millis: u64) -> Option<i64> {
    (millis > 0).then(|| i64::try_from(millis).unwrap_or(i64::MAX).saturating_mul(1_000))
}
