//! What a reply, a step or a conversation must satisfy, as data. `evaluate` implements it.
//!
//! One file for each kind of check: its fields, how a scenario file writes them, and its questions to models.
//! [`rule`](Rule) lists the kinds.

mod answer_id;
mod any_of;
mod call;
mod command_exit_code_is;
mod contains;
mod context_retention;
mod conversation_flow;
mod conversation_length;
mod custom;
mod described;
mod empty;
mod ends_with;
mod equals;
mod execution_time;
mod file_contains;
mod file_exists;
mod goal_reached;
mod http_state;
mod json_check;
mod json_path;
mod json_schema;
mod judging;
mod kind;
mod language;
mod latency;
mod length;
mod llm_judge;
mod mock_state;
mod no_repeated_reply;
mod number;
mod place;
mod question;
mod refusal;
mod regex_match;
mod rubric;
mod rule;
mod semantic_condition;
mod semantic_similar;
mod shared_keys;
mod similarity;
mod spend;
mod sql_state;
mod starts_with;
mod string_contains;
mod telephony_events;
mod tool_calls;
mod trajectory_contains_action;
mod user_satisfaction;
pub mod wording;

use serde::{Deserialize, Serialize};
pub use yaml::bounded;

pub use self::{
    answer_id::AnswerId,
    any_of::AnyOf,
    call::CallRule,
    command_exit_code_is::CommandExitCodeIs,
    contains::Contains,
    context_retention::ContextRetention,
    conversation_flow::{ConversationFlow, FlowPattern},
    conversation_length::ConversationLength,
    custom::{Custom, Sees},
    empty::Empty,
    ends_with::EndsWith,
    equals::Equals,
    execution_time::ExecutionTime,
    file_contains::FileContains,
    file_exists::FileExists,
    goal_reached::{GoalReached, WantedParts},
    http_state::HttpState,
    json_check::JsonCheck,
    json_path::JsonPath,
    json_schema::JsonSchema,
    judging::{Evidence, JudgeForm, JudgeSees, Judging, MOST_POLICY_BYTES, Policy, USUAL_JUDGING},
    kind::Kind,
    language::Language,
    latency::Latency,
    length::{Length, LengthUnit},
    llm_judge::{Expected, JudgeRule},
    mock_state::MockState,
    no_repeated_reply::NoRepeatedReply,
    number::Number,
    place::Place,
    question::{Asked, Measure, Question},
    refusal::{Refusal, RefusalMethod},
    regex_match::RegexMatch,
    rubric::{Criterion, RubricRule},
    rule::{Evaluation, KINDS, Rule, read_all},
    semantic_condition::SemanticCondition,
    semantic_similar::SemanticSimilar,
    shared_keys::refuse_turn,
    similarity::Similarity,
    spend::Spend,
    sql_state::SqlState,
    starts_with::StartsWith,
    string_contains::StringContains,
    telephony_events::TelephonyEvents,
    tool_calls::{ArgumentRule, CallBy, CallOrder, CallPick, ExpectedCall, ToolCallsRule},
    trajectory_contains_action::TrajectoryContainsAction,
    user_satisfaction::{SatisfactionMethod, UserSatisfaction},
};

/// One check of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The metric to which its findings belong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The only turn of a conversation that it judges, from 1; `None`: each turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_turn: Option<u32>,
    pub description: Option<String>,
    pub rule: Rule,
    /// 1-based line in the source; 0: unknown.
    pub line: u32,
    /// Swaps pass and fail.
    #[serde(default)]
    pub negated: bool,
    /// Its weight among the checks of the trial, in a scenario with a required score.
    #[serde(default = "one")]
    pub weight: f64,
    /// `false`: the check informs. gabfest judges and shows it, but it does not affect the verdict.
    #[serde(default = "yes")]
    pub required: bool,
    /// How its judge is asked, if it asks one.
    #[serde(default, skip_serializing_if = "Judging::is_usual")]
    pub judging: Judging,
}

impl Check {
    /// A required check of weight 1.
    #[must_use]
    pub fn new(rule: Rule, line: u32) -> Self {
        Self {
            name: None,
            at_turn: None,
            description: None,
            rule,
            line,
            negated: false,
            weight: 1.0,
            required: true,
            judging: Judging::USUAL,
        }
    }

    /// Its questions to models each time it judges, including inner checks and all votes; empty if it asks none.
    #[must_use]
    pub fn questions(&self) -> Vec<Question<'_>> {
        self.judging.multiplied(self.rule.questions())
    }

    /// The same check with pass and fail swapped.
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
