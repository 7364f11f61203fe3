//! `gabfest.data`: the data set of a scenario, one case for each row.

mod chosen;
mod fits;
#[cfg(feature = "parquet")]
mod parquet;
mod source;
mod typed;

use std::collections::BTreeMap;

use scenario::{Format, Rows, format::Files, placeholder, rows::Fill};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use yaml::{
    Document, Findings, Part,
    bounded::{Amount, Words},
    path::{self, Path},
    suggest,
};

use self::{chosen::Chosen, source::Source, typed::ColumnType};

pub(crate) use fits::faults;

yaml::bounded! {
    /// How many rows are taken.
    pub(crate) SampleSize: u32, "integer", 1.0 to Some(100_000.0);
}

/// A file with rows, and what becomes of its columns.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DataSet")]
pub(crate) struct DataDocument {
    /// A file that ends in `.csv`, `.tsv`, `.jsonl` or `.parquet`, relative to this file.
    file: Words,
    /// The column with the id of each row. The default is a hash of the row.
    id: Option<Words>,
    /// Parameters that take the value of a column: maps a column to a path such as
    /// `run[0].conversation.user_simulator.emotional_state`, or to `user_simulator.KEY` for all conversations.
    #[serde(default)]
    map: BTreeMap<String, Words>,
    /// Types of columns of CSV and TSV files. The default is text.
    #[serde(default)]
    types: BTreeMap<String, ColumnType>,
    /// Takes only rows with one of these values in a column.
    #[serde(default, rename = "where")]
    wanted: BTreeMap<String, Vec<Value>>,
    /// Takes this many rows, chosen by `seed` and the ids of the rows.
    sample: Option<SampleSize>,
    /// The seed of `sample`. The default is 0.
    seed: Option<Amount>,
}

/// Removes the data set from a document and reads it. `None`: there is none, or it has errors.
pub(crate) fn take(
    document: &mut Document,
    environment: &BTreeMap<String, String>,
    format: &dyn Format,
    files: &mut dyn Files,
    findings: &mut Findings,
) -> Option<Rows> {
    let whole = document.clone();
    let root = whole.root();
    let mut part = root.get("gabfest")?.get("data")?;
    if let Some(Value::Object(ours)) = document.value.get_mut("gabfest") {
        ours.shift_remove("data");
    }
    let mut value = part.value().clone();
    // Unknown variables are reported with the whole document.
    placeholder::replace_environment(&mut value, environment);
    part = part.with_value(&value);
    let written = part.decode_guarded::<DataDocument>(|_, _| true, findings)?;
    let data = Data { part: &part, written: &written };
    let fills = data.fills(document, format, findings);
    let rows = data.read(whole.path_of(part.spot_of("file")), files, findings)?;
    let fills = data.fills_of(fills, rows.columns(), findings);
    Some(rows.with_fills(fills))
}

struct Data<'a> {
    part: &'a Part<'a>,
    written: &'a DataDocument,
}

