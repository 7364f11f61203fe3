//! One endpoint, asked over HTTP: a request out, a reply or a classified error back.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::{
    Method, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
    redirect,
};
use secrecy::SecretString;
use tokio::time::{Instant, timeout};

use crate::{Error, Model, Reply, Request};

use super::{
    connect,
    gather::{self, Gather, Trouble},
    headers, rejection,
    reply::Completion,
    request::{self, Manner, SchemaMode},
    secrets::Secrets,
    sse,
};

/// Kept connections that may turn out to be closed, for one call.
const MOST_STALE: u32 = 4;
/// A body that is not streamed.
const MOST_BODY_BYTES: usize = gather::MOST_BYTES;
/// A stream, wrapping and all: the pieces of a long reply are some three hundred bytes for one token.
const MOST_STREAM_BYTES: usize = 64 << 20;
/// Of an answer that is no completion, kept to be looked at.
const MOST_PARTIAL_BYTES: usize = 4 << 10;
/// For the end of a stream after its last word, so that the connection can be used again.
const LINGER: Duration = Duration::from_millis(100);

/// What a client needs to know, resolved.
#[derive(Debug)]
pub struct Settings {
    /// Where completions are asked for, path and query included.
    pub url: Url,
    /// Empty for servers that have but one.
    pub model: String,
    /// Sent with every call; those with a key are marked as sensitive.
    pub headers: HeaderMap,
    /// The keys in them, to be struck from all that a server says.
    pub keys: Vec<SecretString>,
    pub stream: bool,
    /// For a connection; a layer round this client bounds the whole call.
    pub connect_within: Duration,
    pub schema_mode: SchemaMode,
}

/// A server that is asked for chat completions.
///
/// Times are measured from the moment the request is given to reqwest or, where that has to connect first, from
/// the moment the connection is there: reqwest does not show the socket.
#[derive(Debug)]
pub struct Client {
    name: String,
    http: reqwest::Client,
    url: Url,
    model: String,
    headers: HeaderMap,
    secrets: Secrets,
    stream: bool,
    schema_mode: SchemaMode,
}

