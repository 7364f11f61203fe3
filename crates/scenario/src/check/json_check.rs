//! `json_check`: the text is a JSON object, and its values satisfy checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Check,
    kind::Kind,
    place::{Nested, Place},
    question::{self, Question},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonCheck {
    /// Paths, and what the values at them must satisfy.
    pub fields: Vec<(String, Vec<Check>)>,
}

/// The text is a JSON object, alone, in a code fence or between words, and its values satisfy their evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "JsonCheck")]
pub struct Written {
    /// For a key, `address.city`, `items[0].id` or a path that begins with `$`, the evaluations of the value as text.
    #[serde(rename = "fields")]
    #[schemars(with = "std::collections::BTreeMap<String, Vec<Nested>>")]
    _fields: Map<String, Value>,
}

impl Kind for JsonCheck {
    type Written = Written;
    const IS_ABOUT_TEXT: bool = true;

    fn read(_: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        let fields = place.named_checks("fields");
        place.check_not_empty(fields.len(), "fields");
        Some(Self { fields })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        self.fields.iter().flat_map(|(_, checks)| question::of_checks(checks)).collect()
    }
}
