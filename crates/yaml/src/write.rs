//! A value as the text of a YAML file.

use serde_json::Value;

/// A value that YAML cannot hold.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WriteError(serde_yaml::Error);

/// The text of a file.
///
/// # Errors
/// YAML cannot hold the value.
pub fn write(value: &Value) -> Result<String, WriteError> {
    serde_yaml::to_string(value).map_err(WriteError)
}
