//! An agent behind any HTTP API that speaks JSON: templates write the calls, paths read the replies.

mod poll;
pub mod presets;
pub mod settings;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use llm::key::KeyRef;
use llm::{
    Call, Named, hint,
    http::{Answer, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, HttpRequest, Method, PAGE, Sender, Url, headers},
};
use serde_json::Value;

use crate::{
    Error, Start,
    connection::Connection,
    history::History,
    kept::Kept,
    reading::{Heard, Reading},
    request::Request,
    response::Response,
    section::{Connecting, Section},
    surroundings::Surroundings,
    template::{self, Template, Text, Values},
};

pub use settings::{Meaning, Poll, Settings, Verb};

/// The agent, as its settings describe it, with its connections.
#[derive(Debug, Clone)]
pub(crate) struct Http(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    sender: Sender,
    /// Sent with every call; those with a key are marked as sensitive.
    headers: HeaderMap,
    templated: Vec<(HeaderName, Text)>,
    settings: Settings,
}

/// One conversation.
#[derive(Debug)]
struct Conversation {
    shared: Arc<Shared>,
    /// `None` before the first call.
    kept: Mutex<Option<Kept>>,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "http"
    }

    fn keys(&self) -> Vec<KeyRef> {
        self.access().keys()
    }

    fn calls_tools(&self) -> bool {
        true
    }

    fn usual_history(&self) -> History {
        self.preset.and_then(presets::Preset::history).unwrap_or(History::Agent)
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        self.vet()
    }

    fn connect(&self, name: &str, _: &Surroundings) -> Connecting {
        Ok(Box::new(Http::new(name, self)?))
    }
}

impl Http {
    pub(crate) fn new(name: &str, settings: &Settings) -> Result<Self, settings::Error> {
        let settings = settings.filled()?.into_owned();
        let mut resolved = settings.resolve(name)?;
        let templated = std::mem::take(&mut resolved.templated);
        let (sender, headers) = resolved.sender(name);
        Ok(Self(Arc::new(Shared { sender, headers, templated, settings })))
    }
}

impl Connection for Http {
    fn open(&self, _: &Start) -> Result<Arc<dyn Call<Request>>, Error> {
        Ok(Arc::new(Conversation { shared: Arc::clone(&self.0), kept: Mutex::default() }))
    }
}

impl Named for Conversation {
    fn endpoint(&self) -> &str {
        self.shared.sender.name()
    }

    fn place(&self) -> String {
        let Settings { url, method, .. } = &self.shared.settings;
        self.shared.sender.hide(format!("{} {}", Method::from(*method), url.shown()))
    }
}

#[async_trait]
impl Call<Request> for Conversation {
    async fn ask(&self, request: &Request) -> Result<Response, llm::Error> {
        let shared = &*self.shared;
        let mut kept = match self.known() {
            Some(kept) => kept,
            None => self.begin(request).await?,
        };
        let values = kept.values(request);
        let Settings { url, method, body, reply: reading, .. } = &shared.settings;
        let call = shared.call(request, &values, shared.address(url, &values)?, *method, body.as_ref())?;
        let mut answer = shared.sender.send(&call).await?;
        shared.check(&mut answer).await?;
        let (sent, connect) = (answer.sent(), answer.connect());
        let mut heard = Heard::new(reading);
        let streamed = answer.media_type().as_deref() == Some("text/event-stream");
        let ended = if streamed {
            shared.hear_events(&mut answer, &mut heard).await?
        } else {
            let (answer, body) = match &shared.settings.poll {
                Some(poll) => shared.polled(poll, request, &call.url, &mut kept, answer).await?,
                None => {
                    let body = shared.sender.read(&mut answer).await?;
                    (answer, body)
                }
            };
            heard.whole(&body).map_err(|trouble| shared.sender.malformed(answer.place(), trouble.0, &body))?;
            tokio::time::Instant::now()
        };
        kept.take(&mut heard);
        self.keep(kept);
        let mut reply = heard.finish(sent, ended, streamed);
        reply.receipt.timing.connect = connect;
        Ok(reply)
    }
}

