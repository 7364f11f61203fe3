//! What a reply, a step or a conversation must satisfy, as data. `evaluate` makes it behaviour.

mod call;
mod conversation;
mod judge;
mod question;
mod rubric;
mod text;
mod tools;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    call::CallRule,
    conversation::{FlowPattern, SatisfactionMethod},
    judge::{Expected, JudgeRule},
    question::{Asked, Measure, Question},
    rubric::{Criterion, RubricRule},
    text::{LengthUnit, RefusalMethod},
    tools::{ArgumentRule, CallOrder, CallPick, ExpectedCall, ToolCallsRule},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub description: Option<String>,
    pub rule: Rule,
    /// 1-based line in the source; 0 where there is none.
    pub line: u32,
    /// Whether pass and fail are exchanged.
    #[serde(default)]
    pub negated: bool,
    /// How much it counts beside the other checks of the trial, where the trial's score is what is asked for.
    #[serde(default = "one")]
    pub weight: f64,
    /// Otherwise it informs: it is kept and shown, and no part of the verdict.
    #[serde(default = "yes")]
    pub required: bool,
}

impl Check {
    /// A check that must hold, like any other.
    #[must_use]
    pub fn new(rule: Rule, line: u32) -> Self {
        Self { description: None, rule, line, negated: false, weight: 1.0, required: true }
    }

    /// The same, but what passed fails and what failed passes.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { negated: !self.negated, ..self }
    }
}

fn one() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

/// The text of a rule is the agent's reply (of a conversation: its transcript; of a program: what it printed), or
/// where the rule stands within another one, the value that this one took out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    StringContains {
        value: String,
        case_sensitive: bool,
    },
    /// All values stand in the text, or any of them.
    Contains {
        values: Vec<String>,
        any: bool,
        ignore_case: bool,
    },
    /// The text begins with one of the values.
    StartsWith {
        values: Vec<String>,
        ignore_case: bool,
    },
    /// The text ends with one of the values.
    EndsWith {
        values: Vec<String>,
        ignore_case: bool,
    },
    /// The text is one of the values, but for white space around them and the kind of line ends.
    Equals {
        values: Vec<String>,
        ignore_case: bool,
    },
    /// There is no text, or nothing but white space.
    Empty,
    /// The text satisfies at least one of these.
    AnyOf {
        checks: Vec<Check>,
    },
    RegexMatch {
        pattern: String,
        #[serde(default)]
        case_sensitive: bool,
        /// What the named groups of the first match must satisfy.
        #[serde(default)]
        captures: Vec<(String, Vec<Check>)>,
    },
    FileExists {
        path: String,
    },
    FileContains {
        path: String,
        value: String,
    },
    CommandExitCodeIs {
        command: String,
        expected_code: i32,
    },
    TrajectoryContainsAction {
        action: String,
    },
    ToolCalls(ToolCallsRule),
    /// The agent, one that looks its answers up, gave the answer with this id.
    AnswerId {
        id: u32,
    },
    /// The result of a function that is asked about the conversation satisfies its checks.
    Call(CallRule),
    /// The agent did exactly these things on the telephone, in this order: `dtmf 0`, `transfer_call +18005551234`,
    /// `end_call`.
    TelephonyEvents {
        expected: Vec<String>,
    },
    /// The text is a JSON object, perhaps in a fence or between words; the values at these paths satisfy their checks.
    JsonCheck {
        fields: Vec<(String, Vec<Check>)>,
    },
    /// The text is JSON that satisfies a JSON Schema.
    JsonSchema {
        schema: Value,
    },
    /// Every value that an RFC 9535 path selects in the text's JSON satisfies the checks, and there is at least one.
    JsonPath {
        path: String,
        checks: Vec<Check>,
    },
    /// The only number of the text, or the one that a JSON path selects, lies in the range, both ends included.
    Number {
        min: Option<f64>,
        max: Option<f64>,
        path: Option<String>,
    },
    /// Both ends included.
    Length {
        unit: LengthUnit,
        min: Option<u64>,
        max: Option<u64>,
    },
    /// The agent declined to do what it was asked for.
    Refusal {
        method: RefusalMethod,
    },
    /// The text is written in a language, by its ISO 639 code.
    Language {
        code: String,
    },
    /// A judge finds that the text meets a condition.
    SemanticCondition {
        condition: String,
    },
    /// A judge finds that the text means the same as one of these.
    SemanticSimilar {
        expected: Vec<String>,
        /// 0 to 1: how sure the judge must be; `None`: its yes or no decides.
        threshold: Option<f64>,
    },
    /// The scorer finds the text at least so much like one of these.
    Similarity {
        expected: Vec<String>,
        /// -1 to 1.
        threshold: f64,
    },
    LlmJudge(JudgeRule),
    Rubric(RubricRule),
    ExecutionTime {
        max_duration_ms: u64,
        min_duration_ms: Option<u64>,
        target_duration_ms: Option<u64>,
    },
    /// No reply of the agent took longer, without waits for permits.
    Latency {
        max_total_ms: Option<u64>,
        /// To the first token of a streamed reply.
        max_ttft_ms: Option<u64>,
    },
    /// The agent's calls together cost no more, retries of lost ones not counted.
    Spend {
        max_usd: Option<f64>,
        /// Input and output together.
        max_tokens: Option<u64>,
    },
    ConversationLength {
        min_turns: Option<u32>,
        max_turns: Option<u32>,
        optimal_turns: Option<u32>,
        target_range: Option<(u32, u32)>,
    },
    ConversationFlow {
        required_patterns: Vec<FlowPattern>,
        flow_quality_threshold: f64,
    },
    UserSatisfaction {
        satisfaction_threshold: f64,
        positive: Option<Vec<String>>,
        negative: Option<Vec<String>>,
        method: SatisfactionMethod,
    },
    ContextRetention {
        test_memory_of: Vec<String>,
        retention_turns: u32,
        memory_accuracy_threshold: f64,
    },
}

