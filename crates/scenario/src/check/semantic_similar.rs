//! `semantic_similar`: a judge finds that the text means the same as an expected one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Share;

use super::{kind::Kind, place::Place, question::Question};

/// A judge finds that the text means the same as one of the expected texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SemanticSimilar {
    /// The alternatives; one match is enough.
    #[schemars(length(min = 1))]
    pub expected: Vec<String>,
    /// The minimum confidence of the judge, 0 to 1. Without it, the judge's yes or no decides.
    pub threshold: Option<Share>,
}

impl Kind for SemanticSimilar {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;
    const ASKS_JUDGE: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_values(&written.expected, "expected");
        Some(written)
    }

    fn questions(&self) -> Vec<Question<'_>> {
        vec![Question::judge(1)]
    }
}
