//! The one place where a check becomes behaviour: patterns and schemas are built here, once.

use regex::{Regex, RegexBuilder};
use scenario::{Check, check::Rule};

use crate::{
    Evaluator,
    command_exit_code::CommandExitCode,
    contains::Contains,
    context_retention::ContextRetention,
    conversation_flow::ConversationFlow,
    conversation_length::ConversationLength,
    edges::Edges,
    evaluator::Behaviour,
    execution_time::ExecutionTime,
    files::{FileContains, FileExists},
    llm_judge::LlmJudge,
    needle::Place,
    regex_match::RegexMatch,
    semantic::{SemanticCondition, SemanticSimilar},
    string_contains::StringContains,
    trajectory::Trajectory,
    user_satisfaction::UserSatisfaction,
};

/// What a pattern that a user wrote may take when compiled: the engine is linear in the reply, this bounds the rest.
pub(crate) const PATTERN_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("compile the pattern: {message}")]
    Pattern { message: String },
    #[error("compile `json_schema`: {message}")]
    Schema { message: String },
    #[error("look for `{field}`: the text is too long ({bytes} bytes) to compare without regard to case")]
    TooLong { field: &'static str, bytes: usize },
    /// A check that nothing can fail would always pass.
    #[error("judge by an empty `{field}`")]
    Empty { field: &'static str },
    #[error("find a group `{name}` in the pattern")]
    Group { name: String },
    #[error("judge a part of the text by `{kind}` in `{field}`: it is not about a text")]
    NotAboutText { kind: &'static str, field: &'static str },
    #[error("find an evaluator for `{kind}`")]
    Unknown { kind: &'static str },
}

/// Makes an evaluator of a check.
///
/// # Errors
/// When a pattern or JSON Schema of the check does not compile or is too large, or a list it needs is empty.
pub fn compile(check: &Check) -> Result<Evaluator, Error> {
    let behaviour = match &check.rule {
        Rule::StringContains { value, case_sensitive } => {
            Behaviour::StringContains(StringContains::new(value, *case_sensitive)?)
        }
        Rule::Contains { values, any, ignore_case } => Behaviour::Contains(Contains::new(values, *any, *ignore_case)?),
        Rule::StartsWith { values, ignore_case } => Behaviour::Edges(Edges::new(values, Place::Start, *ignore_case)?),
        Rule::EndsWith { values, ignore_case } => Behaviour::Edges(Edges::new(values, Place::End, *ignore_case)?),
        Rule::Equals { values, ignore_case } => Behaviour::Edges(Edges::new(values, Place::Whole, *ignore_case)?),
        Rule::Empty => Behaviour::Empty,
        Rule::RegexMatch { pattern, case_sensitive, captures } => {
            Behaviour::RegexMatch(Box::new(RegexMatch::new(pattern, *case_sensitive, captures)?))
        }
        Rule::FileExists { path } => Behaviour::FileExists(FileExists { path: path.clone() }),
        Rule::FileContains { path, value } => {
            Behaviour::FileContains(FileContains { path: path.clone(), value: value.clone() })
        }
        Rule::CommandExitCodeIs { command, expected_code } => {
            Behaviour::CommandExitCode(CommandExitCode { command: command.clone(), expected_code: *expected_code })
        }
        Rule::TrajectoryContainsAction { action } => Behaviour::Trajectory(Trajectory { action: action.clone() }),
        Rule::SemanticCondition { condition } => Behaviour::SemanticCondition(SemanticCondition::new(condition)?),
        Rule::SemanticSimilar { expected, threshold } => {
            Behaviour::SemanticSimilar(SemanticSimilar::new(expected, *threshold)?)
        }
        Rule::ToolCalls(_)
        | Rule::JsonCheck { .. }
        | Rule::JsonSchema { .. }
        | Rule::JsonPath { .. }
        | Rule::Number { .. }
        | Rule::Length { .. }
        | Rule::Refusal { .. }
        | Rule::Language { .. }
        | Rule::Rubric(_)
        | Rule::Latency { .. }
        | Rule::Spend { .. } => return Err(Error::Unknown { kind: check.rule.kind() }),
        Rule::LlmJudge(rule) => Behaviour::LlmJudge(Box::new(LlmJudge::new(rule)?)),
        Rule::ExecutionTime { max_duration_ms, min_duration_ms, target_duration_ms } => {
            Behaviour::ExecutionTime(ExecutionTime {
                max_ms: *max_duration_ms,
                min_ms: *min_duration_ms,
                target_ms: *target_duration_ms,
            })
        }
        Rule::ConversationLength { min_turns, max_turns, optimal_turns, target_range } => {
            Behaviour::ConversationLength(ConversationLength {
                min_turns: *min_turns,
                max_turns: *max_turns,
                optimal_turns: *optimal_turns,
                target_range: *target_range,
            })
        }
        Rule::ConversationFlow { required_patterns, flow_quality_threshold } => {
            Behaviour::ConversationFlow(ConversationFlow::new(required_patterns, *flow_quality_threshold)?)
        }
        Rule::UserSatisfaction { satisfaction_threshold, positive, negative, method } => {
            let words = (positive.as_deref(), negative.as_deref());
            Behaviour::UserSatisfaction(UserSatisfaction::new(*satisfaction_threshold, *method, words)?)
        }
        Rule::ContextRetention { test_memory_of, retention_turns, memory_accuracy_threshold } => {
            let check = ContextRetention::new(test_memory_of, *retention_turns, *memory_accuracy_threshold)?;
            Behaviour::ContextRetention(check)
        }
    };
    Ok(Evaluator {
        kind: check.rule.kind(),
        description: check.description.clone(),
        line: check.line,
        negated: check.negated,
        required: check.required,
        weight: check.weight,
        behaviour,
    })
}

/// A pattern, at most `max_bytes` when compiled.
pub(crate) fn pattern(text: &str, case_sensitive: bool, max_bytes: usize) -> Result<Regex, Error> {
    RegexBuilder::new(text)
        .case_insensitive(!case_sensitive)
        .size_limit(max_bytes)
        .build()
        .map_err(|error| Error::Pattern { message: error.to_string() })
}
