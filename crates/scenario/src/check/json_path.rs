//! `json_path`: a path selects values of the text's JSON, and each of them satisfies checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yaml::bounded::Words;

use super::{
    Check,
    kind::Kind,
    place::{Nested, Place},
    question::{self, Question},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonPath {
    /// An RFC 9535 path. It must select at least one value.
    pub path: String,
    pub checks: Vec<Check>,
}

/// A path selects at least one value in the JSON of the text, and every selected value satisfies the evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "JsonPath")]
pub struct Written {
    /// `$.items[*].id` (RFC 9535). A path without `$` starts at the root.
    path: Words,
    /// The evaluations of each value as text. Without evaluations, any value is enough.
    #[serde(default, rename = "checks")]
    #[schemars(with = "Vec<Nested>")]
    _checks: Vec<Value>,
}

impl Kind for JsonPath {
    type Written = Written;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        Some(Self { path: written.path.0, checks: place.checks("checks") })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        question::of_checks(&self.checks)
    }
}
