//! Streams the rows of a CSV, TSV, JSONL or Parquet file, which may be larger than the memory.

use std::{
    cell::Cell,
    fs::File,
    io::{BufRead, BufReader, Read},
    rc::Rc,
};

use scenario::rows::MOST_ROW_BYTES;
use serde_json::Value;

#[cfg(feature = "parquet")]
use super::parquet::ParquetRows;

/// The most bytes to read for one row before it counts as endless: quotes and separators come on top of its values.
const MOST_READ: usize = 2 * MOST_ROW_BYTES;
/// The buffer of the CSV reader, in bytes.
const BUFFER: usize = 64 << 10;

/// One row of the file.
pub(super) struct RawRow {
    /// 1-based. In a Parquet file, which has no lines: the number of the row.
    pub(super) line: u32,
    /// By column; `null` if the row has none.
    pub(super) values: Vec<Value>,
}

/// What is wrong with the file, and in which line.
pub(super) struct Fault {
    pub(super) line: u32,
    pub(super) message: String,
    pub(super) help: Option<&'static str>,
    /// Nothing after it can be read.
    pub(super) last: bool,
}

/// A data file that is being read.
pub(super) enum Source {
    Separated(Separated),
    Lines(Lines),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetRows>),
}

/// Why there are no rows, and what helps.
pub(super) struct Unreadable {
    pub(super) message: String,
    pub(super) help: String,
}

pub(super) struct Separated {
    reader: csv::Reader<Bounded>,
    /// How many bytes may still be read for the next row.
    left: Rc<Cell<usize>>,
    columns: Option<Vec<String>>,
}

pub(super) struct Lines {
    reader: BufReader<File>,
    columns: Vec<String>,
    line: u32,
}

impl Source {
    /// By the name of the file.
    pub(super) fn of(name: &str, file: File) -> Result<Self, Unreadable> {
        let ending = name.rsplit('.').next().unwrap_or_default().to_lowercase();
        let delimiter = match ending.as_str() {
            "csv" => b',',
            "tsv" => b'\t',
            "jsonl" | "ndjson" => {
                let reader = BufReader::new(file);
                return Ok(Self::Lines(Lines { reader, columns: Vec::new(), line: 0 }));
            }
            "parquet" => return parquet(name, file),
            _ => {
                return Err(Unreadable {
                    message: format!("`{name}` is not a data file that can be read"),
                    help: "data files end in `.csv`, `.tsv`, `.jsonl` or `.parquet`".to_owned(),
                });
            }
        };
        let reader = BufReader::new(file);
        let left = Rc::new(Cell::new(MOST_READ + BUFFER));
        let bounded = Bounded { reader, left: Rc::clone(&left) };
        let reader = csv::ReaderBuilder::new().delimiter(delimiter).buffer_capacity(BUFFER).from_reader(bounded);
        Ok(Self::Separated(Separated { reader, left, columns: None }))
    }

    /// Whether values are more than text.
    pub(super) fn is_typed(&self) -> bool {
        !matches!(self, Self::Separated(_))
    }

    /// The columns that are known so far.
    pub(super) fn columns(&self) -> &[String] {
        match self {
            Self::Separated(separated) => separated.columns.as_deref().unwrap_or_default(),
            Self::Lines(lines) => &lines.columns,
            #[cfg(feature = "parquet")]
            Self::Parquet(rows) => rows.columns(),
        }
    }

    /// The next row; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Result<RawRow, Fault>> {
        match self {
            Self::Separated(separated) => separated.next(),
            Self::Lines(lines) => lines.next(),
            #[cfg(feature = "parquet")]
            Self::Parquet(rows) => rows.next(),
        }
    }
}

#[cfg(feature = "parquet")]
fn parquet(name: &str, file: File) -> Result<Source, Unreadable> {
    let unreadable = |error| Unreadable {
        message: format!("`{name}` cannot be read: {error}"),
        help: "check that it is a whole Parquet file".to_owned(),
    };
    Ok(Source::Parquet(Box::new(ParquetRows::open(file).map_err(unreadable)?)))
}

