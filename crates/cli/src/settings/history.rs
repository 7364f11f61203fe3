//! `history` of the settings.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::ledger::HALF_LIFE;

use crate::{diagnostics, exit::usage};

/// What is concluded from the history of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    /// After so many nights, the evidence of a night counts half in the flake ledger and in the warnings about quarantined cases (7).
    #[schemars(range(min = 0.1, max = 10_000.0))]
    pub(crate) half_life: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { half_life: HALF_LIFE }
    }
}

impl Settings {
    /// The key at fault, and why.
    pub(crate) fn fault(&self) -> Option<(&'static str, String)> {
        let nights = self.half_life;
        (!is_half_life(nights)).then(|| ("half_life", format!("is {nights}, and must be from 0.1 to 10000 nights")))
    }
}

/// The half-life that the settings file has, for commands that need nothing else of it: the one who looks at the history may lack the
/// variables that a run needs.
pub(crate) fn half_life(file: Option<&Path>) -> anyhow::Result<f64> {
    let Some(path) = file else { return Ok(HALF_LIFE) };
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {shown}")).map_err(usage)?;
    let document = match super::open(&text, &shown) {
        Ok(document) => document,
        Err(diagnostic) => {
            diagnostics::print(&[diagnostic]);
            return Err(usage(anyhow!("{shown} cannot be read")));
        }
    };
    match &document.value["history"]["half_life"] {
        serde_json::Value::Null => Ok(HALF_LIFE),
        written => written.as_f64().filter(|nights| is_half_life(*nights)).ok_or_else(|| {
            usage(anyhow!("{shown}: history.half_life is {written}, and must be from 0.1 to 10000 nights"))
        }),
    }
}

/// Whether the evidence of a night may count half after so many nights.
pub(crate) fn is_half_life(nights: f64) -> bool {
    (0.1..=10_000.0).contains(&nights)
}
