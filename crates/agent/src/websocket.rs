//! An agent behind a WebSocket: one connection for each conversation. It sends one frame for each message and reads one
//! or more.

mod settings;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::{SinkExt as _, StreamExt as _};
use llm::{
    Call, Named,
    credential::Credential,
    hint,
    http::{
        Given, HeaderMap, HeaderName, HeaderValue, KeySource as _, StatusCode, Url,
        broken::{self, Target, Why},
        headers, resources,
        secrets::Secrets,
    },
    key::KeyRef,
};
use serde_json::Value;
use tokio::{
    net::TcpStream,
    sync::Mutex,
    time::{Instant, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async_tls_with_config,
    tungstenite::{self, Message, client::IntoClientRequest as _, protocol::WebSocketConfig},
};

use crate::{
    Error, Start,
    access::{self, CONNECT_WITHIN, Resolved},
    connection::Connection,
    kept::Kept,
    reading::Heard,
    request::Request,
    response::Response,
    section::{Connecting, Section},
    surroundings::Surroundings,
    template::{self, Text},
};

pub use settings::Settings;

/// Of one message from the agent.
const MOST_BYTES: usize = 1 << 20;
/// Messages of one turn that are not part of a reply: pings, pongs, and messages without a reply. Servers that keep a
/// connection alive send one every few seconds.
const MOST_IDLE: u32 = 10_000;
/// Pings and pongs among them: each ping is answered, and an agent that reads no answers would have them pile up.
const MOST_CONTROL: u32 = 1_000;
/// How much may wait to be sent: a conversation's history, and answers to pings.
const MOST_UNSENT_BYTES: usize = 16 << 20;
/// Allocated for each connection.
const READ_BYTES: usize = 16 << 10;

#[derive(Debug, Clone)]
pub(crate) struct WebSocket(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: String,
    headers: HeaderMap,
    templated: Vec<(HeaderName, Text)>,
    secrets: Secrets,
    /// A key that changes while gabfest runs, or a token.
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
    /// A turn was given up, or the connection is gone: the next message could be anything.
    Lost,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "websocket"
    }

    fn keys(&self) -> Vec<KeyRef> {
        self.access().keys()
    }

    fn calls_tools(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        self.vet()
    }

    fn connect(&self, name: &str, _: &Surroundings) -> Connecting {
        Ok(Box::new(WebSocket::new(name, self)?))
    }
}

impl WebSocket {
    pub(crate) fn new(name: &str, settings: &Settings) -> Result<Self, access::Error> {
        let Resolved { headers, templated, keys, credential } = settings.access().resolve(name)?;
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
        // If this call is dropped, so is the connection.
        let (mut socket, mut kept, connect) = match std::mem::replace(&mut *state, State::Lost) {
            State::Open { socket, kept } => (socket, kept, None),
            State::Lost => return Err(shared.unreachable("the connection was lost in an earlier turn", true)),
            State::New => match shared.connect(request).await {
                Ok((socket, kept, took)) => (Box::new(socket), kept, Some(took)),
                Err(error) => {
                    // Nothing has been sent on it yet.
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
        headers::write(&request.context, call.headers_mut());
        let limits = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .write_buffer_size(0)
            .max_write_buffer_size(MOST_UNSENT_BYTES)
            .max_message_size(Some(MOST_BYTES))
            .max_frame_size(Some(MOST_BYTES));
        let (mut socket, took) =
            self.identified(&call, limits).await?.map_err(|error| self.not_connected(error, &address))?;
        if let Some(hello) = &self.settings.hello {
            let hello = hello.render(&values).map_err(unwritable)?;
            socket.send(frame(hello)).await.map_err(|error| self.broken(&error))?;
        }
        Ok((socket, kept, took))
    }

    /// Connects with the key of the moment. If the server refuses it and there is another one by now, connects once more.
    async fn identified(
        &self,
        call: &tungstenite::handshake::client::Request,
        limits: WebSocketConfig,
    ) -> Result<Result<(Socket, Duration), tungstenite::Error>, llm::Error> {
        let Some(credential) = &self.credential else { return self.handshake(call.clone(), limits).await };
        let keyed = |given: &Given| {
            let mut call = call.clone();
            given.write(call.headers_mut());
            self.handshake(call, limits)
        };
        let given = credential.key(&self.name, &self.secrets).await?;
        let opened = keyed(&given).await?;
        match &opened {
            Err(tungstenite::Error::Http(response)) if response.status() == StatusCode::UNAUTHORIZED => {
                match credential.another_key(&self.name, &given, &self.secrets).await? {
                    Some(other) => keyed(&other).await,
                    None => Ok(opened),
                }
            }
            _ => Ok(opened),
        }
    }

    async fn handshake(
        &self,
        call: tungstenite::handshake::client::Request,
        limits: WebSocketConfig,
    ) -> Result<Result<(Socket, Duration), tungstenite::Error>, llm::Error> {
        let began = Instant::now();
        let connecting = timeout(CONNECT_WITHIN, connect(call, limits)).await;
        let connected = connecting.map_err(|_| {
            let message = format!("no connection within {} ms", CONNECT_WITHIN.as_millis());
            self.unreachable(&hint::with(&message, Some("check host and port of `url`, and the firewall")), false)
        })?;
        Ok(connected.map(|socket| (socket, began.elapsed())))
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
/// Connects to an address that was checked, as agents over HTTP do.
async fn connect(
    call: tungstenite::handshake::client::Request,
    limits: WebSocketConfig,
) -> Result<Socket, tungstenite::Error> {
    let uri = call.uri();
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("wss") { 443 } else { 80 });
    let mut addresses = llm::http::resolve(host).await?;
    addresses.iter_mut().for_each(|address| address.set_port(port));
    let stream = TcpStream::connect(addresses.as_slice()).await?;
    stream.set_nodelay(true)?;
    Ok(client_async_tls_with_config(call, stream, Some(limits), None).await?.0)
}
