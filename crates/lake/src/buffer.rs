//! Rows that wait to become a row group, column by column.

use std::{io::Write, mem};

use parquet::{
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::writer::{SerializedFileWriter, SerializedRowGroupWriter},
};

use crate::{
    schema::{Column, Kind},
    value::Value,
};

/// Definition levels: a null, an empty map, a value. The levels of a value in a map are one higher than those of one alone.
const NULL: i16 = 0;
const PRESENT: i16 = 1;
const ENTRY: i16 = 2;

#[derive(Debug)]
pub(crate) struct Buffer {
    columns: Vec<Data>,
    rows: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Data {
    values: Values,
    defined: Vec<i16>,
    /// Of maps: whether an entry continues the map of the last one.
    repeated: Vec<i16>,
}

#[derive(Debug, Default)]
enum Values {
    #[default]
    None,
    Bools(Vec<bool>),
    Ints(Vec<i64>),
    Doubles(Vec<f64>),
    Texts(Vec<ByteArray>),
    Maps(Vec<ByteArray>, Vec<ByteArray>),
}

impl Values {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Bool => Self::Bools(Vec::new()),
            Kind::Int | Kind::Unsigned | Kind::Time => Self::Ints(Vec::new()),
            Kind::Double => Self::Doubles(Vec::new()),
            Kind::Text | Kind::Json => Self::Texts(Vec::new()),
            Kind::Map => Self::Maps(Vec::new(), Vec::new()),
        }
    }

    /// So that the next rows of the same kind of column find an empty list.
    fn emptied(&self) -> Self {
        match self {
            Self::None => Self::None,
            Self::Bools(_) => Self::Bools(Vec::new()),
            Self::Ints(_) => Self::Ints(Vec::new()),
            Self::Doubles(_) => Self::Doubles(Vec::new()),
            Self::Texts(_) => Self::Texts(Vec::new()),
            Self::Maps(..) => Self::Maps(Vec::new(), Vec::new()),
        }
    }
}

impl Buffer {
    pub(crate) fn of(columns: &[Column]) -> Self {
        let data = |column: &Column| Data { values: Values::of(column.kind), ..Data::default() };
        Self { columns: columns.iter().map(data).collect(), rows: 0, bytes: 0 }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// About the memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A value that is not of its column's kind counts as null; the tables' tests write every column.
    pub(crate) fn push(&mut self, row: Vec<Value>) {
        for (data, value) in self.columns.iter_mut().zip(row) {
            self.bytes += data.push(value);
        }
        self.rows += 1;
    }

    /// Writes the rows as one row group, and forgets them.
    pub(crate) fn write<W: Write + Send>(&mut self, file: &mut SerializedFileWriter<W>) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for data in &mut self.columns {
            let emptied = Data { values: data.values.emptied(), ..Data::default() };
            mem::replace(data, emptied).write(&mut group)?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl Data {
    /// Returns about how many bytes it takes.
    fn push(&mut self, value: Value) -> usize {
        match (&mut self.values, value) {
            (Values::Bools(values), Value::Bool(value)) => values.push(value),
            (Values::Ints(values), Value::Int(value)) => values.push(value),
            (Values::Doubles(values), Value::Double(value)) => values.push(value),
            (Values::Texts(values), Value::Text(value)) => {
                let bytes = value.len();
                values.push(value.into_bytes().into());
                self.defined.push(PRESENT);
                return bytes + mem::size_of::<ByteArray>();
            }
            (Values::Maps(keys, values), Value::Map(entries)) => {
                let added = add(keys, values, entries);
                return self.defined_map(added);
            }
            (Values::Maps(..), _) => {
                self.repeated.push(0);
                self.defined.push(NULL);
                return mem::size_of::<i64>();
            }
            _ => {
                self.defined.push(NULL);
                return mem::size_of::<i16>();
            }
        }
        self.defined.push(PRESENT);
        mem::size_of::<i64>() + mem::size_of::<i16>()
    }

    /// The levels of a map with so many entries, of so many bytes.
    fn defined_map(&mut self, (entries, bytes): (usize, usize)) -> usize {
        if entries == 0 {
            self.repeated.push(0);
            self.defined.push(PRESENT);
        }
        for entry in 0..entries {
            self.repeated.push(i16::from(entry > 0));
            self.defined.push(ENTRY);
        }
        bytes + mem::size_of::<i64>()
    }

    fn write<W: Write + Send>(self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        let Self { values, defined, repeated } = self;
        let missing = || ParquetError::General("a file has fewer columns than its table".to_owned());
        let mut column = group.next_column()?.ok_or_else(missing)?;
        match values {
            Values::None => {}
            Values::Bools(values) => {
                column.typed::<BoolType>().write_batch(&values, Some(&defined), None)?;
            }
            Values::Ints(values) => {
                column.typed::<Int64Type>().write_batch(&values, Some(&defined), None)?;
            }
            Values::Doubles(values) => {
                column.typed::<DoubleType>().write_batch(&values, Some(&defined), None)?;
            }
            Values::Texts(values) => {
                column.typed::<ByteArrayType>().write_batch(&values, Some(&defined), None)?;
            }
            Values::Maps(keys, values) => {
                column.typed::<ByteArrayType>().write_batch(&keys, Some(&defined), Some(&repeated))?;
                column.close()?;
                column = group.next_column()?.ok_or_else(missing)?;
                column.typed::<ByteArrayType>().write_batch(&values, Some(&defined), Some(&repeated))?;
            }
        }
        column.close()
    }
}

/// Adds the entries of a map, and returns how many there are and their bytes.
fn add(keys: &mut Vec<ByteArray>, values: &mut Vec<ByteArray>, entries: Vec<(String, String)>) -> (usize, usize) {
    let count = entries.len();
    let mut bytes = 2 * count * mem::size_of::<ByteArray>();
    for (key, value) in entries {
        bytes += key.len() + value.len();
        keys.push(key.into_bytes().into());
        values.push(value.into_bytes().into());
    }
    (count, bytes)
}
