//! One check, ready to judge any number of replies.

use record::Judgment;
use scenario::check::RefusalMethod;

use crate::{
    Bench, Subject,
    answer_id::AnswerId,
    any_of::AnyOf,
    call::Call,
    command_exit_code::CommandExitCode,
    contains::Contains,
    context_retention::ContextRetention,
    conversation_flow::ConversationFlow,
    conversation_length::ConversationLength,
    edges::Edges,
    empty,
    execution_time::ExecutionTime,
    files::{FileContains, FileExists},
    json_check::{JsonCheck, JsonPath, JsonSchema},
    language::Language,
    length::Length,
    llm_judge::LlmJudge,
    number::Number,
    outcome::Outcome,
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

/// Made by [`crate::compile()`] once a scenario, shared by all its trials.
#[derive(Debug)]
pub struct Evaluator {
    pub(crate) kind: &'static str,
    pub(crate) description: Option<String>,
    pub(crate) line: u32,
    pub(crate) negated: bool,
    pub(crate) required: bool,
    pub(crate) weight: f64,
    pub(crate) behaviour: Behaviour,
}

#[derive(Debug)]
pub(crate) enum Behaviour {
    StringContains(StringContains),
    Contains(Contains),
    Edges(Edges),
    Empty,
    AnyOf(AnyOf),
    TelephonyEvents(TelephonyEvents),
    RegexMatch(Box<RegexMatch>),
    FileExists(FileExists),
    FileContains(FileContains),
    CommandExitCode(CommandExitCode),
    Trajectory(Trajectory),
    AnswerId(AnswerId),
    ExecutionTime(ExecutionTime),
    ConversationLength(ConversationLength),
    ConversationFlow(ConversationFlow),
    UserSatisfaction(UserSatisfaction),
    ContextRetention(ContextRetention),
    SemanticCondition(SemanticCondition),
    SemanticSimilar(SemanticSimilar),
    Similarity(Similarity),
    Rubric(Box<Rubric>),
    Refusal(Refusal),
    ToolCalls(ToolCalls),
    JsonCheck(JsonCheck),
    JsonSchema(JsonSchema),
    JsonPath(Box<JsonPath>),
    Number(Box<Number>),
    Length(Length),
    Language(Language),
    Latency(Latency),
    Spend(Spend),
    Call(Box<Call>),
    LlmJudge(Box<LlmJudge>),
}

impl Evaluator {
    /// Never fails: what goes wrong is a finding (`error` or `inconclusive`) with its kind of failure.
    pub async fn judge(&self, subject: &Subject<'_>, bench: &dyn Bench) -> Judgment {
        let Outcome { finding, score, reason, evidence, failure } = self.outcome(subject, bench).await;
        Judgment {
            check: self.kind.to_owned(),
            description: self.description.clone(),
            scope: subject.scope,
            finding,
            score,
            reason,
            evidence,
            failure,
            line: self.line,
            required: self.required,
            weight: self.weight,
        }
    }

    /// Whether judging asks a language model, and so costs calls, tokens and time.
    #[must_use]
    pub fn asks_a_model(&self) -> bool {
        match &self.behaviour {
            Behaviour::LlmJudge(_)
            | Behaviour::Call(_)
            | Behaviour::SemanticCondition(_)
            | Behaviour::SemanticSimilar(_)
            | Behaviour::Similarity(_)
            | Behaviour::Rubric(_)
            | Behaviour::ConversationFlow(_)
            | Behaviour::ContextRetention(_) => true,
            Behaviour::UserSatisfaction(check) => check.asks_a_model(),
            Behaviour::AnyOf(check) => check.asks_a_model(),
            Behaviour::Refusal(check) => check.method == RefusalMethod::LlmJudge,
            Behaviour::RegexMatch(check) => check.asks_a_model(),
            Behaviour::JsonCheck(check) => check.asks_a_model(),
            Behaviour::JsonPath(check) => check.asks_a_model(),
            Behaviour::ToolCalls(check) => check.asks_a_model(),
            _ => false,
        }
    }

    /// What was found, after negation: what could not be judged stays so.
    pub(crate) async fn outcome(&self, subject: &Subject<'_>, bench: &dyn Bench) -> Outcome {
        let outcome = self.find(subject, bench).await;
        if self.negated { outcome.negated() } else { outcome }
    }

    async fn find(&self, subject: &Subject<'_>, bench: &dyn Bench) -> Outcome {
        // The cheap ones run for every turn: the large futures of those that ask a model are boxed,
        // so that the others do not carry their size.
        match &self.behaviour {
            Behaviour::StringContains(check) => check.find(subject),
            Behaviour::Contains(check) => check.find(subject),
            Behaviour::Edges(check) => check.find(subject),
            Behaviour::Empty => empty::find(subject),
            Behaviour::AnyOf(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::TelephonyEvents(check) => check.find(subject),
            Behaviour::RegexMatch(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::FileExists(check) => check.find(subject).await,
            Behaviour::FileContains(check) => check.find(subject).await,
            Behaviour::CommandExitCode(check) => check.find(subject).await,
            Behaviour::Trajectory(check) => check.find(subject),
            Behaviour::AnswerId(check) => check.find(subject),
            Behaviour::ExecutionTime(check) => check.find(subject),
            Behaviour::ConversationLength(check) => check.find(subject),
            Behaviour::ConversationFlow(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::UserSatisfaction(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::ContextRetention(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::SemanticCondition(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::SemanticSimilar(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::Similarity(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::Rubric(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::Refusal(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::ToolCalls(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::JsonCheck(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::JsonPath(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::JsonSchema(check) => check.find(subject),
            Behaviour::Number(check) => check.find(subject),
            Behaviour::Length(check) => check.find(subject),
            Behaviour::Language(check) => check.find(subject),
            Behaviour::Latency(check) => check.find(subject),
            Behaviour::Spend(check) => check.find(subject),
            Behaviour::Call(check) => Box::pin(check.find(subject, bench)).await,
            Behaviour::LlmJudge(check) => Box::pin(check.find(subject, bench)).await,
        }
    }
}
