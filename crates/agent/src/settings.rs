//! An agent as `gabfest.yaml` describes it, and the making of it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Agent, model::ModelAgent};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    #[serde(default)]
    pub kind: Kind,
    /// The endpoint behind which the agent listens; an agent of kind `mock` needs none.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// A system prompt that stands before every conversation.
    #[serde(default)]
    pub system: Option<String>,
    /// Tools that the agent is offered, in OpenAI's form.
    #[serde(default)]
    pub tools: Vec<Value>,
    #[serde(default)]
    pub plugins: Plugins,
    /// 0 to 2; the endpoint's own where it is not written.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// The most tokens of one reply; the endpoint's own limit where it is not written.
    #[serde(default)]
    pub max_tokens: Option<u32>,
}

/// How an agent is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Anything that speaks OpenAI's chat completions.
    #[default]
    Openai,
    /// The mock model that is built in.
    Mock,
}

/// What happens to the plugins that a scenario names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Plugins {
    /// The agent does not know them; the trial notes them.
    #[default]
    Ignore,
    /// Sent as `plugins` in the body of every request.
    Body,
}

/// Makes the agent called `name`. `model` is what answers for it: the client of its endpoint, or the mock.
#[must_use]
pub fn build(name: &str, settings: &Settings, model: Arc<dyn llm::Model>) -> Arc<dyn Agent> {
    match settings.kind {
        Kind::Openai | Kind::Mock => Arc::new(ModelAgent::new(name, settings, model)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_defaults_and_refuse_unknown_words() {
        let empty: Settings = serde_json::from_str("{}").unwrap();
        assert_eq!(empty, Settings::default());
        let full: Settings = serde_json::from_str(
            r#"{"kind":"mock","endpoint":"local","system":"Be brief.","tools":[{"type":"function"}],
                "plugins":"body","temperature":0.0,"max_tokens":64}"#,
        )
        .unwrap();
        assert_eq!((full.kind, full.plugins, full.temperature), (Kind::Mock, Plugins::Body, Some(0.0)));
        assert_eq!(full.tools.len(), 1);
        for wrong in [r#"{"kind":"telepathy"}"#, r#"{"plugins":"header"}"#, r#"{"max_tokens":-1}"#] {
            assert!(serde_json::from_str::<Settings>(wrong).is_err(), "{wrong}");
        }
    }
}
