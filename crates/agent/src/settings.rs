//! An agent as `gabfest.yaml` describes it, and the list of all kinds of agents.

use std::collections::BTreeSet;

use llm::{endpoint::Retries, key::KeyRef, limit, price};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    a2a, ag_ui, custom_question_answering, eliza, emely, history::History, http, interactive, qnamaker, replayed,
    section::Section, subprocess, template, websocket,
};

/// Declares [`Settings`] with a section for each kind of agent that is no chat model. An agent has at most one.
macro_rules! settings {
    ($($(#[$attribute:meta])* $section:ident: $kind:ty,)+) => {
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        pub struct Settings {
            #[serde(default)]
            pub kind: Kind,
            /// The endpoint of the agent; an agent of kind `mock` needs none.
            #[serde(default)]
            pub endpoint: Option<String>,
            /// A system prompt at the start of every conversation.
            #[serde(default)]
            pub system: Option<String>,
            /// Tools that the agent is offered, in OpenAI's form.
            #[serde(default)]
            pub tools: Vec<Value>,
            #[serde(default)]
            pub plugins: Plugins,
            /// 0 to 2; by default the endpoint's.
            #[serde(default)]
            pub temperature: Option<f64>,
            /// The most tokens of one reply; by default the endpoint's limit.
            #[serde(default)]
            pub max_tokens: Option<u32>,
            /// How much of the conversation is sent before the current message. By default a chat model gets all of it;
            /// an agent of another kind keeps the history itself.
            #[serde(default)]
            pub history: Option<History>,
            /// How often it may be called; a chat model uses the limits of its endpoint.
            #[serde(default)]
            pub limits: limit::Settings,
            /// The time limit of one try of a call, from its first byte to its last; 120,000 by default.
            #[serde(default)]
            pub timeout_ms: Option<u64>,
            /// Of calls that cannot have reached it, or that it throttled.
            #[serde(default)]
            pub retries: Option<Retries>,
            /// Its price, in US dollars; a chat model has the price of its endpoint.
            #[serde(default)]
            pub price: Option<Price>,
            /// Whether every call includes the address of its tools, which the scenario's mocks answer. By default
            /// agents behind `http`, `a2a`, `ag_ui`, `eliza`, `subprocess` and `websocket` get it, and chat models do
            /// not.
            #[serde(default)]
            pub tool_addresses: Option<bool>,
            $($(#[$attribute])* #[serde(default)] pub $section: Option<$kind>,)+
        }

        impl Settings {
            /// The sections that are written.
            pub(crate) fn sections(&self) -> Vec<&dyn Section> {
                let all = [$(self.$section.as_ref().map(|section| section as &dyn Section)),+];
                all.into_iter().flatten().collect()
            }
        }
    };
}

// The kinds of agents: a new one is a file with its settings and a line here.
settings! {
    /// Any HTTP API with JSON.
    http: http::Settings,
    /// An A2A agent.
    a2a: a2a::Settings,
    /// An AG-UI agent.
    ag_ui: ag_ui::Settings,
    /// An agent of an ElizaOS server.
    eliza: eliza::Settings,
    /// A program of this machine, which its operator must allow.
    subprocess: subprocess::Settings,
    websocket: websocket::Settings,
    /// A person at the terminal.
    interactive: interactive::Settings,
    /// Answers that are written down.
    replayed: replayed::Settings,
    /// Emely's own API.
    emely: emely::Settings,
    /// A knowledge base of QnA Maker.
    qnamaker: qnamaker::Settings,
    /// A project of custom question answering, QnA Maker's successor.
    #[serde(rename = "custom-question-answering")]
    custom_question_answering: custom_question_answering::Settings,
}

/// The price of an agent that is not a chat model, in US dollars. Keys that are left out cost nothing.
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

/// Which chat model answers. Agents of other kinds have their own section: `http`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The model behind `endpoint`, in the API of that endpoint's kind.
    #[default]
    Openai,
    /// The mock model that is built in.
    Mock,
}

/// What happens to the plugins that a scenario names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Plugins {
    /// The agent ignores them; the trial notes them.
    #[default]
    Ignore,
    /// Sent as `plugins` in the body of every request.
    Body,
}

impl Settings {
    /// The scenario's variables that its requests use, by their names in `{{ vars.NAME }}`.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<String> {
        serde_json::to_value(self).map(|written| template::variables(&written)).unwrap_or_default()
    }

    /// An empty text for each of them, for a request without a scenario.
    #[must_use]
    pub fn empty_variables(&self) -> Map<String, Value> {
        serde_json::to_value(self).map(|written| template::empty_variables(&written)).unwrap_or_default()
    }

    /// What is wrong with the settings: the key, with the name of its section, and the reason.
    #[must_use]
    pub fn fault(&self) -> Option<(String, String)> {
        self.misplaced().map(|(key, reason)| (key.to_owned(), reason)).or_else(|| {
            let section = self.sections().into_iter().next()?;
            section.fault().map(|(key, reason)| (format!("{}.{key}", section.name()), reason))
        })
    }

    /// A key that does not fit to the kind of agent.
    fn misplaced(&self) -> Option<(&'static str, String)> {
        let sections: Vec<&str> = self.sections().into_iter().map(Section::name).collect();
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
        if let (Some(_), Some(who)) = (self.tool_addresses, self.without_tools()) {
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
                if !self.limits.learn {
                    return Some((
                        "limits.learn",
                        "is for endpoints: an agent of this kind teaches gabfest no limits".to_owned(),
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
            [first, second, ..] => {
                Some((second, format!("cannot be used with `{first}`: an agent has one connection")))
            }
        }
    }

    /// Whether it is a chat model behind an endpoint, and no endpoint is named.
    #[must_use]
    pub fn needs_endpoint(&self) -> bool {
        self.kind == Kind::Openai && self.endpoint.is_none() && self.sections().is_empty()
    }

    /// The places of all keys in the settings, which no sink may show.
    #[must_use]
    pub fn keys(&self) -> Vec<KeyRef> {
        self.sections().into_iter().flat_map(Section::keys).collect()
    }

    /// The name of the agent's kind if it calls no tools over the network.
    fn without_tools(&self) -> Option<String> {
        let sections = self.sections();
        if sections.is_empty() && self.kind == Kind::Mock {
            return Some("the built-in mock".to_owned());
        }
        sections.into_iter().find(|section| !section.calls_tools()).map(|section| format!("`{}`", section.name()))
    }
}

impl From<Price> for price::Price {
    fn from(Price { per_call, input_per_million, output_per_million }: Price) -> Self {
        Self { per_call, input_per_million, output_per_million, ..Self::FREE }
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
