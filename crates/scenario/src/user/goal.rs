//! The parts of a simulated user's goal, and the proof that one is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yaml::bounded::{Words, some_words, words};

use super::CalledTool;

/// One part of the goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GoalPart")]
pub struct Part {
    /// The part's name, unique in the goal.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub id: String,
    /// The user's wish, described for the simulator.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub text: String,
    /// Parts that come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// What shows that the part is done. Only the evaluation `goal_reached` uses it, and the user never sees it. Without it,
    /// a judge decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_when: Option<DoneWhen>,
}

/// What shows that a part of the goal is done: exactly one of `tool`, `said` and `ask`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DoneWhen {
    /// The agent calls this tool.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub tool: Option<String>,
    /// Arguments that the call of `tool` has. It may have others.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The agent says this. Capitals and white space do not count.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub said: Option<String>,
    /// A judge answers this question about the conversation with yes.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub ask: Option<String>,
}

impl Part {
    /// The whole objective as one part, for a user without parts.
    #[must_use]
    pub fn of_objective(objective: &str) -> Self {
        Self { id: "objective".to_owned(), text: objective.to_owned(), after: Vec::new(), done_when: None }
    }

    /// Whether a judge decides that it is done.
    #[must_use]
    pub fn asks_judge(&self) -> bool {
        self.done_when.as_ref().is_none_or(|when| when.ask.is_some())
    }
}

impl DoneWhen {
    /// The call that shows it, if a call does.
    #[must_use]
    pub fn called(&self) -> Option<CalledTool<'_>> {
        Some(CalledTool { tool: self.tool.as_deref()?, arguments: &self.arguments })
    }

    /// Why it is invalid, if it is.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        let written = [&self.tool, &self.said, &self.ask].into_iter().filter(|key| key.is_some()).count();
        match written {
            1 if self.tool.is_none() && !self.arguments.is_empty() => Some("`arguments` belongs to `tool`"),
            1 => None,
            _ => Some("expected exactly one of `tool`, `said` and `ask`"),
        }
    }
}
