//! The one place where a check becomes behaviour: patterns and schemas are built here, once.

use std::fmt;

use regex::{Regex, RegexBuilder};
use scenario::{Check, check::Rule};

use crate::{
    Evaluator,
    answer_id::AnswerId,
    any_of::AnyOf,
    call::Call,
    command_exit_code::CommandExitCode,
    contains::Contains,
    context_retention::ContextRetention,
    conversation_flow::ConversationFlow,
    conversation_length::ConversationLength,
    edges::Edges,
    evaluator::Behaviour,
    execution_time::ExecutionTime,
    files::{FileContains, FileExists},
    json_check::{JsonCheck, JsonPath, JsonSchema},
    language::Language,
    length::Length,
    llm_judge::LlmJudge,
    needle::Place,
    number::Number,
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
    #[error("read `{field}`: {message}")]
    Invalid { field: &'static str, message: String },
    #[error("find the language `{code}`")]
    Language { code: String },
}

impl Error {
    /// What whoever wrote the check may do.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Pattern { .. } => {
                "patterns run in linear time, so there is no look-around and there are no backreferences"
            }
            Self::Schema { .. } => "a JSON Schema of any draft from 4 on, without references to other documents",
            Self::TooLong { .. } => "let capitals count, or look for a shorter text",
            Self::Empty { .. } => "write what it must be; a check that nothing can fail would always pass",
            Self::Group { .. } => "a group is named so: `(?<name>…)`",
            Self::NotAboutText { .. } => {
                "within another one stand `equals`, `contains`, `regex_match`, `number` and the like"
            }
            Self::Invalid { .. } => "docs/evaluators.md shows what may be written",
            Self::Language { .. } => "an ISO 639 code of one of about seventy languages, such as `en`, `de` or `jpn`",
        }
    }
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
        Rule::AnswerId { id } => Behaviour::AnswerId(AnswerId { id: *id }),
        Rule::AnyOf { checks } => Behaviour::AnyOf(AnyOf::new(checks)?),
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
        Rule::Similarity { expected, threshold } => Behaviour::Similarity(Similarity::new(expected, *threshold)?),
        Rule::Rubric(rule) => Behaviour::Rubric(Box::new(Rubric::new(rule)?)),
        Rule::Refusal { method } => Behaviour::Refusal(Refusal { method: *method }),
        Rule::TelephonyEvents { expected } => {
            Behaviour::TelephonyEvents(TelephonyEvents { expected: expected.clone() })
        }
        Rule::ToolCalls(rule) => Behaviour::ToolCalls(ToolCalls::new(rule)?),
        Rule::JsonCheck { fields } => Behaviour::JsonCheck(JsonCheck::new(fields)?),
        Rule::JsonSchema { schema } => Behaviour::JsonSchema(JsonSchema::new(schema)?),
        Rule::JsonPath { path, checks } => Behaviour::JsonPath(Box::new(JsonPath::new(path, checks)?)),
        Rule::Number { min, max, path } => Behaviour::Number(Box::new(Number::new(*min, *max, path.as_deref())?)),
        Rule::Length { unit, min, max } => Behaviour::Length(Length::new(*unit, *min, *max)?),
        Rule::Language { code } => Behaviour::Language(Language::new(code)?),
        Rule::Latency { max_total_ms, max_ttft_ms } => Behaviour::Latency(Latency::new(*max_total_ms, *max_ttft_ms)?),
        Rule::Spend { max_usd, max_tokens } => Behaviour::Spend(Spend::new(*max_usd, *max_tokens)?),
        Rule::Call(rule) => Behaviour::Call(Box::new(Call::new(rule)?)),
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

/// One end must be there, and the range must hold something.
pub(crate) fn range<N: PartialOrd + fmt::Display>(
    field: &'static str,
    min: Option<N>,
    max: Option<N>,
) -> Result<(), Error> {
    match (min, max) {
        (None, None) => Err(Error::Empty { field }),
        (Some(min), Some(max)) if min > max => {
            Err(Error::Invalid { field, message: format!("{min} is more than the most allowed, {max}") })
        }
        // Of numbers that cannot be compared: not a number.
        (Some(min), _) if min.partial_cmp(&min).is_none() => {
            Err(Error::Invalid { field, message: "it is not a number".to_owned() })
        }
        (_, Some(max)) if max.partial_cmp(&max).is_none() => {
            Err(Error::Invalid { field, message: "the most allowed is not a number".to_owned() })
        }
        _ => Ok(()),
    }
}

/// For a reason.
pub(crate) fn shown_range<N: fmt::Display>(min: Option<N>, max: Option<N>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any".to_owned(),
    }
}

/// A pattern, at most `max_bytes` when compiled.
pub(crate) fn pattern(text: &str, case_sensitive: bool, max_bytes: usize) -> Result<Regex, Error> {
    RegexBuilder::new(text)
        .case_insensitive(!case_sensitive)
        .size_limit(max_bytes)
        .build()
        .map_err(|error| Error::Pattern { message: error.to_string() })
}
