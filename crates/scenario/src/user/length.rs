//! How long the lines of the simulated user are.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// More words do not fit into a line's token limit.
const MOST_WORDS: u32 = 400;

/// How long the user's lines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserLength")]
pub struct Length {
    /// The fewest and the most words of a line. The number for each line is drawn by the trial's seed.
    pub words: WordRange,
}

/// The fewest and the most words, written as a list of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WordRange(pub u32, pub u32);

impl<'de> Deserialize<'de> for WordRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Vec::<u32>::deserialize(deserializer)?;
        match written[..] {
            [low, high] if (1..=high).contains(&low) && high <= MOST_WORDS => Ok(Self(low, high)),
            _ => Err(D::Error::custom(format!(
                "expected the fewest and the most words, such as [3, 40], from 1 to {MOST_WORDS}; found {written:?}"
            ))),
        }
    }
}

impl JsonSchema for WordRange {
    fn schema_name() -> Cow<'static, str> {
        "WordRange".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": { "type": "integer", "minimum": 1, "maximum": MOST_WORDS },
            "minItems": 2,
            "maxItems": 2,
        })
    }
}
