//! What a run was made of, by digest: two runs can be compared where these agree.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Digests of scenarios, personas and endpoints: 16 hex digits of SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Contents {
    /// By [`scenario_key`].
    #[serde(default)]
    pub scenarios: BTreeMap<String, ScenarioContent>,
    /// By name.
    #[serde(default)]
    pub personas: BTreeMap<String, String>,
    /// By name, without addresses and keys: kind, model, parameters and price. The mock model has none.
    #[serde(default)]
    pub endpoints: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioContent {
    /// Of its document and its data set, before any axis is applied.
    pub digest: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// `refund.scenario.yaml/refund`: stable wherever the folder of the scenarios is.
#[must_use]
pub fn scenario_key(source: &str, scenario: &str) -> String {
    let file = source.rsplit('/').next().unwrap_or(source);
    format!("{file}/{scenario}")
}
