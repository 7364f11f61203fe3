//! HTTP calls to services that the operator names: hooks, custom checks, state hosts. They follow no redirects, use no
//! proxy, and bound the size of the answer.

use std::sync::Arc;

use reqwest::{
    Client, RequestBuilder, StatusCode, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect,
};
use secrecy::{ExposeSecret as _, SecretString};

/// A service that can be called.
pub(crate) struct Service {
    client: Client,
    /// May hold a token, so it is never shown.
    pub(crate) url: Url,
    key: Option<SecretString>,
}

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Does not show the address, which may hold a token.
    #[error("use its address, which {0}")]
    Address(String),
    #[error("resolve its key: {0}")]
    Key(#[source] llm::key::Error),
    #[error("prepare: {0}")]
    Client(#[source] reqwest::Error),
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("be reached: {0}")]
    Unreachable(#[source] reqwest::Error),
    #[error("answer in less than {0} bytes")]
    TooLarge(usize),
}

/// What is wrong with the settings of a service: the key and the reason.
pub(crate) fn fault(url: &str, timeout_ms: u64) -> Option<(&'static str, String)> {
    if let Err(reason) = address(url) {
        return Some(("url", reason));
    }
    (timeout_ms == 0).then(|| ("timeout_ms", "must be at least 1".to_owned()))
}

fn address(written: &str) -> Result<Url, String> {
    let url = Url::parse(written).map_err(|error| format!("cannot be read: {error}"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(format!("is {other}, and only http and https are spoken")),
    }
}

impl Service {
    /// Resolves the key, so that a missing variable is found before the run.
    pub(crate) fn new(url: &str, key: Option<&llm::key::KeyRef>) -> Result<Self, SetupError> {
        let url = address(url).map_err(SetupError::Address)?;
        let key = key.map(llm::key::KeyRef::resolve).transpose().map_err(SetupError::Key)?;
        if let Some(key) = &key {
            redact::register(key.expose_secret());
        }
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(Checked))
            .user_agent(concat!("gabfest/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| SetupError::Client(error.without_url()))?;
        Ok(Self { client, url, key })
    }

    pub(crate) fn post(&self) -> RequestBuilder {
        self.authorized(self.client.post(self.url.clone()))
    }

    pub(crate) fn get(&self, url: Url) -> RequestBuilder {
        self.authorized(self.client.get(url))
    }

    /// The host alone, for messages.
    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        }
    }
}

/// What a name leads to is checked for each connection: a scenario chooses the path.
struct Checked;

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = llm::http::resolve(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Sends a request and reads its answer, at most `most_bytes` of it.
pub(crate) async fn receive(request: RequestBuilder, most_bytes: usize) -> Result<(StatusCode, Vec<u8>), Error> {
    let unreachable = |error: reqwest::Error| Error::Unreachable(error.without_url());
    let mut response = request.send().await.map_err(unreachable)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > most_bytes {
            return Err(Error::TooLarge(most_bytes));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((response.status(), body))
}
