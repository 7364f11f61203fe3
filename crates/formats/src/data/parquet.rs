//! The rows of a Parquet file, one after the other (feature `parquet`).

use std::{
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
};

use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::{Field, Row, reader::RowIter},
};
use serde_json::{Number, Value};

use super::source::{Fault, RawRow};

/// Of one column in one group of rows, as the file declares it: what is read together must fit into memory.
const MOST_COLUMN_BYTES: i64 = 1 << 30;

/// Days from 1970 to the end of the year 9999. The library panics on days far beyond.
const MOST_DAYS: u64 = 2_932_896;
const MILLIS_OF_DAY: u64 = 86_400_000;

const DAMAGED: &str = "the file is damaged";

pub(super) struct ParquetRows {
    rows: RowIter<'static>,
    columns: Vec<String>,
    row: u32,
}

impl ParquetRows {
    /// The error is a message.
    pub(super) fn open(file: File) -> Result<Self, String> {
        unless_damaged(move || Self::of(file)).unwrap_or_else(|| Err(DAMAGED.to_owned()))
    }

    fn of(file: File) -> Result<Self, String> {
        let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
        let metadata = reader.metadata();
        let mut chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
        if let Some(large) = chunks.find(|chunk| chunk.uncompressed_size() > MOST_COLUMN_BYTES) {
            let path = large.column_path().string();
            return Err(format!("a group of rows has more than {MOST_COLUMN_BYTES} bytes in column `{path}`"));
        }
        let schema = metadata.file_metadata().schema();
        let columns = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        Ok(Self { rows: reader.into_iter(), columns, row: 0 })
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(super) fn next(&mut self) -> Option<Result<RawRow, Fault>> {
        let read = unless_damaged(|| {
            let read = self.rows.next()?;
            Some(read.map(values).map_err(|error| error.to_string()))
        });
        let read = read.unwrap_or_else(|| Some(Err(DAMAGED.to_owned())))?;
        self.row = self.row.saturating_add(1);
        let line = self.row;
        Some(match read {
            Ok(values) => Ok(RawRow { line, values }),
            Err(error) => {
                Err(Fault { line, message: format!("the row cannot be read: {error}"), help: None, last: true })
            }
        })
    }
}

/// The library has assertions that a damaged file can break. `None`: one of them is broken.
fn unless_damaged<T>(read: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok()
}

fn values(row: Row) -> Vec<Value> {
    row.into_columns().into_iter().map(|(_, field)| value(&field)).collect()
}

/// As the same row says it in JSONL. What JSON has no type for is text, and no number is null.
fn value(field: &Field) -> Value {
    match field {
        // Via f64, the number 0.1 would get digits that are not in the file.
        Field::Float(number) => {
            number.to_string().parse().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
        }
        Field::Group(row) => row
            .get_column_iter()
            .map(|(name, field)| (name.clone(), value(field)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        Field::Date(days) if u64::from(days.unsigned_abs()) > MOST_DAYS => Value::from(*days),
        Field::TimestampMillis(millis) if millis.unsigned_abs() / MILLIS_OF_DAY > MOST_DAYS => Value::from(*millis),
        Field::TimestampMicros(micros) if micros.unsigned_abs() / 1_000 / MILLIS_OF_DAY > MOST_DAYS => {
            Value::from(*micros)
        }
        other => other.to_json_value(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dates_beyond_the_calendar_are_their_numbers() {
        let rows = [
            (Field::Date(0), json!("1970-01-01")),
            (Field::Date(20_513), json!("2026-03-01")),
            (Field::Date(i32::MAX), json!(i32::MAX)),
            (Field::TimestampMillis(i64::MIN), json!(i64::MIN)),
            (Field::TimestampMicros(i64::MAX), json!(i64::MAX)),
            (Field::Float(0.1), json!(0.1)),
            (Field::Float(f32::NAN), Value::Null),
        ];
        for (field, expected) in rows {
            assert_eq!(value(&field), expected, "{field:?}");
        }
    }
}
