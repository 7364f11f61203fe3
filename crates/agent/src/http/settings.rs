//! An HTTP agent as it is written in `gabfest.yaml`.

use std::collections::BTreeMap;

use llm::{
    credential::{self, Credential, OauthSettings},
    http::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, Method, written},
    key::{self, KeyRef},
};
use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::presets::{Misfit, Preset};
use crate::{
    connection::{last_words, unanswered},
    path::Path,
    reading::{Reading, ReplyPlaces},
    request::Request,
    section::address_fault,
    template::{self, Template, Text},
};

/// An agent that is asked more often does little else.
const MOST_OFTEN_MS: u64 = 50;

const BEARER: &str = "Bearer ";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Where each message is sent. Placeholders in it are percent-encoded. With a preset: the address of the server.
    pub url: Text,
    /// The name of settings that lie beneath these, for a well-known server: `gabfest preset` lists them.
    #[serde(default)]
    pub preset: Option<Preset>,
    /// What fills in the blanks of the preset.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    #[serde(default)]
    pub method: Verb,
    /// Sent as `Authorization: Bearer`. Where the key is kept, `env:NAME` or `file:PATH`; never the key. A file is read again
    /// when it changes.
    #[serde(default)]
    pub key: Option<KeyRef>,
    /// In place of `key`: access tokens by OAuth's client credentials grant.
    #[serde(default)]
    pub oauth: Option<OauthSettings>,
    /// Further headers. A value `env:NAME` or `file:PATH` is read from there; headers that carry keys take no other.
    /// Others may hold placeholders. `content-type` is the body's, which else is JSON or plain text.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// JSON, or a text, with placeholders. Without it: `message`, `conversation` and `turn`.
    #[serde(default)]
    pub body: Option<Template>,
    /// Where in the answer, or in the events of a streamed one, the parts of the reply stand.
    #[serde(default)]
    pub reply: Reading,
    /// What `{{ session }}` is until an answer tells another, such as `{{ conversation }}`.
    #[serde(default)]
    pub session: Option<Text>,
    /// A call before the first message, whose answer tells the session.
    #[serde(default)]
    pub start: Option<Start>,
    /// Of an agent that takes a message and answers it later: where its state is asked for until it is done.
    #[serde(default)]
    pub poll: Option<Poll>,
    /// What an HTTP status means, where it is not what it usually means.
    #[serde(default)]
    pub statuses: BTreeMap<u16, Meaning>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    pub url: Text,
    #[serde(default)]
    pub method: Verb,
    #[serde(default)]
    pub body: Option<Template>,
    /// Where in the answer the session's id stands.
    pub session: Path,
}

/// How the answer to a message is fetched that the agent has only taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Poll {
    /// An answer in which this finds something other than false is the reply; that may be the first one already.
    pub done: ReplyPlaces,
    /// What is asked with GET. Placeholders in it are percent-encoded.
    #[serde(default)]
    pub url: Option<Text>,
    /// Without `url`: where in the first answer the address stands. Without both it is in the header `Location`. It may be
    /// relative, and must be on the same host.
    #[serde(default)]
    pub location: Option<Path>,
    /// Between two questions.
    #[serde(default = "usual_poll_ms")]
    #[schemars(range(min = 50))]
    pub every_ms: u64,
}

fn usual_poll_ms() -> u64 {
    500
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    Get,
    #[default]
    Post,
    Put,
    Patch,
}

