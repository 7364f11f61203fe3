//! Selects the rows of a data file, and names them.

use std::collections::{BTreeMap, BinaryHeap, HashMap, hash_map::Entry};

use scenario::{
    Digest,
    ids::seed_of,
    rows::{Builder, MOST_ROWS, Row, TooLarge, text_of},
};
use serde_json::Value;
use yaml::{Findings, Spot};

use super::{
    DataDocument,
    source::{RawRow, Source},
    typed::ColumnType,
};

/// How many faults of one file are reported.
const MAX_FAULTS: usize = 20;
/// Hex digits of the hash of a row that has no id.
const ID_DIGITS: usize = 12;

/// One `data` section, and the state of reading it.
pub(super) struct Chosen<'a> {
    written: &'a DataDocument,
    wanted: BTreeMap<&'a str, Vec<String>>,
    /// The line of each row that is kept, by a hash of its id. Rows with one id have one priority, so a sample keeps both or
    /// neither, and rows beside the sample need no memory.
    lines: HashMap<u64, u32>,
    faults: usize,
}

/// A row of the sample. The largest priority is the first to go.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Sampled {
    priority: u64,
    index: usize,
}

impl<'a> Chosen<'a> {
    pub(super) fn new(written: &'a DataDocument) -> Self {
        let wanted =
            written.wanted.iter().map(|(column, values)| (column.as_str(), values.iter().map(text_of).collect()));
        Self { written, wanted: wanted.collect(), lines: HashMap::new(), faults: 0 }
    }

    pub(super) fn read(mut self, source: &mut Source, findings: &mut Findings) -> Builder {
        let mut kept = Kept::new(self.written.sample.map(|size| size.0 as usize));
        let seed = self.written.seed.map_or(0, |seed| seed.0);
        let mut rows = 0_usize;
        while let Some(read) = source.next() {
            let raw = match read {
                Ok(raw) => raw,
                Err(fault) => {
                    self.fault(fault.line, fault.message, fault.help, findings);
                    if fault.last || self.faults >= MAX_FAULTS {
                        break;
                    }
                    continue;
                }
            };
            rows += 1;
            if rows > MOST_ROWS {
                self.fault(
                    raw.line,
                    format!("the file has more than {MOST_ROWS} rows"),
                    Some("split the file"),
                    findings,
                );
                break;
            }
            let Some(row) = self.row(raw, source, findings) else {
                if self.faults >= MAX_FAULTS {
                    break;
                }
                continue;
            };
            let priority = seed_of(&[&seed.to_le_bytes(), row.id.as_bytes()]);
            if !kept.takes(priority) {
                continue;
            }
            if !self.is_new(&row, findings) {
                if self.faults >= MAX_FAULTS {
                    break;
                }
                continue;
            }
            match kept.push(priority, &row) {
                Ok(gone) => {
                    if let Some(gone) = gone {
                        self.lines.remove(&seed_of(&[gone.id.as_bytes()]));
                    }
                }
                Err(error) => {
                    let help = "take fewer rows with `where` or `sample`";
                    self.fault(row.line, error.to_string(), Some(help), findings);
                    if error == TooLarge::All || self.faults >= MAX_FAULTS {
                        break;
                    }
                }
            }
        }
        match kept.finish() {
            Ok(builder) => builder,
            Err((line, error)) => {
                self.fault(line, error.to_string(), Some("take fewer rows with `where` or `sample`"), findings);
                Builder::default()
            }
        }
    }

    /// `None`: the row is not selected, or has a fault.
    fn row(&mut self, raw: RawRow, source: &Source, findings: &mut Findings) -> Option<Row> {
        let columns = source.columns();
        let RawRow { line, mut values } = raw;
        let id = self.id(&values, line, source, findings)?;
        for (column, kind) in &self.written.types {
            let Some(place) = columns.iter().position(|known| known == column) else { continue };
            if let Some(Value::String(text)) = values.get(place) {
                match kind.read(text) {
                    Some(value) => values[place] = value,
                    None => {
                        let message = wrong_type(&id, column, text, *kind);
                        self.fault(line, message, None, findings);
                        return None;
                    }
                }
            }
        }
        let fits = self.wanted.iter().all(|(column, wanted)| {
            let place = columns.iter().position(|known| known == column);
            place.and_then(|place| values.get(place)).is_some_and(|value| wanted.contains(&text_of(value)))
        });
        fits.then_some(Row { id, line, values })
    }

