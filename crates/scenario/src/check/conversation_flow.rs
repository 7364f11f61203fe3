//! `conversation_flow`: the conversation shows the required patterns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Share;

use super::{kind::Kind, place::Place, question::Question};

/// The conversation shows the required patterns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationFlow {
    /// The patterns.
    #[schemars(length(min = 1))]
    pub required_patterns: Vec<FlowPattern>,
    /// The minimum share of patterns seen.
    #[serde(default = "seven_tenths")]
    pub flow_quality_threshold: Share,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowPattern {
    QuestionThenAnswer,
    ProblemThenSolution,
    ClarificationCycle,
    EmpathyThenSolution,
    EscalationPattern,
}

impl Kind for ConversationFlow {
    type Written = Self;
    const ASKS_JUDGE: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_not_empty(written.required_patterns.len(), "required_patterns");
        Some(written)
    }

    fn questions(&self) -> Vec<Question<'_>> {
        vec![Question::judge(self.required_patterns.len() as u64)]
    }
}

fn seven_tenths() -> Share {
    Share(0.7)
}
