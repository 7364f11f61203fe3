//! The judge, and what happens without one.

use std::sync::Arc;

use async_trait::async_trait;
use llm::{endpoint, key::KeyRef, retry::Policy};
use serde_json::Value;

use super::{
    agent::understand,
    around::{Around, KEY, MODEL, URL},
    endpoints::{Endpoints, MOCK, opened},
};

const NAME: &str = "judge";
/// The server for `OPENAI_API_KEY`, unless `OPENAI_BASE_URL` is set.
const USUAL_URL: &str = "https://api.openai.com/v1";

/// The language model that judges the agent's answers.
#[derive(Debug, Clone, Default)]
pub struct Judge(Kind);

#[derive(Debug, Clone, Default)]
enum Kind {
    #[default]
    Found,
    Behind(Value),
    Model(Arc<dyn llm::Chat>),
    Mock,
}

impl Judge {
    /// The endpoint of `roles.judge` in `gabfest.yaml`, or else the model of the variables `OPENAI_API_KEY`,
    /// `OPENAI_BASE_URL` and `OPENAI_MODEL`. This is the default.
    #[must_use]
    pub fn found() -> Self {
        Self(Kind::Found)
    }

    /// A model with the keys of `endpoints` in `gabfest.yaml`: `{"url": "…", "model": "…", "key": "env:NAME"}`. A text is parsed
    /// as YAML.
    #[must_use]
    pub fn behind(endpoint: impl Into<Value>) -> Self {
        Self(Kind::Behind(endpoint.into()))
    }

    /// A model that the test implements.
    #[must_use]
    pub fn model(model: impl llm::Chat + 'static) -> Self {
        Self(Kind::Model(Arc::new(model)))
    }

    /// The built-in mock. It understands nothing: use it to try tests, never to judge an agent.
    #[must_use]
    pub fn mock() -> Self {
        Self(Kind::Mock)
    }

    /// The error is a fault of the settings. A missing judge is not an error yet.
    pub(super) fn resolve(&self, endpoints: &mut Endpoints, around: &Around) -> Result<Found, String> {
        let endpoint = match &self.0 {
            Kind::Model(model) => return Ok(Found::There(Arc::clone(model))),
            Kind::Mock => endpoints.open(MOCK),
            Kind::Behind(written) => opened(NAME, &understand(written, NAME)?).map(Arc::new),
            Kind::Found => match endpoints.settings.judge.clone() {
                Some(name) => endpoints.open(&name),
                None => match of_variables(around) {
                    Ok(settings) => opened(NAME, &settings).map(Arc::new),
                    Err(why) => return Ok(Found::Missing(format!("{why}; {}", of_settings(endpoints)))),
                },
            },
        };
        match endpoint {
            Ok(endpoint) => Ok(Found::There(endpoint.chat(Policy::model()))),
            Err(fault) if fault.no_key => Ok(Found::Missing(fault.text)),
            Err(fault) => Err(fault.text),
        }
    }
}

/// The result of looking for a judge.
#[derive(Debug)]
pub(super) enum Found {
    There(Arc<dyn llm::Chat>),
    /// The reason why there is no judge.
    Missing(String),
}

impl Found {
    pub(super) fn model(&self) -> Arc<dyn llm::Chat> {
        match self {
            Self::There(model) => Arc::clone(model),
            Self::Missing(_) => Arc::new(Nobody),
        }
    }

    pub(super) fn missing(&self) -> Option<&str> {
        match self {
            Self::There(_) => None,
            Self::Missing(why) => Some(why),
        }
    }
}

/// A placeholder without a model, which answers nothing.
#[derive(Debug)]
pub(super) struct Nobody;

impl llm::Named for Nobody {
    fn endpoint(&self) -> &str {
        NAME
    }
}

#[async_trait]
impl llm::Call<llm::chat::Request> for Nobody {
    async fn ask(&self, _: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
        let message = "there is none".to_owned();
        Err(llm::Error::Unreachable { endpoint: NAME.to_owned(), status: None, message, sent: false })
    }
}

fn of_settings(endpoints: &Endpoints) -> String {
    match endpoints.settings.shown() {
        shown if endpoints.settings.is_there() => format!("{shown} has no `roles.judge`"),
        shown => shown,
    }
}

/// Reads the common variables of OpenAI clients.
fn of_variables(around: &Around) -> Result<endpoint::Settings, String> {
    let (key, url, model) = (around.variable(KEY), around.variable(URL), around.variable(MODEL));
    if key.is_none() && url.is_none() {
        return Err(format!("{KEY} is not set"));
    }
    if url.is_none() && model.is_none() {
        return Err(format!("{KEY} is set, but {MODEL} does not say which model judges"));
    }
    Ok(endpoint::Settings {
        url: Some(url.unwrap_or(USUAL_URL).to_owned()),
        model: model.map(str::to_owned),
        key: key.map(|_| KeyRef::Env(KEY.to_owned())),
        ..Default::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(variables: &[(&str, &str)]) -> String {
        match of_variables(&Around::with("", variables)) {
            Ok(settings) => {
                let key = settings.key.map_or("no key".to_owned(), |key| key.to_string());
                format!("{} {} {key}", settings.url.unwrap_or_default(), settings.model.unwrap_or_default())
            }
            Err(why) => why,
        }
    }

    #[test]
    fn the_variables_of_other_programs_describe_a_judge() {
        let local = "http://127.0.0.1:8080/v1";
        let rows: [(&[(&str, &str)], &str); 6] = [
            (&[], "OPENAI_API_KEY is not set"),
            (&[(KEY, " ")], "OPENAI_API_KEY is not set"),
            (&[(KEY, "sk-1")], "OPENAI_API_KEY is set, but OPENAI_MODEL does not say which model judges"),
            (&[(KEY, "sk-1"), (MODEL, "m")], "https://api.openai.com/v1 m env:OPENAI_API_KEY"),
            (&[(URL, local)], "http://127.0.0.1:8080/v1  no key"),
            (&[(URL, local), (MODEL, "m")], "http://127.0.0.1:8080/v1 m no key"),
        ];
        for (variables, expected) in rows {
            assert_eq!(described(variables), expected, "{variables:?}");
        }
    }
}
