//! A function that is asked about a conversation, and what it must say.

use serde::{Deserialize, Serialize};

use super::Check;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRule {
    /// The name under which the settings may have a model of its own for the function (`models`).
    pub plugin: String,
    pub function: String,
    /// In the order in which they are handed over; each name once.
    pub arguments: Vec<(String, String)>,
    /// Of the result as text; at least one.
    pub checks: Vec<Check>,
}