/// What a status is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// The answer is read like any other.
    Reply,
    Refused,
    /// Asked again later, as after 429.
    Throttled,
    Unavailable,
    /// The quota is used up.
    Exhausted,
    Malformed,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Preset(#[from] Misfit),
    #[error("its url {0}")]
    Url(String),
    #[error("its key cannot be found")]
    Key(#[source] key::Error),
    #[error("its key is not printable ASCII")]
    KeyText,
    #[error(transparent)]
    Oauth(credential::Fault),
    #[error("its `oauth` stands beside `key`: an agent has one of them")]
    TwoKeys,
    #[error(transparent)]
    Header(written::Error),
    #[error("its header {name} cannot be written")]
    Template { name: String, source: template::Error },
    #[error("its header {0} cannot hold placeholders")]
    Plain(String),
    #[error("its header content-type is no media type such as application/xml")]
    ContentType,
    #[error("there is no such status: {0}")]
    Status(u16),
    #[error("its client cannot be set up: {0}")]
    Client(String),
}

/// What the headers of every call are made of.
pub(crate) struct Resolved {
    pub(crate) headers: HeaderMap,
    pub(crate) templated: Vec<(HeaderName, Text)>,
    pub(crate) keys: Vec<SecretString>,
    /// A key that changes while gabfest runs. It is in none of the headers.
    pub(crate) credential: Option<Credential>,
}

impl Settings {
    /// What cannot be meant, with the preset filled in.
    pub(super) fn vet(&self) -> Option<(&'static str, String)> {
        let settings = match self.filled() {
            Ok(settings) => settings,
            Err(misfit) => return Some(("preset", misfit.reason().to_owned())),
        };
        let url_fault = |key, url: &Text| match url.sample_address(settings.reply.remember.keys()) {
            Ok(sample) => address_fault(key, &sample),
            Err(error) => Some((key, error.to_string())),
        };
        if let Some(fault) = url_fault("url", &settings.url) {
            return Some(fault);
        }
        if let Some(fault) = settings.start.as_ref().and_then(|start| url_fault("start.url", &start.url)) {
            return Some(fault);
        }
        let polled = settings.poll.as_ref().and_then(|poll| poll.url.as_ref());
        if let Some(fault) = polled.and_then(|url| url_fault("poll.url", url)) {
            return Some(fault);
        }
        if let Some(fault) = settings.poll.as_ref().and_then(Poll::fault) {
            return Some(("poll", format!("cannot be used: `poll.{fault}")));
        }
        if let Some(fault) = settings.reply.fault() {
            return Some(("reply", format!("cannot be used: {fault}")));
        }
        if let Some(status) = settings.statuses.keys().find(|status| !(100..=999).contains(*status)) {
            return Some(("statuses", Error::Status(*status).to_string()));
        }
        let (kind, others) = settings.split_headers();
        if let Some(kind) = kind.into_values().next()
            && content_type(&kind).is_none()
        {
            return Some(("headers", format!("cannot be sent: {}", Error::ContentType)));
        }
        header_fault(&others, true)
    }

    /// The content type of the body, and the other headers.
    fn split_headers(&self) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        self.headers.clone().into_iter().partition(|(name, _)| CONTENT_TYPE.as_str().eq_ignore_ascii_case(name))
    }

    pub(crate) fn resolve(&self, name: &str) -> Result<Resolved, Error> {
        let (kind, others) = self.split_headers();
        let mut resolved = resolve(name, self.key.as_ref(), self.oauth.as_ref(), &others)?;
        if let Some(kind) = kind.into_values().next() {
            resolved.headers.insert(CONTENT_TYPE, content_type(&kind).ok_or(Error::ContentType)?);
        }
        Ok(resolved)
    }
}

fn content_type(written: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(written).ok().filter(|kind| !kind.is_empty() && !kind.as_bytes().contains(&b'{'))
}

/// What is wrong with headers; not with the keys that are kept elsewhere.
pub(crate) fn header_fault(
    written: &BTreeMap<String, String>,
    may_hold_placeholders: bool,
) -> Option<(&'static str, String)> {
    let fault = |error: &dyn std::fmt::Display| Some(("headers", format!("cannot be sent: {error}")));
    let (templated, fixed) = split_templates(written);
    if let Err(error) = written::check(&fixed) {
        return fault(&error);
    }
    for (name, value) in templated {
        if !may_hold_placeholders {
            return fault(&Error::Plain(name));
        }
        if let Err(error) = written::name(&name) {
            return fault(&error);
        }
        if let Err(source) = Text::parse(&value) {
            return fault(&format!("the header {name}: {source}"));
        }
    }
    None
}

