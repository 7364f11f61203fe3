//! Runs as Parquet files, which DuckDB, ClickHouse, pandas and others read: [`columns`] says what is in them.
//!
//! An [`Export`] writes the trials of one run, in the plan's order, to a [`Place`]: a folder or a bucket. Files are named by
//! their content, and the [`Manifest`] that lists them is written last, so nobody reads half an export. Memory does not grow
//! with the run: rows wait in buffers of a few megabytes, files in a temporary folder until they are uploaded.

mod buffer;
pub mod columns;
mod error;
mod export;
mod facts;
mod file;
mod manifest;
mod place;
mod schema;
mod table;
mod upload;
mod value;

pub use error::Error;
pub use export::Export;
pub use facts::{Attempt, Case, Ending, Facts, Played};
pub use manifest::{MANIFEST, Manifest, Part, TableFiles};
pub use place::{Place, SECRETS};
pub use schema::{Column, Kind};
