//! What may be seen in a conversation as a whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowPattern {
    QuestionThenAnswer,
    ProblemThenSolution,
    ClarificationCycle,
    EmpathyThenSolution,
    EscalationPattern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SatisfactionMethod {
    SentimentAnalysis,
    KeywordAnalysis,
    #[default]
    LlmJudge,
}
