//! The interface of a section of an agent's settings.

use llm::{credential::OauthSettings, key::KeyRef};

use crate::{connection::Connection, history::History, surroundings::Surroundings};

/// The time limit of one try of a call, from its first byte to its last. Endpoints have the same.
const USUAL_TIMEOUT_MS: u64 = 120_000;

/// A connection, or why the settings give none.
pub(crate) type Connecting = Result<Box<dyn Connection>, Box<dyn std::error::Error + Send + Sync>>;

/// The settings of one kind of agent: a section of `gabfest.yaml` below the agent's name.
pub(crate) trait Section {
    /// The key of the section.
    fn name(&self) -> &'static str;

    /// The places of all keys in the section, which no sink may show.
    fn keys(&self) -> Vec<KeyRef> {
        Vec::new()
    }

    /// Whether the agent can call tools and learns their addresses from its calls.
    fn calls_tools(&self) -> bool {
        false
    }

    /// The time limit of a call, unless the settings have one.
    fn usual_timeout_ms(&self) -> u64 {
        USUAL_TIMEOUT_MS
    }

    /// How much of the conversation is sent by default.
    fn usual_history(&self) -> History {
        History::Agent
    }

    /// What is wrong with the section: the key and the reason. Does not check that keys are where the settings say.
    fn fault(&self) -> Option<(&'static str, String)> {
        None
    }

    /// Creates the connection of the agent `name`.
    ///
    /// # Errors
    /// The settings are invalid, or a key is not where they say.
    fn connect(&self, name: &str, surroundings: &Surroundings) -> Connecting;
}

/// What is wrong with an address.
pub(crate) fn address_fault(key: &'static str, written: &str) -> Option<(&'static str, String)> {
    llm::http::address(written).err().map(|reason| (key, reason.to_owned()))
}

/// The places of a key, of the secret of an OAuth client, and of values from the environment or files.
pub(crate) fn keys_of<'a>(
    key: Option<&KeyRef>,
    oauth: Option<&OauthSettings>,
    values: impl IntoIterator<Item = &'a String>,
) -> Vec<KeyRef> {
    let kept = values.into_iter().filter_map(|value| KeyRef::parse(value).ok());
    let secret = oauth.map(|oauth| oauth.client_secret.clone());
    key.cloned().into_iter().chain(secret).chain(kept).collect()
}
