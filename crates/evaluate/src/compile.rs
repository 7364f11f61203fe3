//! The one place where a check becomes behaviour. Patterns and schemas compile here, once.

use scenario::{Check, check::Rule};

use crate::{
    answer_id::AnswerId,
    any_of::AnyOf,
    call::Call,
    command_exit_code::CommandExitCode,
    contains::Contains,
    context_retention::ContextRetention,
    conversation_flow::ConversationFlow,
    conversation_length::ConversationLength,
    edges::Edges,
    empty::Empty,
    error::Error,
    evaluator::{Behaviour, Evaluator},
    execution_time::ExecutionTime,
    files::{FileContains, FileExists},
    json_check::{JsonCheck, JsonPath},
    json_schema::JsonSchema,
    language::Language,
    length::Length,
    llm_judge::LlmJudge,
    number::Number,
    place::Place,
    refusal::Refusal,
    regex_match::RegexMatch,
    rubric::Rubric,
    semantic::{SemanticCondition, SemanticSimilar},
    similarity::Similarity,
    spending::{Latency, Spend},
    string_contains::StringContains,
    telephony_events::TelephonyEvents,
    tool_calls::ToolCalls,
    trajectory::Trajectory,
    user_satisfaction::UserSatisfaction,
};

/// Makes an evaluator of a check.
///
/// # Errors
/// A pattern or JSON Schema of the check does not compile or is too large, or a list that it needs is empty.
pub fn compile(check: &Check) -> Result<Evaluator, Error> {
    let behaviour: Box<dyn Behaviour> = match &check.rule {
        Rule::StringContains { value, case_sensitive } => Box::new(StringContains::new(value, *case_sensitive)?),
        Rule::Contains { values, any, ignore_case } => Box::new(Contains::new(values, *any, *ignore_case)?),
        Rule::StartsWith { values, ignore_case } => Box::new(Edges::new(values, Place::Start, *ignore_case)?),
        Rule::EndsWith { values, ignore_case } => Box::new(Edges::new(values, Place::End, *ignore_case)?),
        Rule::Equals { values, ignore_case } => Box::new(Edges::new(values, Place::Whole, *ignore_case)?),
        Rule::Empty => Box::new(Empty),
        Rule::AnswerId { id } => Box::new(AnswerId { id: *id }),
        Rule::AnyOf { checks } => Box::new(AnyOf::new(checks, compile)?),
        Rule::RegexMatch { pattern, case_sensitive, captures } => {
            Box::new(RegexMatch::new(pattern, *case_sensitive, captures, compile)?)
        }
        Rule::FileExists { path } => Box::new(FileExists { path: path.clone() }),
        Rule::FileContains { path, value } => Box::new(FileContains { path: path.clone(), value: value.clone() }),
        Rule::CommandExitCodeIs { command, expected_code } => {
            Box::new(CommandExitCode { command: command.clone(), expected_code: *expected_code })
        }
        Rule::TrajectoryContainsAction { action } => Box::new(Trajectory { action: action.clone() }),
        Rule::SemanticCondition { condition } => Box::new(SemanticCondition::new(condition)?),
        Rule::SemanticSimilar { expected, threshold } => Box::new(SemanticSimilar::new(expected, *threshold)?),
        Rule::Similarity { expected, threshold } => Box::new(Similarity::new(expected, *threshold)?),
        Rule::Rubric(rule) => Box::new(Rubric::new(rule)?),
        Rule::Refusal { method } => Box::new(Refusal { method: *method }),
        Rule::TelephonyEvents { expected } => Box::new(TelephonyEvents { expected: expected.clone() }),
        Rule::ToolCalls(rule) => Box::new(ToolCalls::new(rule, compile)?),
        Rule::JsonCheck { fields } => Box::new(JsonCheck::new(fields, compile)?),
        Rule::JsonSchema { schema } => Box::new(JsonSchema::new(schema)?),
        Rule::JsonPath { path, checks } => Box::new(JsonPath::new(path, checks, compile)?),
        Rule::Number { min, max, path } => Box::new(Number::new(*min, *max, path.as_deref())?),
        Rule::Length { unit, min, max } => Box::new(Length::new(*unit, *min, *max)?),
        Rule::Language { code } => Box::new(Language::new(code)?),
        Rule::Latency { max_total_ms, max_ttft_ms } => Box::new(Latency::new(*max_total_ms, *max_ttft_ms)?),
        Rule::Spend { max_usd, max_tokens } => Box::new(Spend::new(*max_usd, *max_tokens)?),
        Rule::Call(rule) => Box::new(Call::new(rule, compile)?),
        Rule::LlmJudge(rule) => Box::new(LlmJudge::new(rule)?),
        Rule::ExecutionTime { max_duration_ms, min_duration_ms, target_duration_ms } => Box::new(ExecutionTime {
            max_ms: *max_duration_ms,
            min_ms: *min_duration_ms,
            target_ms: *target_duration_ms,
        }),
        Rule::ConversationLength { min_turns, max_turns, optimal_turns, target_range } => {
            Box::new(ConversationLength {
                min_turns: *min_turns,
                max_turns: *max_turns,
                optimal_turns: *optimal_turns,
                target_range: *target_range,
            })
        }
        Rule::ConversationFlow { required_patterns, flow_quality_threshold } => {
            Box::new(ConversationFlow::new(required_patterns, *flow_quality_threshold)?)
        }
        Rule::UserSatisfaction { satisfaction_threshold, positive, negative, method } => {
            let words = (positive.as_deref(), negative.as_deref());
            Box::new(UserSatisfaction::new(*satisfaction_threshold, *method, words)?)
        }
        Rule::ContextRetention { test_memory_of, retention_turns, memory_accuracy_threshold } => {
            Box::new(ContextRetention::new(test_memory_of, *retention_turns, *memory_accuracy_threshold)?)
        }
    };
    Ok(Evaluator::new(check, behaviour))
}