/// Headers with placeholders, and those without.
fn split_templates(written: &BTreeMap<String, String>) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    written.clone().into_iter().partition(|(_, value)| value.contains("{{"))
}

/// Headers as they are written, with and without placeholders, and the key as another one.
pub(crate) fn resolve(
    name: &str,
    key: Option<&KeyRef>,
    oauth: Option<&OauthSettings>,
    written: &BTreeMap<String, String>,
) -> Result<Resolved, Error> {
    let (templated, fixed) = split_templates(written);
    let (mut headers, mut keys) = written::resolve(&fixed).map_err(Error::Header)?;
    let templated = templated.into_iter().map(|(name, value)| {
        let known = written::name(&name).map_err(Error::Header)?;
        let text = Text::parse(&value).map_err(|source| Error::Template { name, source })?;
        Ok((known, text))
    });
    let templated = templated.collect::<Result<_, Error>>()?;
    let mut credential = None;
    match (key, oauth) {
        (Some(place), None) => {
            let key = place.resolve().map_err(Error::Key)?;
            let bearer = written::secret(&format!("{BEARER}{}", key.expose_secret())).ok_or(Error::KeyText)?;
            credential = Credential::watching(place, &key, AUTHORIZATION, BEARER);
            if credential.is_none() {
                headers.insert(AUTHORIZATION, bearer);
            }
            keys.push(key);
        }
        (None, Some(oauth)) => {
            credential = Some(Credential::oauth(name, oauth, AUTHORIZATION, BEARER).map_err(Error::Oauth)?);
        }
        (Some(_), Some(_)) => return Err(Error::TwoKeys),
        (None, None) => {}
    }
    Ok(Resolved { headers, templated, keys, credential })
}

/// What is sent where the settings do not say.
pub(crate) fn usual_body(request: &Request) -> Value {
    let new = &request.messages[unanswered(&request.messages)..];
    json!({
        "message": last_words(new),
        "conversation": request.context.conversation,
        "turn": request.context.turn,
    })
}

impl Poll {
    fn fault(&self) -> Option<&'static str> {
        if self.url.is_some() && self.location.is_some() {
            return Some("location` stands beside `url`: write the one that names the address");
        }
        (self.every_ms < MOST_OFTEN_MS).then_some("every_ms` is below 50")
    }
}

impl Meaning {
    /// The error for a status with this meaning; `usual` is what it would be without the settings.
    pub(crate) fn error(self, usual: llm::Error, endpoint: &str, status: u16) -> llm::Error {
        let endpoint = endpoint.to_owned();
        let (message, after) = match usual {
            llm::Error::Throttled { message, after, .. } => (message, after),
            llm::Error::Refused { message, .. }
            | llm::Error::Malformed { message, .. }
            | llm::Error::Unreachable { message, .. }
            | llm::Error::Exhausted { message, .. } => (message, None),
            other @ (llm::Error::TimedOut { .. }
            | llm::Error::OutOfResources { .. }
            | llm::Error::Unsupported { .. }
            | llm::Error::Unwritable { .. }
            | llm::Error::NoKey { .. }) => {
                return other;
            }
        };
        match self {
            Self::Throttled => llm::Error::Throttled { endpoint, after, message },
            Self::Unavailable => llm::Error::Unreachable { endpoint, status: Some(status), message, sent: true },
            Self::Exhausted => llm::Error::Exhausted { endpoint, message },
            Self::Malformed => llm::Error::Malformed { endpoint, message, partial: String::new() },
            Self::Refused | Self::Reply => llm::Error::Refused { endpoint, status, message },
        }
    }
}

impl From<Verb> for Method {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Get => Self::GET,
            Verb::Post => Self::POST,
            Verb::Put => Self::PUT,
            Verb::Patch => Self::PATCH,
        }
    }
}