impl Conversation {
    fn known(&self) -> Option<Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, kept: Kept) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }

    /// The session of the first call: an id that is requested, given in the settings, or absent.
    async fn begin(&self, request: &Request) -> Result<Kept, llm::Error> {
        let shared = &*self.shared;
        let kept = |session: String| Kept::new(session, &shared.settings.reply);
        let values = kept(String::new()).values(request);
        let session = if let Some(start) = &shared.settings.start {
            let address = shared.address(&start.url, &values)?;
            let call = shared.call(request, &values, address, start.method, start.body.as_ref())?;
            let mut answer = shared.sender.send(&call).await?;
            shared.check(&mut answer).await?;
            let body = shared.sender.read(&mut answer).await?;
            let reading = Reading { session: Some(start.session.clone().into()), ..Reading::default() };
            let crowded = |error: llm::json::TooMany| shared.sender.malformed(answer.place(), error.to_string(), &body);
            llm::json::check(&body).map_err(crowded)?;
            let value: Value = serde_json::from_slice(&body).map_err(|error| {
                shared.sender.malformed(answer.place(), format!("its start is not JSON: {error}"), &body)
            })?;
            reading.session_of("", &value).ok_or_else(|| {
                let message = format!("its start has no session at {}", start.session.written());
                shared.sender.malformed(
                    answer.place(),
                    hint::with(&message, Some("fix the path `start.session`")),
                    &body,
                )
            })?
        } else if let Some(session) = &shared.settings.session {
            session.render(&values).map_err(|error| shared.unwritable(&error))?
        } else {
            return Ok(kept(String::new()));
        };
        self.keep(kept(session.clone()));
        Ok(kept(session))
    }
}

impl Shared {
    fn address(&self, url: &Text, values: &Values) -> Result<Url, llm::Error> {
        let address = url.render_address(values).map_err(|error| self.unwritable(&error))?;
        llm::http::address(&address).map_err(|reason| self.unsendable(format!("its url {reason}")))
    }

    fn call(
        &self,
        request: &Request,
        values: &Values,
        url: Url,
        method: Verb,
        body: Option<&Template>,
    ) -> Result<HttpRequest, llm::Error> {
        let unwritable = |error: template::Error| self.unwritable(&error);
        let mut headers = self.headers.clone();
        for (name, text) in &self.templated {
            let text = text.render(values).map_err(unwritable)?;
            let value = HeaderValue::from_str(&text)
                .map_err(|_| self.unsendable(format!("the header {name} would not be printable ASCII")))?;
            headers.insert(name, value);
        }
        headers::write(&request.context, &mut headers);
        let body = match (method, body) {
            (Verb::Get, _) => None,
            (_, Some(body)) => Some(body.render(values).map_err(unwritable)?),
            (_, None) => Some(settings::usual_body(request)),
        };
        match &body {
            None => {
                headers.remove(CONTENT_TYPE);
            }
            Some(Value::String(_)) => {
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
            }
            Some(_) => {}
        }
        let body = body.map(|body| match body {
            Value::String(text) => text.into_bytes().into(),
            body => body.to_string().into_bytes().into(),
        });
        Ok(HttpRequest { method: Method::from(method), url, headers, body })
    }

    /// Checks that the answer can be a reply at all.
    async fn check(&self, answer: &mut Answer) -> Result<(), llm::Error> {
        let status = answer.status().as_u16();
        match self.settings.statuses.get(&status) {
            Some(Meaning::Reply) => {}
            Some(meaning) => {
                let usual = self.sender.rejection(answer).await;
                return Err(meaning.error(usual, self.sender.name(), status));
            }
            None if answer.is_success() => {}
            None => return Err(self.sender.rejection(answer).await),
        }
        if let Some(encoding) = answer.encoding() {
            let message = format!("its encoding is {encoding}, which gabfest did not request");
            return Err(self.sender.malformed(answer.place(), message, b""));
        }
        match answer.media_type() {
            Some(kind) if kind == "text/html" || kind == "application/xhtml+xml" => {
                let body = self.sender.read(answer).await?;
                let message = hint::with(&format!("its content type is {kind}"), Some(PAGE));
                Err(self.sender.malformed(answer.place(), message, &body))
            }
            _ => Ok(()),
        }
    }

    async fn hear_events(
        &self,
        answer: &mut Answer,
        heard: &mut Heard<'_>,
    ) -> Result<tokio::time::Instant, llm::Error> {
        let place = answer.place().clone();
        let mut events = answer.events(&self.sender);
        let mut ended = tokio::time::Instant::now();
        let mut over = false;
        while !over {
            let Some(event) = events.next().await.map_err(|error| with_partial(error, &heard.text))? else { break };
            ended = event.came;
            over = heard
                .event(&event.name, &event.data, event.came)
                .map_err(|trouble| self.sender.malformed(&place, trouble.0, heard.text.as_bytes()))?;
        }
        heard.ended(over).map_err(|trouble| self.sender.malformed(&place, trouble.0, heard.text.as_bytes()))?;
        events.finish().await;
        Ok(ended)
    }

    fn unwritable(&self, error: &template::Error) -> llm::Error {
        self.unsendable(error.to_string())
    }

    /// An error for a request that was not sent and cannot be.
    fn unsendable(&self, message: String) -> llm::Error {
        llm::Error::Unwritable { endpoint: self.sender.name().to_owned(), message: self.sender.hide(message) }
    }
}

/// Adds the text received so far to the error.
fn with_partial(error: llm::Error, text: &str) -> llm::Error {
    match error {
        llm::Error::Malformed { endpoint, message, .. } => {
            llm::Error::Malformed { endpoint, message, partial: text.to_owned() }
        }
        other => other,
    }
}
