//! The one place where a check becomes behaviour. Patterns and schemas compile here, once.

use scenario::{Check, check::Rule};

use crate::{
    answer_id::AnswerId,
    any_of::AnyOf,
    call::Call,
    command_exit_code_is::CommandExitCodeIs,
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
    trajectory_contains_action::TrajectoryContainsAction,
    user_satisfaction::UserSatisfaction,
};

/// Makes an evaluator of a check.
///
/// # Errors
/// A pattern or JSON Schema of the check does not compile or is too large, or a list that it needs is empty.
pub fn compile(check: &Check) -> Result<Evaluator, Error> {
    let behaviour: Box<dyn Behaviour> = match &check.rule {
        Rule::StringContains(rule) => Box::new(StringContains::new(rule)?),
        Rule::Contains(rule) => Box::new(Contains::new(rule)?),
        Rule::StartsWith(rule) => Box::new(Edges::new(Place::Start, &rule.values, rule.ignore_case)?),
        Rule::EndsWith(rule) => Box::new(Edges::new(Place::End, &rule.values, rule.ignore_case)?),
        Rule::Equals(rule) => Box::new(Edges::new(Place::Whole, &rule.values, rule.ignore_case)?),
        Rule::Empty(_) => Box::new(Empty),
        Rule::AnyOf(rule) => Box::new(AnyOf::new(rule, compile)?),
        Rule::RegexMatch(rule) => Box::new(RegexMatch::new(rule, compile)?),
        Rule::Length(rule) => Box::new(Length::new(rule)?),
        Rule::Number(rule) => Box::new(Number::new(rule)?),
        Rule::Language(rule) => Box::new(Language::new(rule)?),
        Rule::Refusal(rule) => Box::new(Refusal::new(rule)),
        Rule::JsonCheck(rule) => Box::new(JsonCheck::new(rule, compile)?),
        Rule::JsonPath(rule) => Box::new(JsonPath::new(rule, compile)?),
        Rule::JsonSchema(rule) => Box::new(JsonSchema::new(rule)?),
        Rule::ToolCalls(rule) => Box::new(ToolCalls::new(rule, compile)?),
        Rule::TrajectoryContainsAction(rule) => Box::new(TrajectoryContainsAction::new(rule)),
        Rule::TelephonyEvents(rule) => Box::new(TelephonyEvents::new(rule)),
        Rule::Call(rule) => Box::new(Call::new(rule, compile)?),
        Rule::AnswerId(rule) => Box::new(AnswerId::new(rule)),
        Rule::SemanticCondition(rule) => Box::new(SemanticCondition::new(rule)?),
        Rule::SemanticSimilar(rule) => Box::new(SemanticSimilar::new(rule)?),
        Rule::Similarity(rule) => Box::new(Similarity::new(rule)?),
        Rule::LlmJudge(rule) => Box::new(LlmJudge::new(rule)?),
        Rule::Rubric(rule) => Box::new(Rubric::new(rule)?),
        Rule::ExecutionTime(rule) => Box::new(ExecutionTime::new(rule)),
        Rule::Latency(rule) => Box::new(Latency::new(rule)?),
        Rule::Spend(rule) => Box::new(Spend::new(rule)?),
        Rule::ConversationLength(rule) => Box::new(ConversationLength::new(rule)),
        Rule::ConversationFlow(rule) => Box::new(ConversationFlow::new(rule)?),
        Rule::UserSatisfaction(rule) => Box::new(UserSatisfaction::new(rule)?),
        Rule::ContextRetention(rule) => Box::new(ContextRetention::new(rule)?),
        Rule::FileExists(rule) => Box::new(FileExists::new(rule)),
        Rule::FileContains(rule) => Box::new(FileContains::new(rule)),
        Rule::CommandExitCodeIs(rule) => Box::new(CommandExitCodeIs::new(rule)),
    };
    Ok(Evaluator::new(check, behaviour))
}
