//! How the simulated user types: changes to the text after the model has written it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

yaml::bounded! {
    /// The share of letters that are mistyped.
    pub Typos: f64, "number", 0.0 to Some(0.2);
}

/// How the user types. Values of facts, numbers and addresses stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "UserTyping")]
pub struct Typing {
    /// The share of letters that are mistyped, 0 to 0.2. The trial's seed decides which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typos: Option<Typos>,
    /// Capital letters. The default is `as_written`.
    #[serde(skip_serializing_if = "is_usual")]
    pub case: Case,
    /// Punctuation. The default is `as_written`.
    #[serde(skip_serializing_if = "is_usual")]
    pub punctuation: Punctuation,
}

/// What the user does about capital letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// As the model writes them.
    #[default]
    AsWritten,
    /// No capital letters.
    Lower,
    /// Only capital letters.
    Upper,
}

/// What the user does about punctuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Punctuation {
    /// As the model writes it.
    #[default]
    AsWritten,
    /// No commas, semicolons, colons and apostrophes, and no full stop at the end of a line.
    Sparse,
    /// None at all.
    None,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