impl Rule {
    /// The name that scenario files and reports use.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::StringContains { .. } => "string_contains",
            Self::Contains { .. } => "contains",
            Self::StartsWith { .. } => "starts_with",
            Self::EndsWith { .. } => "ends_with",
            Self::Equals { .. } => "equals",
            Self::Empty => "empty",
            Self::AnyOf { .. } => "any_of",
            Self::RegexMatch { .. } => "regex_match",
            Self::FileExists { .. } => "file_exists",
            Self::FileContains { .. } => "file_contains",
            Self::CommandExitCodeIs { .. } => "command_exit_code_is",
            Self::TrajectoryContainsAction { .. } => "trajectory_contains_action",
            Self::ToolCalls(_) => "tool_calls",
            Self::AnswerId { .. } => "answer_id",
            Self::Call(_) => "call",
            Self::TelephonyEvents { .. } => "telephony_events",
            Self::JsonCheck { .. } => "json_check",
            Self::JsonSchema { .. } => "json_schema",
            Self::JsonPath { .. } => "json_path",
            Self::Number { .. } => "number",
            Self::Length { .. } => "length",
            Self::Refusal { .. } => "refusal",
            Self::Language { .. } => "language",
            Self::SemanticCondition { .. } => "semantic_condition",
            Self::SemanticSimilar { .. } => "semantic_similar",
            Self::Similarity { .. } => "similarity",
            Self::LlmJudge(_) => "llm_judge",
            Self::Rubric(_) => "rubric",
            Self::ExecutionTime { .. } => "execution_time",
            Self::Latency { .. } => "latency",
            Self::Spend { .. } => "spend",
            Self::ConversationLength { .. } => "conversation_length",
            Self::ConversationFlow { .. } => "conversation_flow",
            Self::UserSatisfaction { .. } => "user_satisfaction",
            Self::ContextRetention { .. } => "context_retention",
        }
    }

    /// Whether it looks at a text alone, so that it can stand within another rule.
    #[must_use]
    pub fn is_about_text(&self) -> bool {
        match self {
            Self::StringContains { .. }
            | Self::Contains { .. }
            | Self::StartsWith { .. }
            | Self::EndsWith { .. }
            | Self::Equals { .. }
            | Self::Empty
            | Self::AnyOf { .. }
            | Self::RegexMatch { .. }
            | Self::JsonCheck { .. }
            | Self::JsonSchema { .. }
            | Self::JsonPath { .. }
            | Self::Number { .. }
            | Self::Length { .. }
            | Self::Language { .. }
            | Self::SemanticCondition { .. }
            | Self::SemanticSimilar { .. }
            | Self::Similarity { .. } => true,
            Self::FileExists { .. }
            | Self::FileContains { .. }
            | Self::CommandExitCodeIs { .. }
            | Self::TrajectoryContainsAction { .. }
            | Self::ToolCalls(_)
            | Self::AnswerId { .. }
            | Self::Call(_)
            | Self::TelephonyEvents { .. }
            | Self::Refusal { .. }
            | Self::LlmJudge(_)
            | Self::Rubric(_)
            | Self::ExecutionTime { .. }
            | Self::Latency { .. }
            | Self::Spend { .. }
            | Self::ConversationLength { .. }
            | Self::ConversationFlow { .. }
            | Self::UserSatisfaction { .. }
            | Self::ContextRetention { .. } => false,
        }
    }
}
