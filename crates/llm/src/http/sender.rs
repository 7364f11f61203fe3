//! Sends an HTTP request and returns the head of the answer, or the reason why there is none.

use std::time::Duration;

use ::http::{
    Method, StatusCode, Uri,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT},
    uri::InvalidUri,
};
use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use secrecy::SecretString;
use tokio::{net::TcpStream, time::Instant};
use tower::util::MapResponse;
use url::Url;

use crate::{Error, hint};

use super::{
    answer::{Answer, Ending, MOST_BODY_BYTES},
    broken::{self, Target, Why},
    causes::chain,
    connections::{Broken, Connections},
    key_source::{Given, KeySource},
    rejection,
    request_line::RequestLine,
    resolver::Resolver,
    secrets::Secrets,
    stream::Stream,
    trust,
};

/// How many reused connections may turn out to be closed during one call.
const MOST_STALE: u32 = 4;
/// How much of an invalid answer is kept for inspection.
const MOST_PARTIAL_BYTES: usize = 4 << 10;
/// How much of it is searched for keys: a key that is cut here lies beyond the part that is kept.
const MOST_LOOKED_AT: usize = 256 << 10;
/// The interval of TCP keepalive probes: firewalls and proxies drop connections that are silent during a long wait.
const PROBED_EVERY: Duration = Duration::from_secs(15);
const MOST_PROBES: u32 = 3;

/// Connects, and keeps plain connections small.
type Small = MapResponse<HttpsConnector<HttpConnector<Resolver>>, fn(MaybeHttpsStream<TokioIo<TcpStream>>) -> Stream>;

/// A request in the form that hyper sends.
pub(crate) type Outgoing = ::http::Request<Full<Bytes>>;

/// The request. A body is JSON unless the headers say otherwise.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
}

/// The connections to one server, and the keys that its errors must not show.
///
/// Times are measured from when hyper gets a request on an established connection: hyper does not show the socket.
///
/// Nothing happens behind the caller's back: no redirects, which could carry the key to another host, no proxy from the
/// environment, which is not in the plan, and no uncounted retries.
#[derive(Debug)]
pub struct Sender {
    name: String,
    connections: Connections<Small>,
    secrets: Secrets,
    /// Of keys that change; the others are in the headers of each call.
    keys: Option<Box<dyn KeySource>>,
}

