//! The top of a scenario file as it is written: the shape that is decoded and that the JSON Schema describes.
//!
//! Lists of things with a choice (plugins, steps, evaluations) are decoded element by element by their own files.

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
    /// What people call the scenario.
    pub(crate) name: String,
    /// What the scenario tests.
    pub(crate) description: String,
    /// Capabilities that the agent is started with, where it understands them.
    #[serde(default, rename = "plugins")]
    #[schemars(with = "Vec<PluginDocument>")]
    _plugins: Vec<Value>,
    /// Where the scenario runs; `local` unless written.
    #[serde(default, rename = "environment")]
    #[schemars(with = "Option<EnvironmentDocument>")]
    _environment: EnvironmentDocument,
    /// What the trial finds around it.
    #[serde(default, rename = "setup")]
    _setup: SetupDocument,
    /// What happens, step by step.
    #[serde(rename = "run")]
    #[schemars(with = "Vec<StepDocument>")]
    _run: Vec<Value>,
    /// How the findings of all checks become one verdict.
    pub(crate) judgment: JudgmentDocument,
    /// What only gabfest knows.
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
    /// The cloud sandbox of ElizaOS: read, and played as `local`.
    E2b,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Setup")]
pub(crate) struct SetupDocument {
    /// Answers to the tool calls of the agent.
    #[serde(default, rename = "mocks")]
    #[schemars(with = "Vec<MockDocument>")]
    _mocks: Vec<Value>,
    /// Files that the trial finds: path beneath its own root to text.
    #[serde(default, rename = "virtual_fs")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    _virtual_fs: serde_json::Map<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Judgment")]
pub(crate) struct JudgmentDocument {
    /// `all_pass`: every check must pass; `any_pass`: one is enough.
    pub(crate) strategy: Strategy,
}
