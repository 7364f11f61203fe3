//! `number`: the only number of the text, or the one at a JSON path, lies in a range.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, some_words};

use super::{kind::Kind, place::Place};

/// The only number of the text, or the one at a JSON path, lies in a range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Number {
    /// The minimum.
    pub min: Option<f64>,
    /// The maximum.
    pub max: Option<f64>,
    /// The path of the number, if the text is JSON: `price`, `items[0].price` or `$..price`.
    #[serde(default, deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub path: Option<String>,
}

impl Kind for Number {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_range(written.min, written.max);
        Some(written)
    }
}
