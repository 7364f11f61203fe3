//! Quality batteries: workbooks, distributions and conversations as separate files, and totals on the pages.
//!
//! [`sheet`], [`totals`] and `examined` compute the numbers; [`workbook`], [`csv`] and [`books`] write them.

pub(crate) mod books;
mod csv;
pub(crate) mod examined;
pub mod sheet;
pub mod totals;
mod workbook;

pub use sheet::Sheet;
pub use totals::Totals;
#[cfg(any(test, fuzzing))]
pub(crate) use {books::file_name, csv::text as csv_text, workbook::harmless};
