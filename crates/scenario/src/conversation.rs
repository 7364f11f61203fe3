//! A conversation with a simulated user: who they are, their goal, and when it ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Check, user::Extras};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The user's first message; the simulator writes from the second turn on.
    pub opening_line: String,
    /// 2 to 20, as ElizaOS writes it. [`Conversation::most_turns`] is the effective limit.
    pub max_turns: u32,
    pub turn_timeout_ms: u64,
    pub total_timeout_ms: u64,
    pub simulator: Simulator,
    /// Asked in this order after each turn; the first condition that holds ends the conversation.
    pub stops: Vec<Stop>,
    /// Evaluations after each reply of the agent.
    pub turn_checks: Vec<Check>,
    /// Evaluations at the end of the conversation.
    pub final_checks: Vec<Check>,
    pub debug: DebugOptions,
}

impl Conversation {
    /// The maximum number of exchanges: gabfest's own key, else ElizaOS's.
    #[must_use]
    pub fn most_turns(&self) -> u32 {
        self.simulator.extras.max_turns.map_or(self.max_turns, |most| most.0)
    }
}

/// Who the simulated user is and how its messages are generated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulator {
    /// A model type such as `TEXT_LARGE`, mapped to an endpoint by `gabfest.yaml`.
    pub model_type: String,
    pub temperature: f64,
    pub max_tokens: u32,
    pub persona: String,
    pub objective: String,
    pub style: Option<String>,
    pub constraints: Vec<String>,
    pub emotional_state: Option<String>,
    pub knowledge_level: KnowledgeLevel,
    /// Keys that exist only in gabfest.
    #[serde(default, rename = "gabfest", skip_serializing_if = "Extras::is_empty")]
    pub extras: Extras,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnowledgeLevel {
    Beginner,
    #[default]
    Intermediate,
    Expert,
}

impl KnowledgeLevel {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Beginner => "beginner",
            Self::Intermediate => "intermediate",
            Self::Expert => "expert",
        }
    }
}

/// A condition that ends a conversation before its last turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    pub condition: Condition,
    pub description: Option<String>,
    /// `None`: the condition's own list.
    pub keywords: Option<Vec<String>>,
    pub judge: Option<StopJudge>,
    /// The name of an HTTP hook of `gabfest.yaml` that decides.
    pub hook: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopJudge {
    pub prompt: String,
    /// 0 to 1: how sure the judge must be.
    pub threshold: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    MaxTurnsReached,
    UserExpressesSatisfaction,
    AgentProvidesSolution,
    ConversationStuck,
    EscalationNeeded,
    GoalAchieved,
    CustomCondition,
}

impl Condition {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxTurnsReached => "max_turns_reached",
            Self::UserExpressesSatisfaction => "user_expresses_satisfaction",
            Self::AgentProvidesSolution => "agent_provides_solution",
            Self::ConversationStuck => "conversation_stuck",
            Self::EscalationNeeded => "escalation_needed",
            Self::GoalAchieved => "goal_achieved",
            Self::CustomCondition => "custom_condition",
        }
    }
}

/// What is kept with the conversation for its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugOptions {
    /// Keep each prompt and raw answer of the simulator.
    pub log_user_simulation: bool,
    /// Keep the result of each termination condition.
    pub log_turn_decisions: bool,
    /// Keep the whole transcript; otherwise only failing trials are kept in full.
    pub export_full_transcript: bool,
}

impl Default for DebugOptions {
    fn default() -> Self {
        Self { log_user_simulation: false, log_turn_decisions: false, export_full_transcript: true }
    }
}
