//! An agent as `gabfest.yaml` describes it, and the making of it.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use llm::{
    endpoint::{Layers, Retries},
    key::KeyRef,
    limit, price,
};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Agent,
    connection::{Connected, Connection},
    custom_question_answering,
    eliza::{self, Eliza},
    emely::{self, Emely},
    history::History,
    http::{self, Http},
    interactive::{self, Interactive},
    knowledge,
    model::ModelAgent,
    qnamaker,
    replayed::{self, Replayed},
    subprocess::{self, Subprocess},
    websocket::{self, WebSocket},
};

/// As for endpoints.
const USUAL_TIMEOUT_MS: u64 = 120_000;
const TIMEOUT_OF_PEOPLE_MS: u64 = 600_000;

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
    /// What of a conversation is sent besides what was just said. A chat model gets all of it; an agent of another
    /// kind keeps it by itself, unless this says otherwise.
    #[serde(default)]
    pub history: Option<History>,
    /// How often it is called; a chat model has those of its endpoint.
    #[serde(default)]
    pub limits: limit::Settings,
    /// For one try of a call, from its first byte to its last; 120,000 where it is not written.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// Of calls that cannot have reached it, or that it throttled.
    #[serde(default)]
    pub retries: Option<Retries>,
    /// What it costs, in US dollars; a chat model has the price of its endpoint.
    #[serde(default)]
    pub price: Option<Price>,
    /// Whether it is told with every call where it may call its tools, which the scenario's mocks answer. Without it:
    /// agents behind `http`, `eliza`, `subprocess` and `websocket` are, and chat models are not.
    #[serde(default)]
    pub tool_addresses: Option<bool>,
    /// Any HTTP API that speaks JSON.
    #[serde(default)]
    pub http: Option<http::Settings>,
    /// An agent of an ElizaOS server.
    #[serde(default)]
    pub eliza: Option<eliza::Settings>,
    /// A program of this machine, which its operator must allow.
    #[serde(default)]
    pub subprocess: Option<subprocess::Settings>,
    #[serde(default)]
    pub websocket: Option<websocket::Settings>,
    /// A person at the terminal.
    #[serde(default)]
    pub interactive: Option<interactive::Settings>,
    /// Answers that are written down.
    #[serde(default)]
    pub replayed: Option<replayed::Settings>,
    /// Emely's own API.
    #[serde(default)]
    pub emely: Option<emely::Settings>,
    /// A knowledge base of QnA Maker.
    #[serde(default)]
    pub qnamaker: Option<qnamaker::Settings>,
    /// A project of custom question answering, QnA Maker's successor.
    #[serde(default, rename = "custom-question-answering")]
    pub custom_question_answering: Option<custom_question_answering::Settings>,
}

/// What an agent costs that is no chat model, in US dollars. What is not written costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Price {
    /// For each message that it answers.
    #[schemars(range(min = 0.0))]
    pub per_call: f64,
    /// For the tokens that it says it has read.
    #[schemars(range(min = 0.0))]
    pub input_per_million: f64,
    /// For the tokens that it says it has written.
    #[schemars(range(min = 0.0))]
    pub output_per_million: f64,
}

/// Which chat model answers. Agents of other kinds have a section of their own: `http`, …
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

