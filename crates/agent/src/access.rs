//! How gabfest identifies itself to an agent over the network: a key or OAuth, and headers.

use std::{collections::BTreeMap, time::Duration};

use llm::{
    credential::{self, Credential, OauthSettings},
    http::{AUTHORIZATION, HeaderMap, HeaderName, Sender, written},
    key::{self, KeyRef},
};
use secrecy::{ExposeSecret, SecretString};

use crate::{
    section::keys_of,
    template::{self, Text},
};

const BEARER: &str = "Bearer ";

/// A running server accepts at once; the rest of the call's time is for the answer.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Declares the settings of a kind of agent: its own keys, then `key`, `oauth` and `headers`. It is no struct for serde's
/// `flatten`, which would hide unknown keys and the places of faults.
macro_rules! with_access {
    ($(#[$attribute:meta])* pub struct Settings { $($fields:tt)* }) => {
        $(#[$attribute])*
        pub struct Settings {
            $($fields)*
            /// Sent as `Authorization: Bearer`. Where the key is kept, `env:NAME` or `file:PATH`; never the key. A file is read
            /// again when it changes.
            #[serde(default)]
            pub key: Option<llm::key::KeyRef>,
            /// In place of `key`: access tokens by OAuth's client credentials grant.
            #[serde(default)]
            pub oauth: Option<llm::credential::OauthSettings>,
            /// Further headers. A value `env:NAME` or `file:PATH` is read from there; headers that carry keys take no other.
            /// Those of `http` and `websocket` may hold placeholders.
            #[serde(default)]
            pub headers: std::collections::BTreeMap<String, String>,
        }

        impl Settings {
            pub(crate) fn access(&self) -> $crate::access::Access<'_> {
                $crate::access::Access { key: self.key.as_ref(), oauth: self.oauth.as_ref(), headers: &self.headers }
            }
        }
    };
}
pub(crate) use with_access;

/// The keys of settings that say who calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(crate) key: Option<&'a KeyRef>,
    pub(crate) oauth: Option<&'a OauthSettings>,
    pub(crate) headers: &'a BTreeMap<String, String>,
}

/// Why there is no connection to an agent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("its url {0}")]
    Url(String),
    #[error("its key cannot be found")]
    Key(#[source] key::Error),
    #[error("its key is not printable ASCII")]
    KeyText,
    #[error(transparent)]
    Oauth(credential::Fault),
    #[error("it has both `oauth` and `key`: an agent has one of them")]
    TwoKeys,
    #[error(transparent)]
    Header(written::Error),
    #[error("its header {name} cannot be written")]
    Template { name: String, source: template::Error },
    #[error("its header {0} cannot hold placeholders")]
    Plain(String),
    #[error("its client cannot be set up: {0}")]
    Client(String),
}

/// What the headers of every call are made of.
pub(crate) struct Resolved {
    /// Those with a key are marked as sensitive.
    pub(crate) headers: HeaderMap,
    pub(crate) templated: Vec<(HeaderName, Text)>,
    pub(crate) keys: Vec<SecretString>,
    /// A key that changes while gabfest runs. It is in none of the headers.
    pub(crate) credential: Option<Credential>,
}

impl<'a> Access<'a> {
    /// Of an agent whose key goes another way.
    pub(crate) fn by_headers(headers: &'a BTreeMap<String, String>) -> Self {
        Self { key: None, oauth: None, headers }
    }

    /// The places of all keys.
    pub(crate) fn keys(&self) -> Vec<KeyRef> {
        keys_of(self.key, self.oauth, self.headers.values())
    }

    /// What cannot be meant: the key, and why. Keys that are kept elsewhere are not looked for.
    pub(crate) fn fault(&self, may_hold_placeholders: bool) -> Option<(&'static str, String)> {
        if let Some(oauth) = self.oauth {
            if self.key.is_some() {
                return Some(("oauth", "cannot be used with `key`: an agent has one of them".to_owned()));
            }
            if let Some(fault) = oauth.fault() {
                return Some(("oauth", fault));
            }
        }
        let fault = |error: &dyn std::fmt::Display| Some(("headers", format!("cannot be sent: {error}")));
        let (templated, fixed) = self.split_headers();
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

    /// A header with a placeholder `{{ remembered.NAME }}` of an unknown name.
    pub(crate) fn misremembered<T>(&self, remember: &BTreeMap<String, T>) -> Option<(&'static str, String)> {
        let texts = self.headers.values().filter(|value| is_template(value));
        let unknown = texts.filter_map(|text| template::misremembered(text, remember)).next();
        unknown.map(|reason| ("headers", reason))
    }

    /// The headers of the agent called `name`, and its key as another one.
    pub(crate) fn resolve(&self, name: &str) -> Result<Resolved, Error> {
        let (templated, fixed) = self.split_headers();
        let (mut headers, mut keys) = written::resolve(&fixed).map_err(Error::Header)?;
        let templated = templated.into_iter().map(|(name, value)| {
            let known = written::name(&name).map_err(Error::Header)?;
            let text = Text::parse(&value).map_err(|source| Error::Template { name, source })?;
            Ok((known, text))
        });
        let templated = templated.collect::<Result<_, Error>>()?;
        let mut credential = None;
        match (self.key, self.oauth) {
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

    /// The same for an agent whose headers hold no placeholders.
    pub(crate) fn resolve_plain(&self, name: &str) -> Result<Resolved, Error> {
        let resolved = self.resolve(name)?;
        match resolved.templated.first() {
            Some((name, _)) => Err(Error::Plain(name.to_string())),
            None => Ok(resolved),
        }
    }

    /// Headers with placeholders, and those without.
    fn split_headers(&self) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        self.headers.clone().into_iter().partition(|(_, value)| is_template(value))
    }
}

impl Resolved {
    /// The client of the agent called `name`, and the headers of its calls.
    pub(crate) fn sender(self, name: &str) -> (Sender, HeaderMap) {
        (Sender::new(name, self.keys, CONNECT_WITHIN).with_keys(self.credential), self.headers)
    }
}

fn is_template(value: &str) -> bool {
    value.contains("{{")
}

/// The address of an agent.
pub(crate) fn address(written: &str) -> Result<llm::http::Url, Error> {
    llm::http::address(written).map_err(|reason| Error::Url(reason.to_owned()))
}
