//! Labelled texts as a CSV table: the columns `measure`, `label`, `text1`, and `text2` and `text3` for measures of
//! several texts.

use std::{collections::BTreeMap, io::Read as _};

use csv::{ReaderBuilder, StringRecord};
use scenario::Diagnostic;
use serde_json::{Value, json};
use yaml::{Document, Findings, MAX_NODES, Spot, suggest};

use super::measure::LabelledMeasure;

const COLUMNS: [&str; 5] = ["measure", "label", "text1", "text2", "text3"];
/// The first columns, which every table needs.
const NEEDED: usize = 3;

/// A marker appended to the table. Unclosed quotes swallow it, which reveals them.
const END: &str = "\0end of the table";

/// Converts the table to the equivalent list, with the lines of its rows.
///
/// # Errors
/// The header is faulty, or unclosed quotes hide where rows end.
pub(super) fn open(text: &str, path: &str, findings: &mut Findings) -> Result<Document, Diagnostic> {
    let mut records = records(text);
    match records.last() {
        Some((_, end)) if end.get(0) == Some(END) => _ = records.pop(),
        Some((line, _)) => {
            return Err(Diagnostic::error(path, *line, 0, "the quotes that open in this row are never closed"));
        }
        None => {}
    }
    if records.len() as u64 > MAX_NODES {
        return Err(Diagnostic::error(path, 0, 0, format!("{} rows; at most {MAX_NODES} are read", records.len())));
    }
    let mut records = records.into_iter();
    let header = records.next().map(|(_, header)| header).unwrap_or_default();
    check_header(&header, path)?;
    let (mut rows, mut lines) = (Vec::new(), BTreeMap::new());
    for (line, record) in records {
        if record.len() != header.len() {
            let message = format!("this row has {} columns, and the first has {}", record.len(), header.len());
            findings.error(Spot::at(line, 0), message);
            findings.help("put a text with a comma or a line break in \"quotes\", and write a quote inside it twice");
            continue;
        }
        lines.insert(format!("samples[{}]", rows.len()), line);
        rows.push(row(&header, &record));
    }
    Ok(Document::of_text(path, json!({ "samples": rows }), &lines))
}

/// The records with their line numbers, without empty lines.
fn records(text: &str) -> Vec<(u32, StringRecord)> {
    let end = format!("\n{END}\n");
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes().chain(end.as_bytes()));
    let (mut line, mut counted) = (1, 0);
    let records = reader.records().map_while(Result::ok).map(|record| {
        // The position from the reader lies before any empty lines in front of the record.
        let from = record.position().map_or(0, |position| position.byte() as usize).min(text.len());
        let start = text[from..].find(|character| !matches!(character, '\r' | '\n')).map_or(text.len(), |at| from + at);
        line += text[counted..start].bytes().filter(|byte| *byte == b'\n').count() as u32;
        counted = start;
        (line, record)
    });
    records.collect()
}

fn check_header(header: &StringRecord, path: &str) -> Result<(), Diagnostic> {
    let fault = |message: String| Diagnostic::error(path, 1, 0, message);
    if let Some(name) = header.iter().find(|name| !COLUMNS.contains(name)) {
        return Err(fault(format!("unknown column `{name}`")).with_help(suggest::known_names(name, COLUMNS)));
    }
    let mut needed = COLUMNS.iter().take(NEEDED);
    if let Some(name) = needed.find(|name| header.iter().all(|column| column != **name)) {
        return Err(
            fault(format!("there is no column `{name}`")).with_help(format!("the first row is {}", COLUMNS.join(",")))
        );
    }
    match COLUMNS.iter().find(|name| header.iter().filter(|column| column == *name).count() > 1) {
        Some(name) => Err(fault(format!("the column `{name}` is there twice"))),
        None => Ok(()),
    }
}

fn row(header: &StringRecord, record: &StringRecord) -> Value {
    let cell = |name: &str| header.iter().position(|column| column == name).and_then(|place| record.get(place));
    let mut texts: Vec<&str> = COLUMNS[2..].iter().filter_map(|name| cell(name)).collect();
    // Measures of fewer texts leave the last columns empty. A text that the measure uses can be empty too.
    let wanted = cell("measure").and_then(LabelledMeasure::parse).map_or(0, |measure| measure.texts().len());
    while texts.len() > wanted && texts.last().is_some_and(|text| text.is_empty()) {
        texts.pop();
    }
    json!({ "measure": cell("measure"), "label": cell("label"), "texts": texts })
}
