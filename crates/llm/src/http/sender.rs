//! Sending a call until there is the head of an answer, and saying what went wrong where there is none.

use std::time::Duration;

use bytes::Bytes;
use reqwest::{
    Method, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
    redirect,
};
use secrecy::SecretString;
use tokio::time::Instant;

use crate::Error;

use super::{
    Answer,
    answer::{Ending, MOST_BODY_BYTES},
    connect, rejection,
    secrets::Secrets,
};

/// Kept connections that may turn out to be closed, for one call.
const MOST_STALE: u32 = 4;
/// Of an answer that is no reply, kept to be looked at.
const MOST_PARTIAL_BYTES: usize = 4 << 10;

/// What is sent. A body is JSON unless the headers say otherwise.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
}

/// The connections to one server, and the keys that its errors must not show.
///
/// Times are measured from the moment a request is given to reqwest or, where that has to connect first, from the
/// moment the connection is there: reqwest does not show the socket.
#[derive(Debug)]
pub struct Sender {
    name: String,
    http: reqwest::Client,
    secrets: Secrets,
}

impl Sender {
    /// `name` is the endpoint's in errors. Needs a default crypto provider of rustls, which the binary installs
    /// first of all.
    pub fn new(
        name: impl Into<String>,
        keys: Vec<SecretString>,
        connect_within: Duration,
    ) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("gabfest/", env!("CARGO_PKG_VERSION")))
            .tcp_nodelay(true)
            // HTTP/2 would send all calls over one connection and hold back those above the server's limit
            // of streams: a wait that would pass for latency.
            .http1_only()
            .pool_max_idle_per_host(usize::MAX)
            .connector_layer(connect::Note)
            .connect_timeout(connect_within)
            // A redirect could carry the key to another host, and a proxy from the environment is not in the plan.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            // Tries are counted, paced and reported by our own layer.
            .retry(reqwest::retry::never())
            .build()?;
        Ok(Self { name: name.into(), http, secrets: Secrets::new(keys) })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The head of the answer, whatever its status is.
    pub async fn send(&self, call: &Call) -> Result<Answer, Error> {
        self.execute(|| {
            let mut request = reqwest::Request::new(call.method.clone(), call.url.clone());
            *request.headers_mut() = call.headers.clone();
            if let Some(body) = &call.body {
                request.headers_mut().entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
                *request.body_mut() = Some(body.clone().into());
            }
            request
        })
        .await
    }

    /// The whole body of an answer whose status is success; any other is the error that it stands for.
    pub async fn whole(&self, answer: &mut Answer) -> Result<Vec<u8>, Error> {
        if !answer.is_success() {
            return Err(self.rejection(answer).await);
        }
        self.read(answer).await
    }

    /// The whole body, whatever the status says.
    pub async fn read(&self, answer: &mut Answer) -> Result<Vec<u8>, Error> {
        match answer.body(MOST_BODY_BYTES).await {
            (body, Ending::Whole) => Ok(body),
            (body, Ending::TooLong) => {
                Err(self.malformed(format!("a body of more than {MOST_BODY_BYTES} bytes"), &body))
            }
            (body, Ending::Broken(error)) => {
                Err(self.malformed(format!("the body breaks off: {}", chain(error)), &body))
            }
        }
    }

    /// The error that an answer stands for whose status is not success.
    pub async fn rejection(&self, answer: &mut Answer) -> Error {
        let (body, _) = answer.body(MOST_BODY_BYTES).await;
        rejection::error(&self.name, answer.status(), answer.headers(), &body, &self.secrets)
    }

    /// Of an answer that is no reply, with the beginning of what came.
    #[must_use]
    pub fn malformed(&self, message: String, partial: &[u8]) -> Error {
        // The keys go first: a cut through the middle of one would leave half of it.
        let mut partial = self.secrets.hide(String::from_utf8_lossy(partial).into_owned());
        partial.truncate(partial.floor_char_boundary(MOST_PARTIAL_BYTES));
        Error::Malformed { endpoint: self.name.clone(), message: self.secrets.hide(message), partial }
    }

    /// What the server said, without the keys in it.
    #[must_use]
    pub fn hide(&self, text: String) -> String {
        self.secrets.hide(text)
    }

    /// Sends a call, made anew for each time that it is sent.
    ///
    /// A connection that was kept may have been closed by the server just before it is used again. Such a call is
    /// sent anew, as HTTP clients do for calls with an `Idempotency-Key` (RFC 9110, 9.2.2), which all of ours have;
    /// a server that closes a connection made for the call has failed, and that is not repeated here.
    pub(crate) async fn execute(&self, call: impl Fn() -> reqwest::Request) -> Result<Answer, Error> {
        let mut stale = 0;
        loop {
            let began = Instant::now();
            let (response, connected_at) = connect::watch(self.http.execute(call())).await;
            match response {
                Ok(response) => {
                    // The latency of a call begins on a warm connection.
                    let sent = connected_at.unwrap_or(began);
                    return Ok(Answer::new(response, sent, connected_at.map(|at| at - began)));
                }
                Err(error)
                    if connected_at.is_none() && error.is_request() && !error.is_connect() && stale < MOST_STALE =>
                {
                    stale += 1;
                }
                Err(error) => return Err(self.unreachable(error)),
            }
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> Error {
        Error::Unreachable {
            endpoint: self.name.clone(),
            status: None,
            sent: !error.is_connect(),
            message: self.secrets.hide(chain(error)),
        }
    }
}

/// An error of reqwest with its causes, which it keeps out of its own words, and without the address.
pub(crate) fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
