//! What a language model is asked about the agent's work, and what it should find.

use serde::{Deserialize, Serialize};

/// A question to a language model about the agent's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeRule {
    pub prompt: String,
    pub expected: Expected,
    pub model_type: Option<String>,
    pub temperature: Option<f64>,
    /// A JSON Schema that the judge's reply must satisfy.
    pub json_schema: Option<serde_json::Value>,
    /// What the reply must show, each judged by itself; empty: none asked for.
    pub capabilities: Vec<String>,
}

/// What the judge should find.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    Yes,
    No,
    /// `0.8+`: confidence at least this.
    AtLeast(f64),
    /// `0.3-`: confidence at most this.
    AtMost(f64),
    /// `0.4-0.6`: confidence within, both ends included.
    Between(f64, f64),
    /// Any other word: the judgment must contain it.
    Says(String),
}
