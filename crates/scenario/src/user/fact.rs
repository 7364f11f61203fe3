//! A fact that the simulated user knows, and when it tells it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, all_words, words};

/// A fact that the user knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserFact")]
pub struct Fact {
    /// The value as the user says it. Write numbers in quotation marks.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub value: String,
    /// When the user tells it.
    #[serde(default)]
    pub tell: Tell,
    /// Words by which the agent asks for it, such as `order number`. The default is the fact's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "all_words")]
    #[schemars(with = "Vec<Words>")]
    pub asked_by: Vec<String>,
}

/// When the user tells a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tell {
    /// When the agent asks for it.
    #[default]
    Asked,
    /// Early, without being asked.
    First,
    /// Never, even if the agent asks.
    Never,
}

impl Tell {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::First => "first",
            Self::Never => "never",
        }
    }
}

impl Fact {
    /// The words that mean that the agent asks for it.
    pub fn asked_by<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.asked_by.is_empty().then_some(name);
        self.asked_by.iter().map(String::as_str).chain(own)
    }
}
