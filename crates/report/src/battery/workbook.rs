//! Sheets as `.xlsx`.

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError};
use serde_json::Value;

use super::{Sheet, Totals, sheet::Sum};

/// The longest text of a cell that spreadsheets take, in characters.
const LONGEST: usize = 32_767;

/// The report: a sheet for each kept run. `numbers` are the runs' numbers.
pub(super) fn report(sheets: &[(u32, Sheet)]) -> Result<Vec<u8>, XlsxError> {
    let mut book = new_book()?;
    for (number, sheet) in sheets {
        let page = book.add_worksheet();
        page.set_name(format!("Run {number}"))?;
        heads(page, sheet.columns.iter().map(|column| column.head.as_str()))?;
        for row in 0..=sheet.rows {
            page.write(at(row + 1), 0, at(row))?;
        }
        for (place, column) in sheet.columns.iter().enumerate() {
            for (row, cell) in column.cells.iter().enumerate() {
                write(page, at(row + 1), column_at(place), cell.as_ref())?;
            }
            let total = column.total.as_ref().map(|(_, sum)| sum.value());
            write(page, at(sheet.rows + 1), column_at(place), total.as_ref())?;
        }
    }
    book.save_to_buffer()
}

/// The summary: a row a run, and the totals when all are done.
pub(super) fn summary(totals: &Totals) -> Result<Vec<u8>, XlsxError> {
    let mut book = new_book()?;
    let page = book.add_worksheet();
    page.set_name("summary")?;
    heads(page, totals.columns.iter().map(String::as_str))?;
    for row in 0..=totals.rows.len() {
        page.write(at(row + 1), 0, at(row))?;
        for (place, name) in totals.columns.iter().enumerate() {
            let sum = totals.rows.get(row).map_or_else(|| totals.last_row(name), |sums| sums.get(name));
            write(page, at(row + 1), column_at(place), sum.map(Sum::value).as_ref())?;
        }
    }
    book.save_to_buffer()
}

/// Without the time of day in it: the same run has the same bytes each time.
fn new_book() -> Result<Workbook, XlsxError> {
    let mut book = Workbook::new();
    book.set_properties(&DocProperties::new().set_creation_datetime(&ExcelDateTime::from_ymd(2000, 1, 1)?));
    Ok(book)
}

fn heads<'a>(page: &mut Worksheet, heads: impl Iterator<Item = &'a str>) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    for (place, head) in heads.enumerate() {
        page.write_with_format(0, column_at(place), harmless(head), &bold)?;
    }
    page.set_freeze_panes(1, 0)?;
    Ok(())
}

fn write(page: &mut Worksheet, row: u32, column: u16, value: Option<&Value>) -> Result<(), XlsxError> {
    match value {
        None | Some(Value::Null) => {}
        Some(Value::Bool(truth)) => {
            page.write(row, column, *truth)?;
        }
        Some(Value::Number(number)) => {
            page.write(row, column, number.as_f64().unwrap_or_default())?;
        }
        Some(Value::String(text)) => {
            page.write(row, column, harmless(text))?;
        }
        Some(list) => {
            page.write(row, column, spaced(list))?;
        }
    }
    Ok(())
}

/// Text that a spreadsheet never takes for a formula, and that fits a cell.
pub(crate) fn harmless(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\0']);
    let prefix = if formula { "'" } else { "" };
    prefix.chars().chain(text.chars()).take(LONGEST).collect()
}

/// `[0, 25]`, as the original writes lists.
fn spaced(list: &Value) -> String {
    list.to_string().replace(',', ", ")
}

fn at(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}

/// The first column holds the row's number.
fn column_at(place: usize) -> u16 {
    u16::try_from(place + 1).unwrap_or(u16::MAX)
}