/// What the settings of the worker say of its agents besides what is written with each.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Relative paths of the settings are relative to it.
    pub folder: PathBuf,
    /// Whether the operator allows agents that are programs of this machine.
    pub may_execute: bool,
    /// Conversations at the same time.
    pub slots: u32,
    /// Where an agent that is a person reads and types.
    pub terminal: Option<Arc<dyn interactive::Terminal>>,
    /// Keys that were given on the command line, by the agent's name; they go before those of the settings.
    pub keys: BTreeMap<String, SecretString>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Misfit(String),
    #[error(transparent)]
    Address(#[from] http::settings::Error),
    #[error(transparent)]
    Subprocess(#[from] subprocess::SettingsError),
    #[error(transparent)]
    Replayed(#[from] replayed::Error),
    #[error(transparent)]
    Knowledge(#[from] knowledge::Fault),
}

impl Settings {
    /// What of the settings does not fit together: the key, and why.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let sections = self.sections();
        let model = [
            ("endpoint", self.endpoint.is_some()),
            ("system", self.system.is_some()),
            ("tools", !self.tools.is_empty()),
            ("temperature", self.temperature.is_some()),
            ("max_tokens", self.max_tokens.is_some()),
        ];
        let connected = [
            ("limits", self.limits != limit::Settings::default()),
            ("timeout_ms", self.timeout_ms.is_some()),
            ("retries", self.retries.is_some()),
            ("price", self.price.is_some()),
        ];
        if let (Some(_), Some(who)) = (self.tool_addresses, self.without_tools(&sections)) {
            return Some(("tool_addresses", format!("is for agents that could call tools, and {who} never does")));
        }
        match sections[..] {
            [] => connected.into_iter().find(|(_, written)| *written).map(|(key, _)| {
                (key, "belongs to the endpoint of an agent that is a chat model: write it there".to_owned())
            }),
            [section] => {
                if self.kind != Kind::default() {
                    return Some((
                        "kind",
                        format!("is for chat models; the section `{section}` says what this one is"),
                    ));
                }
                if self.timeout_ms == Some(0) {
                    return Some(("timeout_ms", "is 0, in which nothing can be answered".to_owned()));
                }
                if self.price.is_some_and(|price| !price::Price::from(price).is_valid()) {
                    return Some(("price", "is not an amount of money".to_owned()));
                }
                let misplaced = model.into_iter().find(|(_, written)| *written);
                misplaced.map(|(key, _)| (key, format!("is for chat models, and `{section}` makes this agent none")))
            }
            [first, second, ..] => Some((second, format!("stands beside `{first}`: an agent has one connection"))),
        }
    }

    /// The places of all keys that it names, which no sink may show.
    #[must_use]
    pub fn keys(&self) -> Vec<KeyRef> {
        let mut keys = Vec::new();
        if let Some(http) = &self.http {
            keys.extend(http.key.clone());
            keys.extend(http.headers.values().filter_map(|value| KeyRef::parse(value).ok()));
        }
        if let Some(eliza) = &self.eliza {
            keys.extend(eliza.key.clone());
            keys.extend(eliza.headers.values().filter_map(|value| KeyRef::parse(value).ok()));
        }
        if let Some(websocket) = &self.websocket {
            keys.extend(websocket.key.clone());
            keys.extend(websocket.headers.values().filter_map(|value| KeyRef::parse(value).ok()));
        }
        if let Some(program) = &self.subprocess {
            keys.extend(program.variables.values().filter_map(|value| KeyRef::parse(value).ok()));
        }
        keys.extend(self.qnamaker.iter().filter_map(|settings| settings.key.clone()));
        keys.extend(self.custom_question_answering.iter().filter_map(|settings| settings.key.clone()));
        keys
    }

    /// Who of the agents that call no tools over the network it is.
    fn without_tools(&self, sections: &[&'static str]) -> Option<String> {
        const NEVER: [&str; 5] = ["interactive", "replayed", "emely", "qnamaker", "custom-question-answering"];
        if sections.is_empty() && self.kind == Kind::Mock {
            return Some("the built-in mock".to_owned());
        }
        sections.iter().find(|section| NEVER.contains(section)).map(|section| format!("`{section}`"))
    }

    fn sections(&self) -> Vec<&'static str> {
        let all = [
            ("http", self.http.is_some()),
            ("eliza", self.eliza.is_some()),
            ("subprocess", self.subprocess.is_some()),
            ("websocket", self.websocket.is_some()),
            ("interactive", self.interactive.is_some()),
            ("replayed", self.replayed.is_some()),
            ("emely", self.emely.is_some()),
            ("qnamaker", self.qnamaker.is_some()),
            ("custom-question-answering", self.custom_question_answering.is_some()),
        ];
        all.into_iter().filter(|(_, written)| *written).map(|(name, _)| name).collect()
    }

    fn layers(&self) -> Layers {
        let usual = if self.interactive.is_some() { TIMEOUT_OF_PEOPLE_MS } else { USUAL_TIMEOUT_MS };
        let timeout = Duration::from_millis(self.timeout_ms.unwrap_or(usual));
        let price = self.price.map(price::Price::from);
        Layers::new(&self.limits, timeout, self.retries.unwrap_or_default()).priced(price)
    }
}

impl From<Price> for price::Price {
    fn from(Price { per_call, input_per_million, output_per_million }: Price) -> Self {
        Self { per_call, input_per_million, output_per_million }
    }
}

/// Makes the agent called `name`, a chat model. `model` is what answers for it: the client of its endpoint, or the
/// mock.
#[must_use]
pub fn build(name: &str, settings: &Settings, model: Arc<dyn llm::Chat>) -> Arc<dyn Agent> {
    Arc::new(ModelAgent::new(name, settings, model))
}

/// Makes the agent called `name` that a section of the settings describes; `None` for a chat model.
///
/// # Errors
/// The settings cannot be meant, or a key is not where they say.
pub fn connect(name: &str, settings: &Settings, surroundings: &Surroundings) -> Result<Option<Arc<dyn Agent>>, Error> {
    if let Some((key, reason)) = settings.fault() {
        return Err(Error::Misfit(format!("{key} {reason}")));
    }
    let connection: Box<dyn Connection> = if let Some(http) = &settings.http {
        Box::new(Http::new(name, http)?)
    } else if let Some(eliza) = &settings.eliza {
        Box::new(Eliza::new(name, eliza)?)
    } else if let Some(program) = &settings.subprocess {
        Box::new(Subprocess::new(name, program, surroundings)?)
    } else if let Some(websocket) = &settings.websocket {
        Box::new(WebSocket::new(name, websocket)?)
    } else if settings.interactive.is_some() {
        Box::new(Interactive::new(name, surroundings.terminal.clone(), surroundings.slots))
    } else if let Some(replayed) = &settings.replayed {
        Box::new(Replayed::new(name, replayed, &surroundings.folder)?)
    } else if let Some(emely) = &settings.emely {
        Box::new(Emely::new(name, emely)?)
    } else if let Some(settings) = &settings.qnamaker {
        Box::new(qnamaker::connect(name, settings, surroundings.keys.get(name))?)
    } else if let Some(settings) = &settings.custom_question_answering {
        Box::new(custom_question_answering::connect(name, settings, surroundings.keys.get(name))?)
    } else {
        return Ok(None);
    };
    let usual = if settings.emely.is_some() { emely::USUAL_HISTORY } else { History::Agent };
    let history = settings.history.unwrap_or(usual);
    let connected = Connected::new(name, connection, settings.layers(), history);
    Ok(Some(Arc::new(connected.with_tool_addresses(settings.tool_addresses.unwrap_or(true)))))
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
