//! Makes agents from their settings.

use std::{sync::Arc, time::Duration};

use llm::{endpoint::Layers, price};

use crate::{
    Agent,
    connection::{Connected, Connection},
    model::ModelAgent,
    section::Section,
    settings::Settings,
    surroundings::Surroundings,
    unconnected::Unconnected,
};

/// Why an agent cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Misfit(String),
    #[error(transparent)]
    Section(Box<dyn std::error::Error + Send + Sync>),
}

/// Creates the chat model agent `name`. `model` answers for it: the client of its endpoint, or the mock.
#[must_use]
pub fn build(name: &str, settings: &Settings, model: Arc<dyn llm::Chat>) -> Arc<dyn Agent> {
    Arc::new(ModelAgent::new(name, settings, model))
}

/// Creates the agent `name` that a section of the settings describes; `None` for a chat model.
///
/// # Errors
/// The settings are invalid, or a key is not where they say.
pub fn connect(name: &str, settings: &Settings, surroundings: &Surroundings) -> Result<Option<Arc<dyn Agent>>, Error> {
    if let Some((key, reason)) = settings.fault() {
        return Err(Error::Misfit(format!("{key} {reason}")));
    }
    let Some(section) = settings.sections().into_iter().next() else { return Ok(None) };
    let connection: Box<dyn Connection> = match surroundings.tape.is_replay() {
        // No key is read, no program is started, and nothing is connected.
        true => Box::new(Unconnected::new(name)),
        false => section.connect(name, surroundings).map_err(Error::Section)?,
    };
    let history = settings.history.unwrap_or_else(|| section.usual_history());
    let calls_tools = section.calls_tools() && settings.tool_addresses.unwrap_or(true);
    let agent = Connected::new(name, connection, layers(name, settings, section), history, calls_tools);
    Ok(Some(Arc::new(agent.on_tape(surroundings.tape.clone()))))
}

fn layers(name: &str, settings: &Settings, section: &dyn Section) -> Layers {
    let timeout = Duration::from_millis(settings.timeout_ms.unwrap_or_else(|| section.usual_timeout_ms()));
    let price = settings.price.map(price::Price::from);
    Layers::new(&format!("agent {name}"), &settings.limits, timeout, settings.retries.unwrap_or_default()).priced(price)
}
