//! The one door for YAML: text in, a checked document with the place of every value out.
//!
//! [`open`] parses a file into a [`Document`]. A reader walks its [`Part`]s, decodes them into types and collects
//! [`Findings`]; each finding becomes a [`Diagnostic`] with path, line and help. Settings and scenarios use the same door.

pub mod bounded;
mod decode;
pub mod diagnostic;
mod document;
mod fault;
mod findings;
mod guard;
mod json;
mod limits;
mod part;
pub mod path;
mod place;
pub mod schema;
pub mod suggest;
mod write;

pub use diagnostic::Diagnostic;
pub use document::{Document, open, read, too_large};
pub use findings::Findings;
pub use limits::{MAX_BYTES, MAX_DEPTH, MAX_EXPANDED_BYTES, MAX_NODES};
pub use part::Part;
pub use place::{Places, Spot};
pub use write::{WriteError, write};
