//! The rows of a data set: each row is a case of its scenario.
//!
//! All rows are one text with the offset of each, so that a million of them cost little more than their bytes, and the nth
//! row is found without reading the others.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use yaml::{path::Path, suggest};

use crate::{
    Digest,
    placeholder::{self, Fault, Kind},
};

/// The most rows that a data file may have.
pub const MOST_ROWS: usize = 1_000_000;
/// The most bytes of one row, as JSON.
pub const MOST_ROW_BYTES: usize = 64 << 10;
/// The most bytes of all kept rows, as JSON.
pub const MOST_BYTES: usize = 128 << 20;

/// The rows of a data set, and the parameters for their values. Clones share the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Rows {
    /// The data file as diagnostics show it.
    file: String,
    columns: Vec<String>,
    fills: Vec<Fill>,
    /// A line for each row: the JSON list of its id, its line in the file and its values.
    text: Arc<str>,
    /// The end of each line of `text`.
    ends: Arc<[u32]>,
}

/// A column whose values are filled into the scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Index into the columns.
    pub column: usize,
    /// Parameter paths.
    pub parameters: Vec<String>,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub id: String,
    /// 1-based, in the data file.
    pub line: u32,
    /// By column; `null` if the row has none.
    pub values: Vec<Value>,
}

/// Collects rows one by one.
#[derive(Debug, Default)]
pub struct Builder {
    text: String,
    ends: Vec<u32>,
}

/// More than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    #[error("the row has {0} bytes; at most {MOST_ROW_BYTES} are read")]
    Row(usize),
    #[error("the rows up to here have more than {MOST_BYTES} bytes")]
    All,
}

impl Builder {
    /// # Errors
    /// The row, or all rows together, exceed the limit.
    pub fn push(&mut self, row: &Row) -> Result<(), TooLarge> {
        let line = line_of(row);
        if line.len() > MOST_ROW_BYTES {
            return Err(TooLarge::Row(line.len()));
        }
        if self.text.len() + line.len() > MOST_BYTES {
            return Err(TooLarge::All);
        }
        self.text.push_str(&line);
        self.text.push('\n');
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        Ok(())
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The row with this index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Row> {
        parsed(line_at(&self.text, &self.ends, index)?)
    }

    #[must_use]
    pub fn build(self, file: String, columns: Vec<String>, fills: Vec<Fill>) -> Rows {
        Rows { file, columns, fills, text: self.text.into(), ends: self.ends.into() }
    }
}

impl Rows {
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    #[must_use]
    pub fn with_fills(self, fills: Vec<Fill>) -> Self {
        Self { fills, ..self }
    }

    /// The data file as diagnostics show it.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Of all rows, in order.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }

    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    #[must_use]
    pub fn get(&self, index: usize) -> Option<Row> {
        parsed(line_at(&self.text, &self.ends, index)?)
    }

    /// The id alone, without reading the values.
    #[must_use]
    pub fn id(&self, index: usize) -> Option<String> {
        let line = line_at(&self.text, &self.ends, index)?;
        serde_json::Deserializer::from_str(line.strip_prefix('[')?).into_iter::<String>().next()?.ok()
    }

    /// Fills a row into a document: the columns with a parameter, then `${row.column}`. An empty value keeps the
    /// document's value. The faults name values that the document has no place for, and missing columns.
    pub fn fill(&self, row: &Row, document: &mut Value) -> Vec<Fault> {
        let mut faults = self.fill_parameters(row, document);
        faults.extend(self.fill_texts(row, document));
        faults
    }

    /// Puts the columns that have a parameter into a document.
    pub(crate) fn fill_parameters(&self, row: &Row, document: &mut Value) -> Vec<Fault> {
        let mut faults = Vec::new();
        for fill in &self.fills {
            let value = row.values.get(fill.column).unwrap_or(&Value::Null);
            if value.is_null() || value.as_str() == Some("") {
                continue;
            }
            for parameter in &fill.parameters {
                let Ok(path) = Path::parse(parameter) else { continue };
                if let Err(miss) = path.set(document, placeholder::literal(value.clone())) {
                    faults.push(Fault { path, message: miss.message, help: miss.help });
                }
            }
        }
        faults
    }

    /// Puts a row into the texts that name its columns, as `${row.column}`.
    pub(crate) fn fill_texts(&self, row: &Row, document: &mut Value) -> Vec<Fault> {
        placeholder::replace(document, Kind::Row, &mut |name| {
            let Some(column) = self.columns.iter().position(|column| column == name) else {
                let help = suggest::known_names(name, self.columns.iter().map(String::as_str));
                return Err((format!("`{}` has no column `{name}`", self.file), Some(help)));
            };
            match row.values.get(column) {
                None | Some(Value::Null) => {
                    Err((format!("row `{}` on line {} of `{}` has no value for it", row.id, row.line, self.file), None))
                }
                Some(value) => Ok(value.clone()),
            }
        })
    }

    /// Only these rows, in this order.
    #[must_use]
    pub(crate) fn only(&self, indexes: &[usize]) -> Self {
        let mut kept = Builder::default();
        for line in indexes.iter().filter_map(|index| line_at(&self.text, &self.ends, *index)) {
            kept.text.push_str(line);
            kept.text.push('\n');
            kept.ends.push(u32::try_from(kept.text.len()).unwrap_or(u32::MAX));
        }
        kept.build(self.file.clone(), self.columns.clone(), self.fills.clone())
    }

