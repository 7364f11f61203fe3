//! Columns, and how Parquet describes them.

use std::sync::Arc;

use parquet::{
    basic::{LogicalType, Repetition, TimeUnit, Type as Physical},
    errors::ParquetError,
    schema::types::{Type, TypePtr},
};

/// A column of a table. Its name and its kind are stable; every column may be null.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    /// One sentence for people.
    pub about: &'static str,
}

/// What a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int,
    /// All 64 bits.
    Unsigned,
    Double,
    Text,
    Json,
    /// Microseconds since 1970, UTC.
    Time,
    /// Texts by text.
    Map,
}

impl Kind {
    /// As DuckDB names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "BOOLEAN",
            Self::Int => "BIGINT",
            Self::Unsigned => "UBIGINT",
            Self::Double => "DOUBLE",
            Self::Text => "VARCHAR",
            Self::Json => "JSON",
            Self::Time => "TIMESTAMPTZ",
            Self::Map => "MAP(VARCHAR, VARCHAR)",
        }
    }
}

/// The schema of a file.
pub(crate) fn schema(table: &str, columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let fields: Result<Vec<TypePtr>, ParquetError> = columns.iter().map(|column| field(column).map(Arc::new)).collect();
    Type::group_type_builder(table).with_fields(fields?).build().map(Arc::new)
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Bool => (Physical::BOOLEAN, None),
        Kind::Int => (Physical::INT64, None),
        Kind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Double => (Physical::DOUBLE, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        Kind::Map => return map(column.name),
    };
    primitive(column.name, physical, logical, Repetition::OPTIONAL)
}

fn primitive(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
    repetition: Repetition,
) -> Result<Type, ParquetError> {
    Type::primitive_type_builder(name, physical).with_logical_type(logical).with_repetition(repetition).build()
}

fn map(name: &str) -> Result<Type, ParquetError> {
    let text = |name, repetition| primitive(name, Physical::BYTE_ARRAY, Some(LogicalType::String), repetition);
    let entry = Type::group_type_builder("key_value")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(text("key", Repetition::REQUIRED)?), Arc::new(text("value", Repetition::REQUIRED)?)])
        .build()?;
    Type::group_type_builder(name)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::Map))
        .with_fields(vec![Arc::new(entry)])
        .build()
}
