//! Whether the scenario can be read with the rows of its data set, before anything is played.

use std::collections::BTreeMap;

use scenario::{Diagnostic, Format, Rows, placeholder, rows::Row};
use serde_json::Value;
use yaml::Document;

/// How many rows are read; of more, as many at even distances.
const LOOKED_AT: usize = 1_000;
/// How many rows with faults are reported.
const MAX_FAULTS: usize = 20;

/// The faults of rows for which the scenario cannot be read, although it can be with the first row.
pub(crate) fn faults(
    rows: &Rows,
    document: &Document,
    environment: &BTreeMap<String, String>,
    format: &dyn Format,
) -> Vec<Diagnostic> {
    let Some(first) = rows.get(0) else { return Vec::new() };
    let reader = Reader { rows, document, environment, format };
    let distance = rows.len().div_ceil(LOOKED_AT);
    let others = (0..rows.len()).step_by(distance).skip(1).filter_map(|index| rows.get(index));
    let faults = others.filter_map(|row| {
        let (message, help) = reader.fault(&row)?;
        let column = reader.column(&first, &row, &message);
        let column = column.map_or(String::new(), |column| format!(", column `{column}`"));
        let fault = Diagnostic::error(rows.file(), row.line, 0, format!("row `{}`{column}: {message}", row.id));
        Some(Diagnostic { help, ..fault })
    });
    faults.take(MAX_FAULTS).collect()
}

struct Reader<'a> {
    rows: &'a Rows,
    document: &'a Document,
    environment: &'a BTreeMap<String, String>,
    format: &'a dyn Format,
}

impl Reader<'_> {
    /// The first fault of the scenario with this row.
    fn fault(&self, row: &Row) -> Option<(String, Option<String>)> {
        let mut document = self.document.clone();
        let faults = self.rows.fill(row, &mut document.value);
        if let Some(fault) = faults.into_iter().next() {
            return Some((fault.message, fault.help));
        }
        placeholder::replace_environment(&mut document.value, self.environment);
        let (_, found) = self.format.read(&document);
        found.into_iter().find(Diagnostic::is_error).map(|found| (found.message, found.help))
    }

    /// The column that causes a fault: the one whose value alone causes it when it replaces the first row's.
    fn column(&self, first: &Row, row: &Row, message: &str) -> Option<&str> {
        let columns = self.rows.columns().iter().enumerate();
        let mut causes = columns.filter(|(index, _)| {
            let mut mixed = first.clone();
            mixed.values.resize(self.rows.columns().len(), Value::Null);
            mixed.values[*index] = row.values.get(*index).cloned().unwrap_or_default();
            self.fault(&mixed).is_some_and(|(other, _)| other == message)
        });
        causes.next().map(|(_, column)| column.as_str())
    }
}
