//! `goal_reached`: the simulated user got what it wanted.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{kind::Kind, place::Place, question::Question};
use crate::user::Part;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GoalReached {
    #[serde(default, skip_serializing_if = "WantedParts::is_all")]
    pub parts: WantedParts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_type: Option<String>,
    /// The goal of the conversation's user, filled in after its persona; empty if there is no simulated user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal: Vec<Part>,
}

/// The parts of the goal that must be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WantedParts {
    #[default]
    All,
    /// Those with these ids.
    Ids(Vec<String>),
}

/// The simulated user got what it wanted. Each part of the goal is decided by its `done_when`, else by a judge, never by the
/// user's word. Without parts, a judge decides about the objective.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "GoalReached")]
pub struct Written {
    /// The ids of the parts that must be done, or `all`.
    #[serde(default)]
    parts: WantedParts,
    /// The model type of the judge.
    model_type: Option<String>,
}

impl GoalReached {
    /// The parts that must be done.
    pub fn wanted(&self) -> impl Iterator<Item = &Part> {
        self.goal.iter().filter(|part| match &self.parts {
            WantedParts::All => true,
            WantedParts::Ids(ids) => ids.contains(&part.id),
        })
    }

    /// An id that is no part of the goal.
    #[must_use]
    pub fn unknown(&self) -> Option<&str> {
        let WantedParts::Ids(ids) = &self.parts else { return None };
        ids.iter().find(|id| !self.goal.iter().any(|part| part.id == **id)).map(String::as_str)
    }
}

impl Kind for GoalReached {
    type Written = Written;
    const ASKS_JUDGE: bool = true;
    const SHOWS_MATERIAL: bool = true;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        if written.parts == WantedParts::Ids(Vec::new()) {
            place.error("parts", "`parts` is empty, so there is nothing to judge");
        }
        Some(Self { parts: written.parts, model_type: written.model_type, goal: Vec::new() })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let asked = self.wanted().filter(|part| part.asks_judge()).count() as u64;
        let judge = Question::judge_of_type(self.model_type.as_deref(), asked);
        Some(judge).filter(|_| asked > 0).into_iter().collect()
    }
}

impl WantedParts {
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

impl Serialize for WantedParts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::Ids(ids) => ids.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WantedParts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Word(String),
            Ids(Vec<String>),
        }
        match Form::deserialize(deserializer) {
            Ok(Form::Word(word)) if word == "all" => Ok(Self::All),
            Ok(Form::Ids(ids)) => Ok(Self::Ids(ids)),
            _ => Err(D::Error::custom("expected `all`, or a list of ids of parts of the goal")),
        }
    }
}

impl JsonSchema for WantedParts {
    fn schema_name() -> Cow<'static, str> {
        "WantedParts".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "const": "all" },
            { "type": "array", "items": { "type": "string" }, "minItems": 1 },
        ] })
    }
}