#[cfg(not(feature = "parquet"))]
fn parquet(name: &str, _: File) -> Result<Source, Unreadable> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    Err(Unreadable {
        message: format!("`{name}` is a Parquet file, and this gabfest is built without the feature `parquet`"),
        help: format!(
            "install gabfest with `cargo install --path crates/cli --features parquet`, or convert the file: \
             python3 -c 'import pandas; pandas.read_parquet(\"{name}\").to_json(\"{stem}.jsonl\", orient=\"records\", lines=True)'"
        ),
    })
}

impl Separated {
    fn next(&mut self) -> Option<Result<RawRow, Fault>> {
        if self.columns.is_none()
            && let Err(fault) = self.read_columns()
        {
            return Some(Err(fault));
        }
        let mut record = csv::StringRecord::new();
        self.left.set(MOST_READ + BUFFER);
        match self.reader.read_record(&mut record) {
            Ok(false) => None,
            Ok(true) => {
                let line = record.position().map_or(0, |position| number(position.line()));
                Some(Ok(RawRow { line, values: record.iter().map(Value::from).collect() }))
            }
            Err(error) => Some(Err(self.fault(&error))),
        }
    }

    fn read_columns(&mut self) -> Result<(), Fault> {
        let columns: Vec<String> = match self.reader.headers() {
            Ok(headers) => headers.iter().map(|name| name.trim().to_owned()).collect(),
            Err(error) => return Err(Fault { last: true, ..self.fault(&error) }),
        };
        let refused = |message: String| Fault {
            line: 1,
            message,
            help: Some("the first line has the names of the columns"),
            last: true,
        };
        if let Some(empty) = columns.iter().position(String::is_empty) {
            return Err(refused(format!("column {} has no name", empty + 1)));
        }
        if let Some(twice) = (1..columns.len()).find(|index| columns[..*index].contains(&columns[*index])) {
            return Err(refused(format!("there are two columns `{}`", columns[twice])));
        }
        self.columns = Some(columns);
        Ok(())
    }

    fn fault(&self, error: &csv::Error) -> Fault {
        let line = error.position().map_or_else(|| self.reader.position().line(), csv::Position::line);
        let fault = |message: String, help, last| Fault { line: number(line), message, help, last };
        match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => fault(
                format!("the row has {len} values, and the first line names {expected_len} columns"),
                Some("put a value that contains a separator in quotes"),
                false,
            ),
            csv::ErrorKind::Utf8 { .. } => {
                fault("the row is not UTF-8".to_owned(), Some("save the file as UTF-8"), false)
            }
            csv::ErrorKind::Io(error) if self.left.get() == 0 => {
                fault(error.to_string(), Some("a quote may be missing"), true)
            }
            _ => fault(format!("cannot be read: {error}"), None, true),
        }
    }
}

impl Lines {
    fn next(&mut self) -> Option<Result<RawRow, Fault>> {
        loop {
            let mut bytes = Vec::new();
            self.line = self.line.saturating_add(1);
            let fault = |line: u32, message: String, last| Some(Err(Fault { line, message, help: None, last }));
            match self.reader.by_ref().take(MOST_READ as u64 + 1).read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(length) if length > MOST_READ => {
                    return fault(self.line, format!("the row has more than {MOST_READ} bytes"), true);
                }
                Ok(_) => {}
                Err(error) => return fault(self.line, format!("cannot be read: {error}"), true),
            }
            let text = if self.line == 1 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes) } else { &bytes };
            if text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let map = match serde_json::from_slice(text) {
                Ok(Value::Object(map)) => map,
                Ok(_) => return fault(self.line, "the row is not an object".to_owned(), false),
                Err(error) => return fault(self.line, format!("the row is not JSON: {error}"), false),
            };
            let mut values = vec![Value::Null; self.columns.len()];
            for (name, value) in map {
                match self.columns.iter().position(|column| *column == name) {
                    Some(place) => values[place] = value,
                    None => {
                        self.columns.push(name);
                        values.push(value);
                    }
                }
            }
            return Some(Ok(RawRow { line: self.line, values }));
        }
    }
}

fn number(line: u64) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// Stops an endless row, such as one with a missing quote.
struct Bounded {
    reader: BufReader<File>,
    left: Rc<Cell<usize>>,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.left.get();
        if left == 0 {
            return Err(std::io::Error::other(format!("the row has more than {MOST_READ} bytes")));
        }
        let most = left.min(buffer.len());
        let length = self.reader.read(&mut buffer[..most])?;
        self.left.set(left - length);
        Ok(length)
    }
}
