//! The interface from which a [`super::Sender`] gets the key of each call, if it can change while gabfest runs.

use std::fmt;

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use async_trait::async_trait;
use secrecy::SecretString;

use super::secrets::Secrets;
use crate::Error;

/// Gives keys, and hides each of them with `secrets` first.
#[async_trait]
pub trait KeySource: fmt::Debug + Send + Sync {
    /// The key of a call to this endpoint.
    async fn key(&self, endpoint: &str, secrets: &Secrets) -> Result<Given, Error>;

    /// Another key, after the server refused this one; `None` if there is none.
    async fn another_key(&self, endpoint: &str, refused: &Given, secrets: &Secrets) -> Result<Option<Given>, Error>;
}

/// The key of one call, and the header that carries it.
#[derive(Debug)]
pub struct Given {
    pub(crate) key: SecretString,
    pub(crate) header: HeaderName,
    pub(crate) value: HeaderValue,
}

impl Given {
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(self.header.clone(), self.value.clone());
    }
}