impl Data<'_> {
    fn read(&self, from: &str, files: &mut dyn Files, findings: &mut Findings) -> Option<Rows> {
        let name = &self.written.file.0;
        let spot = self.part.spot_of("file");
        let (file, path) = match files.open(from, name) {
            Ok(opened) => opened,
            Err(fault) => {
                findings.error(spot, format!("the data file `{name}` {fault}"));
                return None;
            }
        };
        let mut source = match Source::of(name, file) {
            Ok(source) => source,
            Err(unreadable) => {
                findings.error(spot, unreadable.message);
                findings.help(unreadable.help);
                return None;
            }
        };
        if source.is_typed() && !self.written.types.is_empty() {
            findings.error(self.part.key_spot("types"), "values of a JSONL or Parquet file have their types already");
            findings.help("remove `types`");
        }
        let mut told = Findings::new(&path);
        let chosen = Chosen::new(self.written);
        let rows = chosen.read(&mut source, &mut told);
        let columns = source.columns().to_vec();
        let sound = !told.has_errors();
        findings.extend(told);
        if columns.is_empty() {
            if sound {
                findings.error(spot, format!("`{path}`: the file has no rows"));
            }
            return None;
        }
        self.written.types.keys().for_each(|name| self.know("types", name, &columns, findings));
        self.written.wanted.keys().for_each(|name| self.know("where", name, &columns, findings));
        if let Some(id) = &self.written.id
            && !columns.contains(&id.0)
        {
            findings.error(self.part.spot_of("id"), format!("`{path}` has no column `{}`", id.0));
            findings.help(suggest::known_names(&id.0, columns.iter().map(String::as_str)));
        }
        if !sound || findings.has_errors() {
            return None;
        }
        if rows.is_empty() {
            let all = if self.written.wanted.is_empty() { "the file has no rows" } else { "no row fits `where`" };
            findings.error(spot, format!("`{path}`: {all}"));
            return None;
        }
        Some(rows.build(path, columns, Vec::new()))
    }

    fn know(&self, key: &str, column: &str, columns: &[String], findings: &mut Findings) {
        if columns.iter().any(|known| known == column) {
            return;
        }
        let place = self.part.get(key).map_or(self.part.spot(), |part| part.key_spot(column));
        findings.error(place, format!("`{}` has no column `{column}`", self.written.file.0));
        findings.help(suggest::known_names(column, columns.iter().map(String::as_str)));
    }

    /// The parameters that `map` names, by column.
    fn fills<'a>(
        &'a self,
        document: &Document,
        format: &dyn Format,
        findings: &mut Findings,
    ) -> Vec<(&'a str, Vec<String>)> {
        let schema = if self.written.map.is_empty() { Value::Null } else { format.schema() };
        let mut fills = Vec::new();
        for (column, parameter) in &self.written.map {
            let spot = self.part.get("map").map_or(self.part.spot(), |map| map.spot_of(column));
            let parameters = parameters_of(&parameter.0, document);
            if parameters.is_empty() {
                findings.error(spot, "the scenario has no conversation with a simulated user");
            }
            for parameter in &parameters {
                let fits = match Path::parse(parameter) {
                    Ok(path) => path.fits(&document.value, &schema).map_err(|miss| (miss.message, miss.help)),
                    Err(error) => Err((
                        format!("`{parameter}` is not a path: {error}"),
                        path::meant(parameter).map(|meant| format!("did you mean `{meant}`?")),
                    )),
                };
                if let Err((message, help)) = fits {
                    findings.error(spot, message);
                    help.into_iter().for_each(|help| findings.help(help));
                }
            }
            fills.push((column.as_str(), parameters));
        }
        fills
    }

    fn fills_of(&self, fills: Vec<(&str, Vec<String>)>, columns: &[String], findings: &mut Findings) -> Vec<Fill> {
        let mut found = Vec::new();
        for (column, parameters) in fills {
            self.know("map", column, columns, findings);
            if let Some(column) = columns.iter().position(|known| known == column) {
                found.push(Fill { column, parameters });
            }
        }
        found
    }
}

/// `user_simulator.KEY` is short for the key of all conversations.
fn parameters_of(written: &str, document: &Document) -> Vec<String> {
    if !written.starts_with("user_simulator.") || document.value.get("user_simulator").is_some() {
        return vec![written.to_owned()];
    }
    let steps = document.value.get("run").and_then(Value::as_array).into_iter().flatten();
    let simulated = steps.enumerate().filter(|(_, step)| {
        step.get("conversation").is_some_and(|conversation| conversation.get("user_simulator").is_some())
    });
    simulated.map(|(index, _)| format!("run[{index}].conversation.{written}")).collect()
}

/// Why a column cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnFault {
    /// The file, as a fragment that fits behind its key.
    File(String),
    /// There is no such column.
    Column(String),
}

/// One column of a data file, with the line of each value. `most`: how many values are read.
///
/// # Errors
/// The file is none that can be read, it has more values, or no such column.
pub fn column(name: &str, file: std::fs::File, column: &str, most: usize) -> Result<Vec<(u32, Value)>, ColumnFault> {
    let unreadable = |fault: source::Unreadable| ColumnFault::File(format!("{}\nhint: {}", fault.message, fault.help));
    let mut source = Source::of(name, file).map_err(unreadable)?;
    let mut values = Vec::new();
    while let Some(row) = source.next() {
        let row =
            row.map_err(|fault| ColumnFault::File(format!("`{name}`, line {}: {}", fault.line, fault.message)))?;
        let Some(place) = source.columns().iter().position(|known| known == column) else { break };
        if values.len() == most {
            return Err(ColumnFault::File(format!("`{name}` has more than {most} rows")));
        }
        values.push((row.line, row.values.get(place).cloned().unwrap_or(Value::Null)));
    }
    let columns = source.columns();
    if !columns.is_empty() && !columns.iter().any(|known| known == column) {
        let hint = match columns {
            [whole] if whole.contains(';') => {
                "separate columns by commas, or by tabs in a file that ends in `.tsv`".to_owned()
            }
            _ => suggest::known_names(column, columns.iter().map(String::as_str)),
        };
        return Err(ColumnFault::Column(format!("`{name}` has no column `{column}`\nhint: {hint}")));
    }
    Ok(values)
}
