//! Quality batteries: workbooks, distributions and conversations beside the pages, and totals within them.
//!
//! [`sheet`], [`totals`] and `examined` are the numbers; [`workbook`], [`csv`] and [`books`] write them.

pub(crate) mod books;
mod csv;
pub(crate) mod examined;
pub mod sheet;
pub mod totals;
mod workbook;

pub use sheet::Sheet;
pub use totals::Totals;
