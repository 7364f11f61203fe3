//! What a reply, a step or a conversation must satisfy, as data. `evaluate` makes it behaviour.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub description: Option<String>,
    pub rule: Rule,
    /// 1-based line in the source; 0 where there is none.
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    StringContains {
        value: String,
        case_sensitive: bool,
    },
    RegexMatch {
        pattern: String,
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
    LlmJudge(JudgeRule),
    ExecutionTime {
        max_duration_ms: u64,
        min_duration_ms: Option<u64>,
        target_duration_ms: Option<u64>,
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
            Self::RegexMatch { .. } => "regex_match",
            Self::FileExists { .. } => "file_exists",
            Self::FileContains { .. } => "file_contains",
            Self::CommandExitCodeIs { .. } => "command_exit_code_is",
            Self::TrajectoryContainsAction { .. } => "trajectory_contains_action",
            Self::LlmJudge(_) => "llm_judge",
            Self::ExecutionTime { .. } => "execution_time",
            Self::ConversationLength { .. } => "conversation_length",
            Self::ConversationFlow { .. } => "conversation_flow",
            Self::UserSatisfaction { .. } => "user_satisfaction",
            Self::ContextRetention { .. } => "context_retention",
        }
    }
}

/// A question to a language model about the agent's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeRule {
    pub prompt: String,
    pub expected: Expected,
    pub model_type: Option<String>,
    pub temperature: Option<f64>,
    /// A JSON Schema that the judge's reply must satisfy.
    pub json_schema: Option<serde_json::Value>,
    /// What the reply must show, each judged by itself; empty: none asked for.
    pub capabilities: Vec<String>,
}

/// What the judge should find.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    Yes,
    No,
    /// `0.8+`: confidence at least this.
    AtLeast(f64),
    /// `0.3-`: confidence at most this.
    AtMost(f64),
    /// `0.4-0.6`: confidence within, both ends included.
    Between(f64, f64),
    /// Any other word: the judgment must contain it.
    Says(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowPattern {
    QuestionThenAnswer,
    ProblemThenSolution,
    ClarificationCycle,
    EmpathyThenSolution,
    EscalationPattern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SatisfactionMethod {
    SentimentAnalysis,
    KeywordAnalysis,
    #[default]
    LlmJudge,
}
