//! An agent behind a WebSocket: one connection for each conversation. It sends one frame for each message and reads one
//! or more.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::{SinkExt as _, StreamExt as _};
use llm::{
    Call, Named,
    credential::Credential,
    hint,
    http::{
        HeaderMap, HeaderName, HeaderValue, KeySource as _, Url,
        broken::{self, Target, Why},
        headers, resources,
        secrets::Secrets,
    },
    key::KeyRef,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    net::TcpStream,
    sync::Mutex,
    time::{Instant, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{self, Message, client::IntoClientRequest as _, protocol::WebSocketConfig},
};

use crate::{
    Error, Start,
    connection::Connection,
    http::{CONNECT_WITHIN, settings},
    kept::Kept,
    reading::{Heard, Reading},
    request::Request,
    response::Response,
    section::{Connecting, Section, keys_of},
    surroundings::Surroundings,
    template::{self, Template, Text},
};

/// Of one message from the agent.
const MOST_BYTES: usize = 1 << 20;
/// Messages of one turn that are no part of a reply: pings, pongs, and such in which nothing is found. Servers that keep a
/// connection alive send one in several seconds.
const MOST_IDLE: u32 = 10_000;
/// Pings and pongs among them: each ping is answered, and an agent that reads no answers would have them pile up.
const MOST_CONTROL: u32 = 1_000;
/// What may wait to be written: a conversation's history, and answers to pings.
const MOST_UNSENT_BYTES: usize = 16 << 20;
/// Allocated for each connection.
const READ_BYTES: usize = 16 << 10;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// `ws://…` or `wss://…`. Placeholders in it are percent-encoded.
    pub url: Text,
    /// Sent as `Authorization: Bearer` when connecting. Where the key is kept, `env:NAME` or `file:PATH`. A file is read again
    /// when it changes.
    #[serde(default)]
    pub key: Option<KeyRef>,
    /// Further headers of the connection; a value `env:NAME` or `file:PATH` is read from there.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Sent first, on every new connection.
    #[serde(default)]
    pub hello: Option<Template>,
    /// What is sent: JSON, or a text. Without it the user's words as they are.
    #[serde(default)]
    pub message: Option<Template>,
    /// Where in what comes back the parts of the reply stand. Without it the next text that comes is the reply.
    #[serde(default)]
    pub reply: Reading,
    /// What `{{ session }}` is until a message tells another.
    #[serde(default)]
    pub session: Option<Text>,
}

