//! Values of a CSV file: text, unless `types` says otherwise.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ColumnType {
    /// Text as it is written.
    Text,
    /// A number such as `3` or `0.5`.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A JSON value, such as a list.
    Json,
}

impl ColumnType {
    /// `None`: the text is not of this type. An empty text counts as no value.
    pub(super) fn read(self, text: &str) -> Option<Value> {
        let trimmed = text.trim();
        if trimmed.is_empty() && self != Self::Text {
            return Some(Value::Null);
        }
        match self {
            Self::Text => Some(Value::from(text)),
            Self::Number => serde_json::from_str(trimmed).ok().filter(Value::is_number),
            Self::Boolean => match trimmed.to_lowercase().as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::Json => serde_json::from_str(trimmed).ok(),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a number",
            Self::Boolean => "`true` or `false`",
            Self::Json => "JSON",
        }
    }
}
