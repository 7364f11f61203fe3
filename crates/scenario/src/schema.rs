//! JSON Schemas of what users write, for editors and for `gabfest schema`.

mod shape;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

pub use shape::Shape;

/// The schema of `*.scenario.yaml`.
#[must_use]
pub fn scenario() -> Value {
    of::<crate::format::eliza::ScenarioDocument>()
}

/// The schema of `*.matrix.yaml`.
#[must_use]
pub fn matrix() -> Value {
    of::<crate::matrix::MatrixDocument>()
}

/// The schema of one persona of the library.
#[must_use]
pub fn persona() -> Value {
    of::<crate::persona::PersonaDocument>()
}

/// The schema of a type in draft 2020-12.
#[must_use]
pub fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}
