//! `similarity`: how similar in meaning the text and an expected one are, as a number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Cosine;

use super::{
    kind::Kind,
    place::Place,
    question::{Measure, Question},
};

/// A sentence model measures how similar the text and an expected text are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Similarity {
    /// The most similar one decides.
    #[schemars(length(min = 1))]
    pub expected: Vec<String>,
    /// The minimum similarity: 1 is the same meaning, about 0 is unrelated.
    #[serde(default = "seven_tenths")]
    pub threshold: Cosine,
}

impl Kind for Similarity {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_values(&written.expected, "expected");
        Some(written)
    }

    fn questions(&self) -> Vec<Question<'_>> {
        vec![Question::measure(Measure::Similarity, self.expected.len() as u64)]
    }
}

fn seven_tenths() -> Cosine {
    Cosine(0.7)
}
