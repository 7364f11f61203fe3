//! `any_of`: the text satisfies at least one of several checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Check,
    kind::Kind,
    place::{Nested, Place},
    question::{self, Question},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnyOf {
    pub checks: Vec<Check>,
}

/// The text satisfies at least one of the evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AnyOf")]
pub struct Written {
    /// They are tried until one holds; those that ask a model come last.
    #[serde(rename = "checks")]
    #[schemars(with = "Vec<Nested>", length(min = 1))]
    _checks: Vec<Value>,
}

impl Kind for AnyOf {
    type Written = Written;
    const IS_ABOUT_TEXT: bool = true;

    fn read(_: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        Some(Self { checks: place.some_checks("checks") })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        question::of_checks(&self.checks)
    }
}