impl Client {
    /// Needs a default crypto provider of rustls, which the binary installs first of all.
    pub fn new(name: impl Into<String>, settings: Settings) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("gabfest/", env!("CARGO_PKG_VERSION")))
            .tcp_nodelay(true)
            // HTTP/2 would send all calls over one connection and hold back those above the server's limit
            // of streams: a wait that would pass for latency.
            .http1_only()
            .pool_max_idle_per_host(usize::MAX)
            .connector_layer(connect::Note)
            .connect_timeout(settings.connect_within)
            // A redirect could carry the key to another host, and a proxy from the environment is not in the plan.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            // Tries are counted, paced and reported by our own layer.
            .retry(reqwest::retry::never())
            .build()?;
        let mut headers = settings.headers;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            name: name.into(),
            http,
            url: settings.url,
            model: settings.model,
            headers,
            secrets: Secrets::new(settings.keys),
            stream: settings.stream,
            schema_mode: settings.schema_mode,
        })
    }

    async fn hear(&self, request: &Request) -> Result<Reply, Error> {
        let Answered { mut response, sent, connect } = self.send(request).await?;
        if !response.status().is_success() {
            let (body, _) = self.body(&mut response, MOST_BODY_BYTES).await;
            let (status, headers) = (response.status(), response.headers());
            return Err(rejection::error(&self.name, status, headers, &body, &self.secrets));
        }
        let mut reply = match Kind::of(&response, self.stream) {
            Kind::Json => self.hear_whole(response, request, sent).await?,
            Kind::Events => self.hear_stream(response, request, sent).await?,
            Kind::Other(kind) => {
                let (body, _) = self.body(&mut response, MOST_BODY_BYTES).await;
                return Err(self.malformed(format!("its content type is {kind}"), &body));
            }
        };
        reply.timing.connect = connect;
        Ok(reply)
    }

    /// Sends a call until there is the head of an answer.
    ///
    /// A connection that was kept may have been closed by the server just before it is used again. Such a call is
    /// sent anew, as HTTP clients do for calls with an `Idempotency-Key` (RFC 9110, 9.2.2), which all of ours have;
    /// a server that closes a connection made for the call has failed, and that is not repeated here.
    async fn send(&self, request: &Request) -> Result<Answered, Error> {
        let mut stale = 0;
        loop {
            let began = Instant::now();
            let (response, connected_at) = connect::watch(self.http.execute(self.call(request))).await;
            match response {
                Ok(response) => {
                    // The latency of a call begins on a warm connection.
                    let sent = connected_at.unwrap_or(began);
                    return Ok(Answered { response, sent, connect: connected_at.map(|at| at - began) });
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

    fn call(&self, request: &Request) -> reqwest::Request {
        let manner = Manner { model: &self.model, stream: self.stream, schema_mode: self.schema_mode };
        let mut headers = self.headers.clone();
        headers::write(&request.context, &mut headers);
        // Not by way of a builder, which would copy the headers one by one.
        let mut call = reqwest::Request::new(Method::POST, self.url.clone());
        *call.headers_mut() = headers;
        *call.body_mut() = Some(request::body(request, manner).into());
        call
    }

    async fn hear_whole(&self, mut response: Response, request: &Request, sent: Instant) -> Result<Reply, Error> {
        let (body, ending) = self.body(&mut response, MOST_BODY_BYTES).await;
        let ended = Instant::now();
        match ending {
            Ending::Whole => {}
            Ending::TooLong => {
                return Err(self.malformed(format!("a body of more than {MOST_BODY_BYTES} bytes"), &body));
            }
            Ending::Broken(error) => {
                return Err(self.malformed(format!("the body breaks off: {}", chain(error)), &body));
            }
        }
        if body.is_empty() {
            return Err(self.malformed("the body is empty".to_owned(), &body));
        }
        let completion = Completion::read(&body).map_err(|error| self.malformed(error.to_string(), &body))?;
        let mut gather = Gather::default();
        gather
            .take(completion, ended)
            .and_then(|()| gather.finish(request, &self.model, sent, ended, false))
            .map_err(|trouble| self.trouble(trouble, &body))
    }

    async fn hear_stream(&self, mut response: Response, request: &Request, sent: Instant) -> Result<Reply, Error> {
        let mut gather = Gather::default();
        let mut reader = sse::Reader::default();
        let mut bytes = 0;
        let outcome = loop {
            let chunk = match response.chunk().await {
                Ok(chunk) => chunk,
                Err(error) => break Err(Trouble::Malformed(format!("the stream breaks off: {}", chain(error)))),
            };
            let at = Instant::now();
            match &chunk {
                Some(chunk) => reader.feed(chunk),
                None => reader.end(),
            }
            match take_events(&mut reader, &mut gather, at) {
                Err(trouble) => break Err(trouble),
                Ok(true) => {
                    // What is left is the end of the body; unread, it would cost the connection.
                    let _ = timeout(LINGER, response.chunk()).await;
                    break Ok(at);
                }
                Ok(false) => {}
            }
            match chunk {
                Some(chunk) => bytes += chunk.len(),
                None if gather.is_finished() => break Ok(at),
                None => break Err(Trouble::Malformed("the stream ends before the reply does".to_owned())),
            }
            if bytes > MOST_STREAM_BYTES {
                break Err(Trouble::Malformed(format!("a stream of more than {MOST_STREAM_BYTES} bytes")));
            }
        };
        match outcome {
            Ok(ended) => {
                gather.finish(request, &self.model, sent, ended, true).map_err(|trouble| self.trouble(trouble, b""))
            }
            Err(trouble) => Err(self.trouble(trouble, gather.text.as_bytes())),
        }
    }

    /// What comes of a body, up to `most` bytes, and how it ends.
    async fn body(&self, response: &mut Response, most: usize) -> (Vec<u8>, Ending) {
        let expected = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        let mut body = Vec::with_capacity(expected.min(most));
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    body.extend_from_slice(&chunk[..chunk.len().min(most - body.len())]);
                    if body.len() == most {
                        return (body, Ending::TooLong);
                    }
                }
                Ok(None) => return (body, Ending::Whole),
                Err(error) => return (body, Ending::Broken(error)),
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

    fn trouble(&self, trouble: Trouble, partial: &[u8]) -> Error {
        match trouble {
            Trouble::Malformed(message) => self.malformed(message, partial),
            Trouble::Exhausted(message) => {
                Error::Exhausted { endpoint: self.name.clone(), message: self.secrets.hide(message) }
            }
        }
    }

    fn malformed(&self, message: String, partial: &[u8]) -> Error {
        // The keys go first: a cut through the middle of one would leave half of it.
        let mut partial = self.secrets.hide(String::from_utf8_lossy(partial).into_owned());
        partial.truncate(partial.floor_char_boundary(MOST_PARTIAL_BYTES));
        Error::Malformed { endpoint: self.name.clone(), message: self.secrets.hide(message), partial }
    }
}

#[async_trait]
impl Model for Client {
    fn endpoint(&self) -> &str {
        &self.name
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.hear(request).await
    }
}

/// The head of an answer, and when the call that it answers was on a warm connection.
struct Answered {
    response: Response,
    sent: Instant,
    connect: Option<Duration>,
}

enum Ending {
    Whole,
    TooLong,
    Broken(reqwest::Error),
}

/// What a server says that its answer is.
enum Kind {
    Json,
    Events,
    Other(String),
}

impl Kind {
    /// A server that ignores `stream`, or always streams, is understood; one that does not say is believed to
    /// have done as asked.
    fn of(response: &Response, stream: bool) -> Self {
        let Some(value) = response.headers().get(CONTENT_TYPE) else {
            return if stream { Self::Events } else { Self::Json };
        };
        let text = value.to_str().unwrap_or("not text");
        let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "text/event-stream" => Self::Events,
            "application/json" => Self::Json,
            json if json.ends_with("+json") => Self::Json,
            _ => Self::Other(kind),
        }
    }
}

/// Takes all events that are there; whether the last of the stream was among them.
fn take_events(reader: &mut sse::Reader, gather: &mut Gather, at: Instant) -> Result<bool, Trouble> {
    while let Some(data) = reader.next_event().map_err(|long| Trouble::Malformed(long.to_string()))? {
        if data.trim_ascii() == b"[DONE]" {
            return Ok(true);
        }
        if data.trim_ascii().is_empty() {
            continue;
        }
        let completion = Completion::read(data).map_err(|error| Trouble::Malformed(error.to_string()))?;
        gather.take(completion, at)?;
    }
    Ok(false)
}

/// An error of reqwest with its causes, which it keeps out of its own words, and without the address.
fn chain(error: reqwest::Error) -> String {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What comes of a stream in these pieces.
    fn streamed(pieces: &[&[u8]]) -> (Result<bool, Trouble>, String) {
        let (mut reader, mut gather) = (sse::Reader::default(), Gather::default());
        let at = Instant::now();
        for piece in pieces {
            reader.feed(piece);
            match take_events(&mut reader, &mut gather, at) {
                Ok(false) => {}
                over => return (over, gather.text),
            }
        }
        reader.end();
        let over = take_events(&mut reader, &mut gather, at);
        (over, gather.text)
    }

    proptest! {
        #[test]
        fn a_stream_means_the_same_in_any_split(
            lines in prop::collection::vec(prop_oneof![
                4 => Just("data: {\"choices\":[{\"delta\":{\"content\":\"h\u{e9}\"}}]}\n\n"),
                2 => Just("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\r\n\r\n"),
                1 => Just("data: [DONE]\n\n"),
                1 => Just(": ping\n\n"),
                1 => Just("data: {\"cho"),
                1 => Just("data: {}\n"),
            ], 0..12),
            size in 1_usize..40,
        ) {
            let text = lines.concat();
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(streamed(&pieces), streamed(&[text.as_bytes()]));
        }

        #[test]
        fn no_bytes_panic_the_stream(bytes in prop::collection::vec(any::<u8>(), 0..300), size in 1_usize..40) {
            let _ = streamed(&bytes.chunks(size).collect::<Vec<_>>());
            let events = [b"data: ", &*bytes, b"\n\n"].concat();
            let _ = streamed(&events.chunks(size).collect::<Vec<_>>());
        }
    }
}
