//! The states of a simulated user: its action in each, and the exits to others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yaml::bounded::{Words, some_words, words};

use super::{CalledTool, SomeTurns};

/// What the user does in one state: `say`, `verbatim` or `end`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "UserState")]
pub struct State {
    /// An instruction for the user's model, such as `ask for the refund`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub say: Option<String>,
    /// A fixed line of the user. No model is asked.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub verbatim: Option<String>,
    /// How the user feels now. The default is `emotional_state`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub mood: Option<String>,
    /// How many lines the user says in this state at most. Then it gives up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_visits: Option<SomeTurns>,
    /// Where the agent's answer leads. Without an exit that applies, the user stays in this state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Exit>,
    /// The talk ends here: at once, or after the answer to the words of this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<StateEnd>,
}

/// How a state ends the talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateEnd {
    /// The user has what it wanted.
    Done,
    /// The user gives up.
    GaveUp,
    /// The agent passed the user on.
    HandedOver,
}

/// A way to another state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StateExit")]
pub struct Exit {
    /// When the user takes it. Without `if`, the user takes it if no other exit applies.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The name of the next state.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub go: String,
}

/// When the user goes to another state. All keys that are written must hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "StateCondition")]
pub struct When {
    /// A regular expression that matches in the agent's last answer.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub agent_matches: Option<String>,
    /// The agent has called this tool since the user came to this state.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub tool: Option<String>,
    /// Arguments that the call of `tool` has. It may have others.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The agent has answered so often since the user came to this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_turns: Option<SomeTurns>,
    /// The user has told this fact.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub fact_told: Option<String>,
    /// A judge answers this question about the conversation with yes. The judge is asked only if everything else holds.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub ask: Option<String>,
}

impl State {
    /// Whether the user says something in it.
    #[must_use]
    pub fn speaks(&self) -> bool {
        self.say.is_some() || self.verbatim.is_some()
    }

    /// Whether the user can end the conversation in it.
    #[must_use]
    pub fn can_end(&self) -> bool {
        self.end.is_some() || self.max_visits.is_some()
    }

    /// How many questions to a judge one answer of the agent can lead to.
    #[must_use]
    pub fn questions(&self) -> usize {
        self.next.iter().filter(|exit| exit.when.as_ref().is_some_and(|when| when.ask.is_some())).count()
    }
}

impl When {
    /// The call that it waits for, if it waits for one.
    #[must_use]
    pub fn called(&self) -> Option<CalledTool<'_>> {
        Some(CalledTool { tool: self.tool.as_deref()?, arguments: &self.arguments })
    }
}
