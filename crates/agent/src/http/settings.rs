//! The settings of an HTTP agent in `gabfest.yaml`.

use std::collections::BTreeMap;

use llm::http::{CONTENT_TYPE, HeaderValue, Method};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::presets::{Misfit, Preset};
use crate::{
    access::{self, Access, Resolved, with_access},
    connection::{last_words, unanswered},
    path::Path,
    reading::{Reading, ReplyPlaces},
    request::Request,
    section::address_fault,
    template::{Template, Text},
};

/// An agent that is asked more often does little else.
const MOST_OFTEN_MS: u64 = 50;

with_access! {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Settings {
        /// The URL for each message. Placeholders in it are percent-encoded. With a preset: the address of the server.
        pub url: Text,
        /// The name of the settings below these, for a well-known server: `gabfest preset` lists them.
        #[serde(default)]
        pub preset: Option<Preset>,
        /// Values for the blanks of the preset.
        #[serde(default)]
        pub with: BTreeMap<String, String>,
        #[serde(default)]
        pub method: Verb,
        /// JSON, or a text, with placeholders. Without it: `message`, `conversation` and `turn`.
        #[serde(default)]
        pub body: Option<Template>,
        /// Where the parts of the reply are in the answer, or in the events of a streamed one.
        #[serde(default)]
        pub reply: Reading,
        /// The value of `{{ session }}` until an answer names another one, such as `{{ conversation }}`.
        #[serde(default)]
        pub session: Option<Text>,
        /// A call before the first message, whose answer names the session.
        #[serde(default)]
        pub start: Option<Start>,
        /// For an agent that accepts a message and answers later: where its state is polled until it is done.
        #[serde(default)]
        pub poll: Option<Poll>,
        /// The meaning of HTTP statuses that differ from the usual one.
        #[serde(default)]
        pub statuses: BTreeMap<u16, Meaning>,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    pub url: Text,
    #[serde(default)]
    pub method: Verb,
    #[serde(default)]
    pub body: Option<Template>,
    /// Where the answer has the session's id.
    pub session: Path,
}

/// How the answer to a message is fetched that the agent has only taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Poll {
    /// An answer in which this finds something other than false is the reply, even if it is the first answer.
    pub done: ReplyPlaces,
    /// The URL to poll with GET. Placeholders in it are percent-encoded.
    #[serde(default)]
    pub url: Option<Text>,
    /// Without `url`: where the first answer has the address. Without both, it is in the header `Location`. It may be
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

/// How a status is treated.
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
    #[error(transparent)]
    Access(#[from] access::Error),
    #[error("its header content-type is not a media type such as application/xml")]
    ContentType,
    #[error("there is no such status: {0}\nhint: statuses go from 100 to 599")]
    Status(u16),
}

impl Settings {
    /// What is wrong with the settings after the preset is applied.
    pub(super) fn vet(&self) -> Option<(&'static str, String)> {
        let settings = match self.filled() {
            Ok(settings) => settings,
            Err(misfit) => return Some(("preset", misfit.reason().to_owned())),
        };
        let remember = &settings.reply.remember;
        let url_fault = |key, url: &Text| match url.sample_address(remember.keys()) {
            Ok(sample) => address_fault(key, &sample),
            Err(error) => Some((key, url.misremembered(remember).unwrap_or_else(|| error.to_string()))),
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
        if let Some(status) = settings.statuses.keys().find(|status| !(100..=599).contains(*status)) {
            return Some(("statuses", Error::Status(*status).to_string()));
        }
        let (kind, others) = settings.split_headers();
        if let Some(kind) = kind.into_values().next()
            && content_type(&kind).is_none()
        {
            return Some(("headers", format!("cannot be sent: {}", Error::ContentType)));
        }
        let access = Access { headers: &others, ..settings.access() };
        access.fault(true).or_else(|| settings.misremembered())
    }

    /// A placeholder `{{ remembered.NAME }}` with a name that `reply.remember` does not have, outside of addresses: the key, and
    /// why.
    fn misremembered(&self) -> Option<(&'static str, String)> {
        let fault = |key, unknown: Option<String>| unknown.map(|reason| (key, reason));
        let remember = &self.reply.remember;
        let start = self.start.as_ref().and_then(|start| start.body.as_ref());
        fault("body", self.body.as_ref().and_then(|body| body.misremembered(remember)))
            .or_else(|| fault("start.body", start.and_then(|body| body.misremembered(remember))))
            .or_else(|| fault("session", self.session.as_ref().and_then(|session| session.misremembered(remember))))
            .or_else(|| self.access().misremembered(remember))
    }

    /// The content type of the body, and the other headers.
    fn split_headers(&self) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        self.headers.clone().into_iter().partition(|(name, _)| CONTENT_TYPE.as_str().eq_ignore_ascii_case(name))
    }

    pub(crate) fn resolve(&self, name: &str) -> Result<Resolved, Error> {
        let (kind, others) = self.split_headers();
        let mut resolved = Access { headers: &others, ..self.access() }.resolve(name)?;
        if let Some(kind) = kind.into_values().next() {
            resolved.headers.insert(CONTENT_TYPE, content_type(&kind).ok_or(Error::ContentType)?);
        }
        Ok(resolved)
    }
}

fn content_type(written: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(written).ok().filter(|kind| !kind.is_empty() && !kind.as_bytes().contains(&b'{'))
}

/// The body if the settings have none.
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
            return Some("location` cannot be used with `url`: write the one that names the address");
        }
        (self.every_ms < MOST_OFTEN_MS).then_some("every_ms` is below 50")
    }
}

impl Meaning {
    /// The error for a status with this meaning; `usual` is the error without the settings.
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
            | llm::Error::NoMoney { .. }
            | llm::Error::Unwritable { .. }
            | llm::Error::NoKey { .. }
            | llm::Error::NotRecorded { .. }) => {
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