    /// Whether no row that is kept has the same id.
    fn is_new(&mut self, row: &Row, findings: &mut Findings) -> bool {
        let Row { id, line, .. } = row;
        let other = match self.lines.entry(seed_of(&[id.as_bytes()])) {
            Entry::Vacant(place) => {
                place.insert(*line);
                return true;
            }
            Entry::Occupied(other) => *other.get(),
        };
        match &self.written.id {
            Some(column) => {
                let message = format!("column `{}`: the id `{id}` is also on line {other}", column.0);
                self.fault(*line, message, None, findings);
            }
            None => {
                let message = format!("the row is the same as on line {other}, and is played once");
                findings.warning(Spot::at(*line, 0), message);
                findings.help("`gabfest: {repeats: N}` plays a case several times");
            }
        }
        false
    }

    fn id(&mut self, values: &[Value], line: u32, source: &Source, findings: &mut Findings) -> Option<String> {
        let (columns, is_typed) = (source.columns(), source.is_typed());
        let Some(column) = &self.written.id else {
            // Without empty values: a new column that is still empty renames no row.
            let filled = columns.iter().zip(values).filter(|(_, value)| !value.is_null() && value.as_str() != Some(""));
            let row: serde_json::Map<String, Value> =
                filled.map(|(column, value)| (column.clone(), value.clone())).collect();
            return Some(Digest::of_json(&Value::Object(row)).as_str()[..ID_DIGITS].to_owned());
        };
        let place = columns.iter().position(|known| *known == column.0);
        if place.is_none() && !is_typed {
            // A missing column is reported once, with the scenario.
            return None;
        }
        let id =
            place.and_then(|place| values.get(place)).filter(|value| !value.is_null()).map(text_of).unwrap_or_default();
        if id.trim().is_empty() {
            self.fault(line, format!("column `{}`: the row has no id", column.0), None, findings);
            return None;
        }
        Some(id)
    }

    fn fault(&mut self, line: u32, message: String, help: Option<&str>, findings: &mut Findings) {
        self.faults += 1;
        findings.error(Spot::at(line, 0), message);
        help.into_iter().for_each(|help| findings.help(help));
    }
}

fn wrong_type(id: &str, column: &str, text: &str, kind: ColumnType) -> String {
    let shown: String = text.chars().take(40).collect();
    format!("row `{id}`, column `{column}`: expected {}, found {shown:?}", kind.name())
}

/// All rows, or a sample of them in the order of the file.
enum Kept {
    All(Builder),
    Sample { size: usize, chosen: BinaryHeap<Sampled>, rows: HashMap<usize, Row>, seen: usize },
}

impl Kept {
    fn new(sample: Option<usize>) -> Self {
        match sample {
            Some(size) => Self::Sample { size, chosen: BinaryHeap::new(), rows: HashMap::new(), seen: 0 },
            None => Self::All(Builder::default()),
        }
    }

    /// Whether a row of this priority is kept for now. One with a smaller number takes the place of the largest: added rows
    /// displace few others.
    ///
    /// The row with the largest number may be the same row.
    fn takes(&self, priority: u64) -> bool {
        match self {
            Self::All(_) => true,
            Self::Sample { size, chosen, .. } => {
                chosen.len() < *size || chosen.peek().is_some_and(|largest| priority <= largest.priority)
            }
        }
    }

    /// Keeps a row that is taken; the row whose place it takes.
    fn push(&mut self, priority: u64, row: &Row) -> Result<Option<Row>, TooLarge> {
        match self {
            Self::All(builder) => builder.push(row).map(|()| None),
            Self::Sample { size, chosen, rows, seen } => {
                let index = *seen;
                *seen += 1;
                chosen.push(Sampled { priority, index });
                rows.insert(index, row.clone());
                let gone = if chosen.len() > *size { chosen.pop() } else { None };
                Ok(gone.and_then(|gone| rows.remove(&gone.index)))
            }
        }
    }

    /// The error is the line of the row that exceeds the limit.
    fn finish(self) -> Result<Builder, (u32, TooLarge)> {
        let rows = match self {
            Self::All(builder) => return Ok(builder),
            Self::Sample { rows, .. } => rows,
        };
        let mut rows: Vec<(usize, Row)> = rows.into_iter().collect();
        rows.sort_by_key(|(index, _)| *index);
        let mut builder = Builder::default();
        for (_, row) in rows {
            builder.push(&row).map_err(|error| (row.line, error))?;
        }
        Ok(builder)
    }
}