/// Why requests cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("read the certificates that this machine trusts")]
    Certificates(#[from] rustls::Error),
    #[error("use the address")]
    Address(#[from] InvalidUri),
}

impl Sender {
    /// `name` is the endpoint's in errors. Needs a default crypto provider of rustls, which the binary installs
    /// first of all.
    #[must_use]
    pub fn new(name: impl Into<String>, keys: Vec<SecretString>, connect_within: Duration) -> Self {
        let mut plain = HttpConnector::new_with_resolver(Resolver);
        plain.enforce_http(false);
        plain.set_nodelay(true);
        plain.set_keepalive(Some(PROBED_EVERY));
        plain.set_keepalive_interval(Some(PROBED_EVERY));
        plain.set_keepalive_retries(Some(MOST_PROBES));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(trust::config())
            .https_or_http()
            // HTTP/2 would send all calls over one connection and hold back those above the server's limit
            // of streams: a wait that would pass for latency.
            .enable_http1()
            .wrap_connector(plain);
        let connector = MapResponse::new(connector, Stream::from as fn(_) -> _);
        let connections = Connections::new(connector, connect_within);
        Self { name: name.into(), connections, secrets: Secrets::new(keys), keys: None }
    }

    /// With the key of this source in each call.
    #[must_use]
    pub fn with_keys(self, source: Option<impl KeySource + 'static>) -> Self {
        Self { keys: source.map(|source| Box::new(source) as Box<dyn KeySource>), ..self }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the head of the answer, whatever its status.
    pub async fn send(&self, call: &HttpRequest) -> Result<Answer, Error> {
        let mut headers = call.headers.clone();
        if call.body.is_some() {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        }
        let uri = uri(&call.url).map_err(|error| Error::Unreachable {
            endpoint: self.name.clone(),
            status: None,
            sent: false,
            message: self.secrets.hide(chain(&error)),
        })?;
        let body = call.body.clone().unwrap_or_default();
        let place = RequestLine { method: call.method.clone(), uri };
        self.execute(&place, &|| outgoing(call.method.clone(), headers.clone(), body.clone())).await
    }

    /// The whole body of a successful answer; any other status becomes its error.
    pub async fn whole(&self, answer: &mut Answer) -> Result<Vec<u8>, Error> {
        if !answer.is_success() {
            return Err(self.rejection(answer).await);
        }
        self.read(answer).await
    }

    /// The whole body, whatever the status.
    pub async fn read(&self, answer: &mut Answer) -> Result<Vec<u8>, Error> {
        match answer.body(MOST_BODY_BYTES).await {
            (body, Ending::Whole) => Ok(body),
            (body, Ending::TooLong) => {
                Err(self.malformed(answer.place(), format!("a body of more than {MOST_BODY_BYTES} bytes"), &body))
            }
            (body, Ending::Broken(error)) => {
                Err(self.malformed(answer.place(), format!("the body breaks off: {}", chain(&error)), &body))
            }
        }
    }

    /// The error for an answer with an unsuccessful status.
    pub async fn rejection(&self, answer: &mut Answer) -> Error {
        let (body, _) = answer.body(MOST_BODY_BYTES).await;
        self.rejected(answer, &body)
    }

    /// The same, with the body read before.
    pub(crate) fn rejected(&self, answer: &Answer, body: &[u8]) -> Error {
        rejection::error(&self.name, answer.place(), answer.status(), answer.headers(), body, &self.secrets)
    }

    /// The error that an answer reports after it started with success, with the matching status.
    pub(crate) fn failed_within(&self, place: &RequestLine, status: u16, message: &str) -> Error {
        let message = rejection::excerpt(message).unwrap_or_else(|| format!("status {status}"));
        let message = self.secrets.hide(format!("{place}: {message}"));
        rejection::of_status(self.name.clone(), status, None, message)
    }

    /// Where a call went, the start of its answer, and how to fix it.
    pub(crate) fn explained(&self, answer: &Answer, body: &[u8], mend: Option<&str>) -> String {
        let text = self.secrets.hide(String::from_utf8_lossy(body).into_owned());
        let body = rejection::excerpt(&text).unwrap_or_default();
        self.secrets.hide(hint::with(&format!("{}: status {}: {body}", answer.place(), answer.status()), mend))
    }

    /// The error for an invalid answer, with the start of its body. A hint in the message goes last.
    #[must_use]
    pub fn malformed(&self, place: &RequestLine, message: String, partial: &[u8]) -> Error {
        // Remove the keys first: a cut through a key would leave half of it.
        let partial = &partial[..partial.len().min(MOST_LOOKED_AT)];
        let mut partial = self.secrets.hide(String::from_utf8_lossy(partial).into_owned());
        let (message, mend) = hint::split(&message);
        let mend = mend.or_else(|| rejection::is_page(&partial).then_some(rejection::PAGE));
        let body = rejection::excerpt(&partial).map_or_else(String::new, |body| format!(": {body}"));
        let message = self.secrets.hide(hint::with(&format!("{place}: {message}{body}"), mend));
        partial.truncate(partial.floor_char_boundary(MOST_PARTIAL_BYTES));
        Error::Malformed { endpoint: self.name.clone(), message, partial }
    }

    /// The server's message without keys.
    #[must_use]
    pub fn hide(&self, text: String) -> String {
        self.secrets.hide(text)
    }

    /// Sends a call, built anew for each time that it is sent.
    ///
    /// A server may close an idle connection just before it is reused. Such a call is sent again, as HTTP clients do
    /// for calls with an `Idempotency-Key` (RFC 9110, 9.2.2). Calls of agents have one, and models keep no state. If a
    /// server closes a new connection, the call has failed and is not repeated here.
    ///
    /// A key that the server refuses with 401 may have been replaced a moment ago. If there is a newer one, the call is
    /// sent again with it: the server has not acted on the first one.
    pub(crate) async fn execute(
        &self,
        place: &RequestLine,
        call: &(impl Fn() -> Outgoing + Send + Sync),
    ) -> Result<Answer, Error> {
        match &self.keys {
            None => self.transmit(place, call).await,
            // Boxed: most endpoints have a key that stays, and the calls of thousands of conversations wait at once.
            Some(source) => Box::pin(self.execute_with_key(&**source, place, call)).await,
        }
    }

    async fn execute_with_key(
        &self,
        source: &dyn KeySource,
        place: &RequestLine,
        call: &(impl Fn() -> Outgoing + Send + Sync),
    ) -> Result<Answer, Error> {
        let keyed = |given: &Given| {
            let mut call = call();
            given.write(call.headers_mut());
            call
        };
        let given = source.key(&self.name, &self.secrets).await?;
        let mut answer = self.transmit(place, &|| keyed(&given)).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        match source.another_key(&self.name, &given, &self.secrets).await? {
            Some(other) => {
                answer.linger().await;
                self.transmit(place, &|| keyed(&other)).await
            }
            None => Ok(answer),
        }
    }

    /// Not an `async fn`, which would hold what it is given twice.
    fn transmit<'a>(
        &'a self,
        place: &'a RequestLine,
        call: &'a (impl Fn() -> Outgoing + Send + Sync),
    ) -> impl Future<Output = Result<Answer, Error>> + Send + 'a {
        let mut stale = 0;
        async move {
            loop {
                let began = Instant::now();
                match self.connections.send(&place.uri, call).await {
                    Ok(head) => return Ok(Answer::new(place.clone(), head, began)),
                    // A call that was not sent was on a connection that is closed now: at last there is a new one.
                    Err(Broken::Call { reused: true, source }) if source.is_canceled() => {}
                    Err(Broken::Call { reused: true, .. }) if stale < MOST_STALE => stale += 1,
                    Err(error) => return Err(self.unreachable(place, &error)),
                }
            }
        }
    }

    fn unreachable(&self, place: &RequestLine, error: &Broken) -> Error {
        let Why { message, hint: mend, is_ours } = broken::why(error, &Target::of(place));
        let (endpoint, sent) = (self.name.clone(), matches!(error, Broken::Call { .. }));
        let message = self.secrets.hide(hint::with(&format!("{place}: {message}"), mend.as_deref()));
        if is_ours {
            return Error::OutOfResources { endpoint, message, sent };
        }
        Error::Unreachable { endpoint, status: None, message, sent }
    }
}

/// The address for hyper; fails if it is too long.
pub(crate) fn uri(url: &Url) -> Result<Uri, InvalidUri> {
    Uri::try_from(url.as_str())
}

/// Adds the headers that every call has.
pub(crate) fn add_usual(headers: &mut HeaderMap) {
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(concat!("gabfest/", env!("CARGO_PKG_VERSION"))));
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
}

/// A call without its address.
pub(crate) fn outgoing(method: Method, mut headers: HeaderMap, body: Bytes) -> Outgoing {
    add_usual(&mut headers);
    let mut request = ::http::Request::new(Full::new(body));
    (*request.method_mut(), *request.headers_mut()) = (method, headers);
    request
}
