//! The fields of each kind of evaluation as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    combined::{AnswerId, AnyOf, CallFunction, TelephonyEvents},
    generic,
    judged::{Rubric, SemanticCondition, SemanticSimilar, Similarity},
    limits::{Latency, Spend},
    structured::{JsonCheck, JsonPath, JsonSchemaDocument, ToolCalls},
    texts::{Contains, Empty, EndsWith, Equals, Language, Length, Number, Refusal, RegexMatch, StartsWith},
};
use crate::bounded::{Count, ExitCode, Millis, Share, Temperature, Words};
use scenario::check::{FlowPattern, SatisfactionMethod};

/// One check, told apart by its `type`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Evaluation", tag = "type", rename_all = "snake_case", transform = generic::describe)]
#[expect(
    dead_code,
    reason = "the choice is described here and made by hand, so that each kind's faults keep their places"
)]
pub(crate) enum EvaluationDocument {
    StringContains(StringContains),
    Contains(Contains),
    StartsWith(StartsWith),
    EndsWith(EndsWith),
    Equals(Equals),
    Empty(Empty),
    AnyOf(AnyOf),
    RegexMatch(RegexMatch),
    Length(Length),
    Number(Number),
    Language(Language),
    Refusal(Refusal),
    JsonCheck(JsonCheck),
    JsonPath(JsonPath),
    JsonSchema(JsonSchemaDocument),
    ToolCalls(ToolCalls),
    TrajectoryContainsAction(TrajectoryContainsAction),
    TelephonyEvents(TelephonyEvents),
    Call(CallFunction),
    AnswerId(AnswerId),
    SemanticCondition(SemanticCondition),
    SemanticSimilar(SemanticSimilar),
    Similarity(Similarity),
    LlmJudge(LlmJudge),
    Rubric(Rubric),
    ExecutionTime(ExecutionTime),
    Latency(Latency),
    Spend(Spend),
    ConversationLength(ConversationLength),
    ConversationFlow(ConversationFlow),
    UserSatisfaction(UserSatisfaction),
    ContextRetention(ContextRetention),
    FileExists(FileExists),
    FileContains(FileContains),
    CommandExitCodeIs(CommandExitCodeIs),
}

/// The reply contains a text.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StringContains {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// The text to look for.
    pub(crate) value: String,
    /// Whether capitals count.
    #[serde(default)]
    pub(crate) case_sensitive: bool,
}

/// A file exists when the step is over.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FileExists {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// Beneath the trial's root.
    pub(crate) path: String,
}

/// A file contains a text when the step is over.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FileContains {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// Beneath the trial's root.
    pub(crate) path: String,
    /// The text to look for.
    pub(crate) value: String,
}

/// A command ends with this exit code.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CommandExitCodeIs {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// Run in the trial's environment; off unless the operator of the worker allows it.
    pub(crate) command: Words,
    /// 0 unless written.
    #[serde(default = "success")]
    #[schemars(extend("default" = 0))]
    pub(crate) expected_code: ExitCode,
}

/// The agent took an action.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TrajectoryContainsAction {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// The action's name; capitals and underscores do not count.
    pub(crate) action: Words,
}

/// A language model judges the reply.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct LlmJudge {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// The question.
    pub(crate) prompt: String,
    /// What the judge should find: `yes`, `no`, `0.8+`, `0.3-`, `0.4-0.6`, or a word of the judgment.
    pub(crate) expected: String,
    /// The kind of model that judges.
    pub(crate) model_type: Option<String>,
    /// How freely it writes, 0 to 2.
    pub(crate) temperature: Option<Temperature>,
    /// A JSON Schema that the judge's reply must satisfy.
    pub(crate) json_schema: Option<Map<String, Value>>,
    /// What the reply must show.
    #[schemars(length(min = 1))]
    pub(crate) capabilities: Option<Vec<String>>,
}

/// The step took neither too long nor too short a time. Of a conversation only the agent's own time counts: its replies
/// and its tools, and neither the simulated user, judges, waits for permits nor repeated tries.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExecutionTime {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// The longest time, in milliseconds.
    pub(crate) max_duration_ms: Millis,
    /// The shortest time, in milliseconds.
    pub(crate) min_duration_ms: Option<Millis>,
    /// The time that is rated best, in milliseconds.
    pub(crate) target_duration_ms: Option<Millis>,
}

/// The conversation had neither too many nor too few turns.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ConversationLength {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// The fewest turns.
    pub(crate) min_turns: Option<Count>,
    /// The most turns.
    pub(crate) max_turns: Option<Count>,
    /// The number that is rated best.
    pub(crate) optimal_turns: Option<Count>,
    /// The fewest and the most turns.
    pub(crate) target_range: Option<(Count, Count)>,
}

/// The conversation went the ways that are named.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ConversationFlow {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// The ways.
    #[schemars(length(min = 1))]
    pub(crate) required_patterns: Vec<FlowPattern>,
    /// The share of them that must be seen.
    #[serde(default = "seven_tenths")]
    #[schemars(extend("default" = 0.7))]
    pub(crate) flow_quality_threshold: Share,
}

/// The simulated user was content.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UserSatisfaction {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// The least score.
    #[serde(default = "seven_tenths")]
    #[schemars(extend("default" = 0.7))]
    pub(crate) satisfaction_threshold: Share,
    /// The words that `keyword_analysis` counts.
    pub(crate) indicators: Option<Indicators>,
    /// How it is measured.
    #[serde(default)]
    #[schemars(extend("default" = "llm_judge"))]
    pub(crate) measurement_method: SatisfactionMethod,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Indicators {
    /// Words of a content user.
    pub(crate) positive: Option<Vec<String>>,
    /// Words of a discontented user.
    pub(crate) negative: Option<Vec<String>>,
}

/// The agent remembered what was said.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ContextRetention {
    /// Words for people.
    pub(crate) description: Option<String>,
    /// What is said once and must be remembered.
    #[schemars(length(min = 1))]
    pub(crate) test_memory_of: Vec<String>,
    /// For how many turns.
    #[serde(default = "three")]
    #[schemars(extend("default" = 3))]
    pub(crate) retention_turns: Count,
    /// The share that must be remembered.
    #[serde(default = "eight_tenths")]
    #[schemars(extend("default" = 0.8))]
    pub(crate) memory_accuracy_threshold: Share,
}

fn success() -> ExitCode {
    ExitCode(0)
}

fn seven_tenths() -> Share {
    Share(0.7)
}

fn eight_tenths() -> Share {
    Share(0.8)
}

fn three() -> Count {
    Count(3)
}