    /// Checks that each row can be read, which a received plan requires.
    pub(crate) fn consistent(&self) -> Result<(), String> {
        if self.is_empty() || self.len() > MOST_ROWS {
            return Err(format!("{} has {} rows", self.file, self.len()));
        }
        if self.fills.iter().any(|fill| fill.column >= self.columns.len()) {
            return Err(format!("{} fills a column that it does not have", self.file));
        }
        match (0..self.len()).find(|index| self.get(*index).is_none()) {
            Some(index) => Err(format!("row {} of {} cannot be read", index + 1, self.file)),
            None => Ok(()),
        }
    }
}

/// The form of a value for `where`, `--where` and `exclude`: text without quotes, anything else as JSON.
#[must_use]
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn line_of(row: &Row) -> String {
    let mut list = Vec::with_capacity(row.values.len() + 2);
    list.extend([Value::from(row.id.as_str()), Value::from(row.line)]);
    list.extend(row.values.iter().cloned());
    Value::Array(list).to_string()
}

/// JSON escapes line breaks, so that a line is a row.
fn line_at<'a>(text: &'a str, ends: &[u32], index: usize) -> Option<&'a str> {
    let end = *ends.get(index)? as usize;
    let start = index.checked_sub(1).map_or(0, |before| ends[before] as usize);
    text.get(start..end)?.strip_suffix('\n')
}

fn parsed(line: &str) -> Option<Row> {
    let (id, line, values) = match serde_json::from_str(line).ok()? {
        Value::Array(list) => {
            let mut list = list.into_iter();
            (list.next()?, list.next()?, list.collect())
        }
        _ => return None,
    };
    let Value::String(id) = id else { return None };
    Some(Row { id, line: u32::try_from(line.as_u64()?).ok()?, values })
}

impl std::fmt::Debug for Rows {
    /// Without the rows: there may be a million.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, columns, fills, ends, .. } = self;
        let mut shown = formatter.debug_struct("Rows");
        shown.field("file", file).field("columns", columns).field("fills", fills).field("len", &ends.len()).finish()
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stored<'a> {
            file: &'a str,
            columns: &'a [String],
            fills: &'a [Fill],
            text: &'a str,
        }
        let Self { file, columns, fills, text, .. } = self;
        Stored { file, columns, fills, text }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Stored {
            file: String,
            columns: Vec<String>,
            fills: Vec<Fill>,
            text: String,
        }
        let Stored { file, columns, fills, text } = Stored::deserialize(deserializer)?;
        let ends: Option<Vec<u32>> = text.match_indices('\n').map(|(at, _)| u32::try_from(at + 1).ok()).collect();
        let ends = ends.filter(|ends| ends.last().map_or(0, |end| *end as usize) == text.len());
        let ends = ends.ok_or_else(|| D::Error::custom("the rows of a data set do not end with a line break"))?;
        Ok(Self { file, columns, fills, text: text.into(), ends: ends.into() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows() -> Rows {
        let mut builder = Builder::default();
        for (id, line, values) in [("a", 2, json!(["pro\nx", 3])), ("b\"", 4, json!(["", null]))] {
            let values = serde_json::from_value(values).unwrap();
            builder.push(&Row { id: id.to_owned(), line, values }).unwrap();
        }
        let fills = vec![Fill { column: 1, parameters: vec!["turns".to_owned()] }];
        builder.build("x.csv".to_owned(), vec!["plan".to_owned(), "turns".to_owned()], fills)
    }

    #[test]
    fn rows_survive_json_and_are_found_by_number() {
        let rows = rows();
        let again: Rows = serde_json::from_str(&serde_json::to_string(&rows).unwrap()).unwrap();
        assert_eq!(again, rows);
        assert_eq!((again.len(), again.id(1).as_deref(), again.id(2)), (2, Some("b\""), None));
        assert_eq!(again.get(0).unwrap().values, [json!("pro\nx"), json!(3)]);
        assert_eq!(again.only(&[1]).get(0), rows.get(1));
        assert!(again.consistent().is_ok());
        let cut = json!({ "file": "x", "columns": [], "fills": [], "text": "[\"a\",1]" });
        assert!(serde_json::from_value::<Rows>(cut).is_err());
        let odd = json!({ "file": "x", "columns": [], "fills": [], "text": "[\"a\"]\n" });
        assert!(serde_json::from_value::<Rows>(odd).unwrap().consistent().is_err());
    }

    #[test]
    fn a_row_fills_its_parameters_and_an_empty_value_keeps_the_document() {
        let (rows, document) = (rows(), json!({ "turns": 9, "say": "my plan: ${row.plan}" }));
        let mut first = document.clone();
        assert_eq!(rows.fill(&rows.get(0).unwrap(), &mut first), []);
        assert_eq!(first, json!({ "turns": 3, "say": "my plan: pro\nx" }));
        let mut second = document.clone();
        assert_eq!(rows.fill(&rows.get(1).unwrap(), &mut second), []);
        assert_eq!(second, json!({ "turns": 9, "say": "my plan: " }));
        let mut third = json!({ "turns": 1, "a": "${row.turns}", "b": "${row.turnz}" });
        let faults = rows.fill(&rows.get(1).unwrap(), &mut third);
        let told: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "`${row.turns}`: row `b\"` on line 4 of `x.csv` has no value for it",
                "`${row.turnz}`: `x.csv` has no column `turnz`"
            ]
        );
        assert_eq!(faults[1].help.as_deref(), Some("did you mean `turns`?"));
    }

    #[test]
    fn rows_have_bounds() {
        let row = |bytes: usize| Row { id: "a".to_owned(), line: 1, values: vec![json!("x".repeat(bytes))] };
        let mut builder = Builder::default();
        assert_eq!(builder.push(&row(MOST_ROW_BYTES)), Err(TooLarge::Row(MOST_ROW_BYTES + 10)));
        assert!(builder.push(&row(MOST_ROW_BYTES - 10)).is_ok());
        assert_eq!(builder.len(), 1);
    }
}