#[derive(Debug, Clone)]
pub(crate) struct WebSocket(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: String,
    headers: HeaderMap,
    templated: Vec<(HeaderName, Text)>,
    secrets: Secrets,
    /// A key that changes while gabfest runs.
    credential: Option<Credential>,
    settings: Settings,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// One conversation.
#[derive(Debug)]
struct Conversation {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    New,
    Open {
        /// In a box, since the other states are small.
        socket: Box<Socket>,
        kept: Kept,
    },
    /// A turn was given up, or the connection is gone: what comes next could be anything.
    Lost,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "websocket"
    }

    fn keys(&self) -> Vec<KeyRef> {
        keys_of(self.key.as_ref(), None, self.headers.values())
    }

    fn calls_tools(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        let address = || match self.url.sample_address(self.reply.remember.keys()) {
            Ok(sample) => plain_address(&sample).err(),
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = address() {
            return Some(("url", reason));
        }
        if let Some(fault) = self.reply.fault() {
            return Some(("reply", format!("cannot be used: {fault}")));
        }
        if self.is_endless() {
            return Some(("reply", "would never end: `delta` needs `done` or `text`".to_owned()));
        }
        settings::header_fault(&self.headers, true)
    }

    fn connect(&self, name: &str, _: &Surroundings) -> Connecting {
        Ok(Box::new(WebSocket::new(name, self)?))
    }
}

impl Settings {
    fn is_endless(&self) -> bool {
        let reading = &self.reply;
        reading.delta.is_some() && reading.text.is_none() && reading.done.is_none()
    }
}

/// An address of a WebSocket is one of HTTP with another scheme.
fn plain_address(written: &str) -> Result<(), String> {
    let plain = written.strip_prefix("ws").map(|rest| format!("http{rest}"));
    let plain = plain.ok_or("is neither ws:// nor wss://")?;
    llm::http::address(&plain)?;
    Ok(())
}

impl WebSocket {
    pub(crate) fn new(name: &str, settings: &Settings) -> Result<Self, settings::Error> {
        let settings::Resolved { headers, templated, keys, credential } =
            settings::resolve(name, settings.key.as_ref(), None, &settings.headers)?;
        let (name, settings) = (name.to_owned(), settings.clone());
        Ok(Self(Arc::new(Shared { name, headers, templated, secrets: Secrets::new(keys), credential, settings })))
    }
}

impl Connection for WebSocket {
    fn open(&self, _: &Start) -> Result<Arc<dyn Call<Request>>, Error> {
        Ok(Arc::new(Conversation { shared: Arc::clone(&self.0), state: Mutex::new(State::New) }))
    }
}

impl Named for Conversation {
    fn endpoint(&self) -> &str {
        &self.shared.name
    }

    fn place(&self) -> String {
        self.shared.place()
    }
}

#[async_trait]
impl Call<Request> for Conversation {
    async fn ask(&self, request: &Request) -> Result<Response, llm::Error> {
        let shared = &*self.shared;
        let mut state = self.state.lock().await;
        // Where this call is given up, the connection is given up with it.
        let (mut socket, mut kept, connect) = match std::mem::replace(&mut *state, State::Lost) {
            State::Open { socket, kept } => (socket, kept, None),
            State::Lost => return Err(shared.unreachable("the connection was lost in an earlier turn", true)),
            State::New => match shared.connect(request).await {
                Ok((socket, kept, took)) => (Box::new(socket), kept, Some(took)),
                Err(error) => {
                    // Nothing was said on it yet.
                    *state = State::New;
                    return Err(error);
                }
            },
        };
        let values = kept.values(request);
        let message = match &shared.settings.message {
            Some(template) => template.render(&values).map_err(|error| shared.unwritable(&error))?,
            None => Value::from(crate::connection::last_words(
                &request.messages[crate::connection::unanswered(&request.messages)..],
            )),
        };
        socket.send(frame(message)).await.map_err(|error| shared.broken(&error))?;
        let sent = Instant::now();
        let mut heard = Heard::new(&shared.settings.reply);
        let ended = shared.hear(&mut socket, &mut heard).await?;
        kept.take(&mut heard);
        *state = State::Open { socket, kept };
        let mut reply = heard.finish(sent, ended, shared.settings.reply.delta.is_some());
        reply.receipt.timing.connect = connect;
        Ok(reply)
    }
}

impl Shared {
    async fn connect(&self, request: &Request) -> Result<(Socket, Kept, Duration), llm::Error> {
        let reading = &self.settings.reply;
        let values = Kept::new(String::new(), reading).values(request);
        let unwritable = |error: template::Error| self.unwritable(&error);
        let session =
            self.settings.session.as_ref().map(|text| text.render(&values)).transpose().map_err(unwritable)?;
        let kept = Kept::new(session.unwrap_or_default(), reading);
        let values = kept.values(request);
        let address = self.settings.url.render_address(&values).map_err(unwritable)?;
        let mut call = address.as_str().into_client_request().map_err(|error| self.broken(&error))?;
        call.headers_mut().extend(self.headers.clone());
        for (name, text) in &self.templated {
            let text = text.render(&values).map_err(unwritable)?;
            let value = HeaderValue::from_str(&text).map_err(|_| llm::Error::Unwritable {
                endpoint: self.name.clone(),
                message: format!("the header {name} would not be printable ASCII"),
            })?;
            call.headers_mut().insert(name, value);
        }
        if let Some(credential) = &self.credential {
            credential.key(&self.name, &self.secrets).await?.write(call.headers_mut());
        }
        headers::write(&request.context, call.headers_mut());
        let limits = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .write_buffer_size(0)
            .max_write_buffer_size(MOST_UNSENT_BYTES)
            .max_message_size(Some(MOST_BYTES))
            .max_frame_size(Some(MOST_BYTES));
        let began = Instant::now();
        let connecting = timeout(CONNECT_WITHIN, connect_async_with_config(call, Some(limits), true)).await;
        let connected = connecting.map_err(|_| {
            let message = format!("no connection within {} ms", CONNECT_WITHIN.as_millis());
            self.unreachable(&hint::with(&message, Some("check host and port of `url`, and the firewall")), false)
        })?;
        let (mut socket, _) = connected.map_err(|error| self.not_connected(error, &address))?;
        if let Some(hello) = &self.settings.hello {
            let hello = hello.render(&values).map_err(unwritable)?;
            socket.send(frame(hello)).await.map_err(|error| self.broken(&error))?;
        }
        Ok((socket, kept, began.elapsed()))
    }

    /// Takes messages until the reply is whole; when its last one came.
    async fn hear(&self, socket: &mut Socket, heard: &mut Heard<'_>) -> Result<Instant, llm::Error> {
        let reading = &self.settings.reply;
        let plain = reading.text.is_none() && reading.delta.is_none();
        let (mut control, mut idle) = (0_u32, 0_u32);
        loop {
            if control > MOST_CONTROL {
                return Err(self.malformed(format!("more than {MOST_CONTROL} pings and pongs in one turn"), heard));
            }
            if idle > MOST_IDLE {
                return Err(
                    self.malformed(format!("more than {MOST_IDLE} messages without a reply in one turn"), heard)
                );
            }
            let bytes = match socket.next().await {
                Some(Ok(Message::Text(text))) => text.as_bytes().to_vec(),
                Some(Ok(Message::Binary(bytes))) => bytes.to_vec(),
                Some(Ok(Message::Close(close))) => {
                    let why = close.map_or_else(String::new, |close| format!(": {} {}", close.code, close.reason));
                    return Err(self.unreachable(&format!("it closed the connection{why}"), true));
                }
                Some(Ok(_)) => {
                    control += 1;
                    continue;
                }
                Some(Err(tungstenite::Error::Capacity(error))) => return Err(self.malformed(error.to_string(), heard)),
                Some(Err(error)) => return Err(self.broken(&error)),
                None => return Err(self.unreachable("it closed the connection", true)),
            };
            let came = Instant::now();
            let trouble = |heard: &Heard<'_>, message: String| self.malformed(message, heard);
            if plain {
                heard.whole(&bytes).map_err(|error| trouble(heard, error.0))?;
                return Ok(came);
            }
            let known = heard.found();
            let over = heard.event("", &bytes, came).map_err(|error| trouble(heard, error.0))?;
            if over || (reading.done.is_none() && heard.is_answered()) {
                return Ok(came);
            }
            idle += u32::from(heard.found() == known);
        }
    }

    fn not_connected(&self, error: tungstenite::Error, address: &str) -> llm::Error {
        let endpoint = self.name.clone();
        match error {
            tungstenite::Error::Http(response) => {
                let status = response.status().as_u16();
                let body = response.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default();
                let body: String = body.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
                let mend = "check the path of `url`: the server does not open a WebSocket there";
                let message = format!("{}: {body}", self.place());
                let message = self.secrets.hide(hint::with(message.trim_end_matches(": "), Some(mend)));
                match status {
                    429 => llm::Error::Throttled { endpoint, after: None, message },
                    500.. => llm::Error::Unreachable { endpoint, status: Some(status), message, sent: true },
                    _ => llm::Error::Refused { endpoint, status, message },
                }
            }
            error => {
                let url = Url::parse(address).ok();
                let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
                let port = url.as_ref().and_then(|url| url.port_or_known_default()).unwrap_or_default();
                let target = Target { host, server: format!("{host}:{port}"), is_tls: address.starts_with("wss") };
                let Why { message, hint: mend, is_ours } = broken::why(&error, &target);
                let sent = !matches!(error, tungstenite::Error::Io(_) | tungstenite::Error::Tls(_));
                if is_ours {
                    return self.out_of_resources(&hint::with(&message, mend.as_deref()), sent);
                }
                let mend = mend.unwrap_or_else(|| "check that `url` is the address of a WebSocket server".to_owned());
                self.unreachable(&hint::with(&message, Some(&mend)), sent)
            }
        }
    }

    /// As errors name it.
    fn place(&self) -> String {
        self.settings.url.shown()
    }

    fn broken(&self, error: &tungstenite::Error) -> llm::Error {
        let lack = match error {
            tungstenite::Error::Io(error) => resources::lack(error),
            _ => None,
        };
        match lack {
            Some(lack) => {
                self.out_of_resources(&hint::with(&format!("{} ({error})", lack.message()), Some(lack.hint())), true)
            }
            None => self.unreachable(&error.to_string(), true),
        }
    }

    fn out_of_resources(&self, message: &str, sent: bool) -> llm::Error {
        let message = self.secrets.hide(format!("{}: {message}", self.place()));
        llm::Error::OutOfResources { endpoint: self.name.clone(), message, sent }
    }

    fn unreachable(&self, message: &str, sent: bool) -> llm::Error {
        let message = self.secrets.hide(format!("{}: {message}", self.place()));
        llm::Error::Unreachable { endpoint: self.name.clone(), status: None, message, sent }
    }

    fn malformed(&self, message: String, heard: &Heard<'_>) -> llm::Error {
        let partial = self.secrets.hide(heard.text.clone());
        let message = self.secrets.hide(format!("{}: {message}", self.place()));
        llm::Error::Malformed { endpoint: self.name.clone(), message, partial }
    }

    fn unwritable(&self, error: &template::Error) -> llm::Error {
        llm::Error::Unwritable { endpoint: self.name.clone(), message: error.to_string() }
    }
}

fn frame(message: Value) -> Message {
    match message {
        Value::String(text) => Message::text(text),
        message => Message::text(message.to_string()),
    }
}
