//! The agent under test: an address, a name of the settings, a section of settings, a closure, or a value.

use std::sync::Arc;

use serde_json::Value;
use yaml::Findings;

use super::{
    AgentError, Message, Reply,
    closure::Closure,
    endpoints::{Endpoints, MOCK, opened},
    script::listed,
};

/// The name of an agent whose settings are in the test.
const DESCRIBED: &str = "agent";

/// The agent under test.
///
/// A text converts into an agent: the address of a server that speaks OpenAI's chat completions
/// (`http://127.0.0.1:8080/v1`), or the name of an agent in `gabfest.yaml`.
#[derive(Debug, Clone)]
pub struct Agent(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Address(String),
    Named(String),
    Behind(Value),
    Described(Value),
    Ready(Arc<dyn ::agent::Agent>),
}

impl Agent {
    /// A function of the test that takes the user's message and returns the reply. With repeats, several conversations
    /// call it at the same time; [`Message::conversation`] identifies them.
    ///
    /// ```
    /// use gabfest::expect::Agent;
    /// Agent::from_fn(|message| async move { Ok(format!("You said: {}", message.text)) });
    /// ```
    pub fn from_fn<F, A, R>(function: F) -> Self
    where
        F: Fn(Message) -> A + Send + Sync + 'static,
        A: Future<Output = Result<R, AgentError>> + Send + 'static,
        R: Into<Reply>,
    {
        Self(Kind::Ready(Arc::new(Closure::new(function))))
    }

    /// A chat model, with the keys of `endpoints` in `gabfest.yaml`: `{"url": "…", "model": "…", "key": "env:NAME"}`. A text
    /// is parsed as YAML.
    #[must_use]
    pub fn behind(endpoint: impl Into<Value>) -> Self {
        Self(Kind::Behind(endpoint.into()))
    }

    /// Any agent, with the keys of `agents` in `gabfest.yaml`. A text is parsed as YAML, and its endpoint is one of
    /// `gabfest.yaml`. Programs are allowed, because a test can run programs anyway.
    #[must_use]
    pub fn described(settings: impl Into<Value>) -> Self {
        Self(Kind::Described(settings.into()))
    }

    /// A custom agent.
    #[must_use]
    pub fn custom(agent: impl ::agent::Agent + 'static) -> Self {
        Self(Kind::Ready(Arc::new(agent)))
    }

    /// The agent and its name in the records. The error describes invalid settings.
    pub(super) fn resolve(&self, endpoints: &mut Endpoints, slots: u32) -> Result<Arc<dyn ::agent::Agent>, String> {
        match &self.0 {
            Kind::Ready(agent) => Ok(Arc::clone(agent)),
            Kind::Address(address) => {
                let endpoint = llm::endpoint::Settings { url: Some(address.clone()), ..Default::default() };
                chat(address, &::agent::Settings::default(), &opened(address, &endpoint).map_err(|fault| fault.text)?)
            }
            Kind::Behind(written) => {
                let endpoint = understand(written, "endpoint")?;
                let endpoint = opened(DESCRIBED, &endpoint).map_err(|fault| fault.text)?;
                chat(DESCRIBED, &::agent::Settings::default(), &endpoint)
            }
            Kind::Described(written) => build(DESCRIBED, &understand(written, "agent")?, endpoints, slots),
            Kind::Named(name) => match endpoints.settings.agents.get(name).cloned() {
                Some(settings) => build(name, &settings, endpoints, slots),
                None if name == MOCK => {
                    let settings = ::agent::Settings { kind: ::agent::settings::Kind::Mock, ..Default::default() };
                    build(name, &settings, endpoints, slots)
                }
                None => Err(format!(
                    "there is no agent {name:?} in {}\nhint: an address begins with http:// or https://",
                    endpoints.settings.shown()
                )),
            },
        }
    }
}

impl From<&str> for Agent {
    fn from(text: &str) -> Self {
        let is_address = text.starts_with("http://") || text.starts_with("https://");
        Self(if is_address { Kind::Address(text.to_owned()) } else { Kind::Named(text.to_owned()) })
    }
}

impl From<String> for Agent {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

fn build(
    name: &str,
    settings: &::agent::Settings,
    endpoints: &mut Endpoints,
    slots: u32,
) -> Result<Arc<dyn ::agent::Agent>, String> {
    for place in settings.keys() {
        let key = place.resolve().map_err(|error| format!("a key of the agent {name:?} is missing: {error}"))?;
        redact::register(secrecy::ExposeSecret::expose_secret(&key));
    }
    let surroundings = ::agent::Surroundings {
        folder: endpoints.settings.folder.clone(),
        may_execute: true,
        slots,
        terminal: ::agent::interactive::OwnTerminal::find(),
        ..Default::default()
    };
    let connected = ::agent::connect(name, settings, &surroundings)
        .map_err(|error| format!("failed to set up the agent {name:?}: {error}"))?;
    if let Some(agent) = connected {
        return Ok(agent);
    }
    let endpoint = match (&settings.endpoint, settings.kind) {
        (Some(endpoint), _) => endpoint.as_str(),
        (None, ::agent::settings::Kind::Mock) => MOCK,
        (None, ::agent::settings::Kind::Openai) => {
            return Err(format!(
                "the agent {name:?} names no endpoint\nhint: write `endpoint: NAME` with a name of `endpoints` in \
                 gabfest.yaml, or a section such as `http`, or use Agent::behind"
            ));
        }
    };
    chat(name, settings, &*endpoints.open(endpoint).map_err(|fault| fault.text)?)
}

fn chat(
    name: &str,
    settings: &::agent::Settings,
    endpoint: &llm::endpoint::Endpoint,
) -> Result<Arc<dyn ::agent::Agent>, String> {
    Ok(::agent::build(name, settings, endpoint.chat(llm::retry::Policy::agent())))
}

/// A section of settings in a test. Warnings are errors here, because a passing test does not show them.
pub(super) fn understand<T>(written: &Value, what: &str) -> Result<T, String>
where
    T: serde::de::DeserializeOwned + schemars::JsonSchema + 'static,
{
    // JSON is YAML.
    let text = written.as_str().map_or_else(|| written.to_string(), str::to_owned);
    let document = yaml::open(&text, what).map_err(|finding| listed(&[finding]))?;
    let mut findings = Findings::new(what);
    let settings = document.root().decode(&mut findings);
    let findings = findings.into_sorted();
    settings.filter(|_| findings.is_empty()).ok_or_else(|| listed(&findings))
}
