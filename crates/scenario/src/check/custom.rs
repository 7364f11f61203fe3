//! `custom`: a custom check, which is a program or an HTTP service that `gabfest.yaml` names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yaml::bounded::{Share, Words};

use super::{kind::Kind, place::Place};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Custom {
    /// Its name below `checks` of the worker's settings.
    pub check: String,
    /// Passed to the check unchanged.
    pub config: Value,
    /// The least score that passes.
    pub threshold: Option<f64>,
    pub sees: Vec<Sees>,
}

/// What a check gets in addition to the messages and the tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sees {
    /// How long each turn took. Times differ between two runs of one plan, so the finding can differ too.
    Times,
}

/// A custom check decides: a program or an HTTP service that `checks` of `gabfest.yaml` names. It gets the transcript
/// and its `config`. See docs/custom-checks.md.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Custom")]
pub struct Written {
    /// The name of the check in `gabfest.yaml`.
    check: Words,
    /// Passed to the check unchanged.
    #[serde(default)]
    config: Value,
    /// The minimum score. A check that returns only a score needs it.
    threshold: Option<Share>,
    /// What the check gets in addition to the conversation.
    #[serde(default)]
    sees: Vec<Sees>,
}

impl Kind for Custom {
    type Written = Written;

    fn read(written: Written, _: &mut Place<'_, '_>) -> Option<Self> {
        let Written { check, config, threshold, sees } = written;
        Some(Self { check: check.0, config, threshold: threshold.map(|share| share.0), sees })
    }
}
