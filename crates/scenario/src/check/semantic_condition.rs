//! `semantic_condition`: a judge finds that the text meets a condition.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, words};

use super::{kind::Kind, place::Place, question::Question, wording};

/// A judge finds that the text meets a condition. The judge sees only the text, not the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SemanticCondition {
    /// The condition, as a sentence.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub condition: String,
}

impl Kind for SemanticCondition {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;
    const ASKS_JUDGE: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        wording::check_criterion("`condition`", &written.condition, place.part.spot_of("condition"), place.findings);
        Some(written)
    }

    fn questions(&self) -> Vec<Question<'_>> {
        vec![Question::judge(1)]
    }
}
