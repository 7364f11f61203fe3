//! Why a conversation with a simulated user ended.

use serde::{Deserialize, Serialize};

/// Who ended a conversation, how, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    pub who: Stopper,
    /// A [`Signal`]'s name, or the name of a termination condition.
    pub signal: String,
    /// The last turn of the conversation, from 1 over the whole trial.
    pub turn: u32,
}

/// Who ended a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopper {
    /// The user's model gave a signal.
    User,
    /// The user's patience or its states, which need no model.
    Script,
    /// A termination condition.
    Condition,
    /// The number of turns was used up.
    Limit,
}

impl Stopper {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Script => "script",
            Self::Condition => "condition",
            Self::Limit => "limit",
        }
    }
}

/// How a simulated user ends the talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// It has what it wanted.
    Done,
    /// It no longer believes that it gets it.
    GaveUp,
    /// The agent passed it on.
    HandedOver,
    /// The agent needs something that the scenario does not give.
    OutOfScope,
}

impl Signal {
    pub const ALL: [Self; 4] = [Self::Done, Self::GaveUp, Self::HandedOver, Self::OutOfScope];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::GaveUp => "gave_up",
            Self::HandedOver => "handed_over",
            Self::OutOfScope => "out_of_scope",
        }
    }

    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }
}
