//! Keys that change while gabfest runs: a key in a file that is replaced, or a token that expires.
//!
//! A [`Credential`] provides the key of each call. After a 401 it checks for a newer one.

mod oauth;
mod watched;

use ::http::header::HeaderName;
use async_trait::async_trait;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    Error,
    http::{Given, KeySource, secrets::Secrets, written},
    key::KeyRef,
};

pub use self::oauth::{Fault, Settings as OauthSettings};
use self::{oauth::Oauth, watched::Watched};

/// The key of one server, and the header that carries it.
#[derive(Debug)]
pub struct Credential {
    header: HeaderName,
    before: &'static str,
    source: Source,
}

#[derive(Debug)]
enum Source {
    File(Watched),
    Oauth(Box<Oauth>),
}

impl Credential {
    /// The key from `place`. If that is a file, it is read again when the file changes. Variables of a process never
    /// change.
    #[must_use]
    pub fn watching(place: &KeyRef, key: &SecretString, header: HeaderName, before: &'static str) -> Option<Self> {
        let KeyRef::File(path) = place else { return None };
        Some(Self { header, before, source: Source::File(Watched::new(path.clone(), key.clone())) })
    }

    /// Tokens of the OAuth client credentials grant, sent as `Authorization: Bearer` unless another header is set.
    ///
    /// # Errors
    /// The settings are invalid, or the client secret is not where they say.
    pub fn oauth(
        endpoint: &str,
        settings: &OauthSettings,
        header: HeaderName,
        before: &'static str,
    ) -> Result<Self, Fault> {
        Ok(Self { header, before, source: Source::Oauth(Box::new(Oauth::new(endpoint, settings)?)) })
    }

    fn given(&self, endpoint: &str, key: SecretString, secrets: &Secrets) -> Result<Given, Error> {
        if secrets.add(&key) {
            redact::register(key.expose_secret());
        }
        let value = written::secret(&format!("{}{}", self.before, key.expose_secret())).ok_or_else(|| {
            Error::Unwritable { endpoint: endpoint.to_owned(), message: "its key is not printable ASCII".to_owned() }
        })?;
        Ok(Given { key, header: self.header.clone(), value })
    }
}

#[async_trait]
impl KeySource for Credential {
    async fn key(&self, endpoint: &str, secrets: &Secrets) -> Result<Given, Error> {
        let key = match &self.source {
            Source::File(file) => file.key(),
            Source::Oauth(oauth) => oauth.token().await?,
        };
        self.given(endpoint, key, secrets)
    }

    async fn another_key(&self, endpoint: &str, refused: &Given, secrets: &Secrets) -> Result<Option<Given>, Error> {
        let key = match &self.source {
            Source::File(file) => file.another(&refused.key),
            Source::Oauth(oauth) => Some(oauth.another(&refused.key).await?),
        };
        key.map(|key| self.given(endpoint, key, secrets)).transpose()
    }
}
