//! The endpoints of the settings. Each is opened once and shared.

use std::{collections::BTreeMap, sync::Arc};

use llm::endpoint::{self, Endpoint};

use super::settings::Settings;

/// The name of the endpoint and of the agent that always exist.
pub(super) const MOCK: &str = "mock";

#[derive(Debug)]
pub(super) struct Endpoints {
    pub(super) settings: Settings,
    opened: BTreeMap<String, Arc<Endpoint>>,
}

/// The reason why an endpoint cannot be opened.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) text: String,
    /// The settings are correct, but the key is missing.
    pub(super) no_key: bool,
}

impl Endpoints {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, opened: BTreeMap::new() }
    }

    pub(super) fn open(&mut self, name: &str) -> Result<Arc<Endpoint>, Fault> {
        if let Some(endpoint) = self.opened.get(name) {
            return Ok(Arc::clone(endpoint));
        }
        let endpoint = match self.settings.endpoints.get(name) {
            Some(settings) => opened(name, settings)?,
            None if name == MOCK => {
                opened(name, &endpoint::Settings { kind: endpoint::Kind::Mock, ..Default::default() })?
            }
            None => {
                let text = format!("there is no endpoint {name:?} in {}", self.settings.shown());
                return Err(Fault { text, no_key: false });
            }
        };
        let endpoint = Arc::new(endpoint);
        self.opened.insert(name.to_owned(), Arc::clone(&endpoint));
        Ok(endpoint)
    }
}

/// Opens an endpoint, and registers its keys with the redactor.
pub(super) fn opened(name: &str, settings: &endpoint::Settings) -> Result<Endpoint, Fault> {
    // The tested program may have installed another provider already; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    if let Some(reason) = settings.mock.fault() {
        return Err(Fault { text: format!("the endpoint {name:?} cannot be used: mock.{reason}"), no_key: false });
    }
    for place in settings.keys() {
        let key = place
            .resolve()
            .map_err(|error| Fault { text: format!("the endpoint {name:?} has no key: {error}"), no_key: true })?;
        redact::register(secrecy::ExposeSecret::expose_secret(&key));
    }
    Endpoint::open(name, settings).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Fault { text: format!("failed to set up an endpoint: {error}{cause}"), no_key: false }
    })
}
