//! The top of a scenario file: its shape, which is decoded and which the JSON Schema describes.
//!
//! Lists whose elements have several kinds (plugins, steps, evaluations) are decoded element by element in their own
//! files.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ours::OursDocument,
    setup::{MockDocument, PluginDocument},
    step::StepDocument,
};
use scenario::Strategy;

/// A conversation test in the format of ElizaOS scenarios.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "Scenario")]
pub(crate) struct ScenarioDocument {
    /// The scenario's name.
    pub(crate) name: String,
    /// What the scenario tests.
    pub(crate) description: String,
    /// Plugins with which the agent starts, if it supports plugins.
    #[serde(default, rename = "plugins")]
    #[schemars(with = "Vec<PluginDocument>")]
    _plugins: Vec<Value>,
    /// Where the scenario runs. The default is `local`.
    #[serde(default, rename = "environment")]
    #[schemars(with = "Option<EnvironmentDocument>")]
    _environment: EnvironmentDocument,
    /// The environment of the trial: mocks, files, databases.
    #[serde(default, rename = "setup")]
    _setup: SetupDocument,
    /// The steps.
    #[serde(rename = "run")]
    #[schemars(with = "Vec<StepDocument>")]
    _run: Vec<Value>,
    /// How the results of all checks become one verdict.
    pub(crate) judgment: JudgmentDocument,
    /// Keys that only gabfest knows.
    #[serde(default, rename = "gabfest")]
    #[schemars(with = "Option<OursDocument>")]
    _gabfest: Option<Value>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Environment")]
pub(crate) struct EnvironmentDocument {
    /// The kind of environment.
    #[serde(rename = "type")]
    _kind: EnvironmentKind,
}

/// A place to run in.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EnvironmentKind {
    /// A fresh folder on the worker's machine.
    #[default]
    Local,
    /// The cloud sandbox of ElizaOS. gabfest plays it as `local`, with a warning.
    E2b,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Setup")]
pub(crate) struct SetupDocument {
    /// Answers to the agent's tool calls.
    #[serde(default, rename = "mocks")]
    #[schemars(with = "Vec<MockDocument>")]
    _mocks: Vec<Value>,
    /// Files to create for the trial: maps a path below the trial's root to a text.
    #[serde(default, rename = "virtual_fs")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    _virtual_fs: serde_json::Map<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Judgment")]
pub(crate) struct JudgmentDocument {
    /// `all_pass`: every check must pass. `any_pass`: one is enough.
    pub(crate) strategy: Strategy,
}
