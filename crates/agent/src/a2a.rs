//! An agent behind A2A (Agent2Agent), over JSON-RPC, in the versions 0.3 and 1.0.
//!
//! The agent's card says where it listens, in which version, and whether it streams. A message is answered with a
//! message, or with a task whose artifacts and last status are the reply. While a task waits for input, the next message
//! continues it.

mod card;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod heard;
mod wire;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use llm::{
    Call, Named, hint,
    http::{Answer, HeaderMap, HeaderValue, HttpRequest, Method, Sender, Url, headers, shown_address as address},
    key::KeyRef,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{sync::OnceCell, time::Instant};

use crate::{
    Error, Start,
    access::{self, with_access},
    connection::{Connection, unanswered},
    request::Request,
    response::Response,
    section::{Connecting, Section, address_fault},
    surroundings::Surroundings,
};

use card::Interface;
use heard::{HeardTask, Progress};

/// Between two looks at a task of an agent that answers before the task is done.
const LOOKED_AT_EVERY: Duration = Duration::from_millis(250);

with_access! {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Settings {
        /// The address of the agent, below which its card is at `/.well-known/agent-card.json`; or the address of the card,
        /// if it ends in `.json`.
        pub url: String,
        /// Where the agent listens, if the address in its card cannot be reached from here.
        #[serde(default)]
        pub rpc: Option<String>,
        /// Whether replies are streamed. Without it: if the card says that the agent can.
        #[serde(default)]
        pub stream: Option<bool>,
    }
}

/// The agent, with its connections and its card.
#[derive(Debug, Clone)]
pub(crate) struct A2a(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    sender: Sender,
    card: Url,
    rpc: Option<Url>,
    headers: HeaderMap,
    /// Whether calls carry secrets, which only the host of the card may receive.
    has_secrets: bool,
    stream: Option<bool>,
    interface: OnceCell<Interface>,
}

/// One conversation.
#[derive(Debug)]
struct Conversation {
    shared: Arc<Shared>,
    known: Mutex<KnownTask>,
}

/// What the agent's answers have said so far.
#[derive(Debug, Clone, Default)]
struct KnownTask {
    /// The agent's id of the conversation.
    context: Option<String>,
    /// The task that waits for input.
    task: Option<String>,
    /// The artifacts of that task that arrived in earlier turns: their ids and lengths.
    artifacts: BTreeMap<String, usize>,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "a2a"
    }

    fn keys(&self) -> Vec<KeyRef> {
        self.access().keys()
    }

    fn calls_tools(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        let rpc = || self.rpc.as_deref().and_then(|url| address_fault("rpc", url));
        address_fault("url", &self.url).or_else(rpc).or_else(|| self.access().fault(false))
    }

    fn connect(&self, name: &str, _: &Surroundings) -> Connecting {
        Ok(Box::new(A2a::new(name, self)?))
    }
}

impl A2a {
    pub(crate) fn new(name: &str, settings: &Settings) -> Result<Self, access::Error> {
        let resolved = settings.access().resolve_plain(name)?;
        let has_secrets = !resolved.keys.is_empty() || resolved.credential.is_some();
        let (sender, headers) = resolved.sender(name);
        Ok(Self(Arc::new(Shared {
            sender,
            card: card::address(access::address(&settings.url)?),
            rpc: settings.rpc.as_deref().map(access::address).transpose()?,
            headers,
            has_secrets,
            stream: settings.stream,
            interface: OnceCell::new(),
        })))
    }
}

impl Connection for A2a {
    fn open(&self, _: &Start) -> Result<Arc<dyn Call<Request>>, Error> {
        Ok(Arc::new(Conversation { shared: Arc::clone(&self.0), known: Mutex::default() }))
    }
}

impl Named for Conversation {
    fn endpoint(&self) -> &str {
        self.shared.sender.name()
    }

    fn place(&self) -> String {
        let shared = &*self.shared;
        let url = shared.interface.get().map_or(&shared.card, |interface| &interface.url);
        shared.sender.hide(format!("POST {}", address(url)))
    }
}

#[async_trait]
impl Call<Request> for Conversation {
    async fn ask(&self, request: &Request) -> Result<Response, llm::Error> {
        let shared = &*self.shared;
        let interface = shared.interface.get_or_try_init(|| shared.find(request)).await?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let new = &request.messages[unanswered(&request.messages)..];
        let message = interface.version.message(new, &request.context, known.context.as_deref(), known.task.as_deref());
        let method = if interface.stream { interface.version.streaming() } else { interface.version.sending() };
        let mut answer = shared.post(request, interface, method, message).await?;
        let mut heard = HeardTask::new(interface.version, known);
        if !answer.is_success() {
            return Err(shared.sender.rejection(&mut answer).await);
        }
        let streamed = answer.media_type().as_deref() == Some("text/event-stream");
        let ended = if streamed {
            shared.hear_events(&mut answer, &mut heard).await?
        } else {
            shared.hear_whole(request, interface, &mut answer, &mut heard).await?
        };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = heard.known();
        let mut reply = heard.finish(answer.sent(), ended, streamed);
        reply.receipt.timing.connect = answer.connect();
        Ok(reply)
    }
}

impl Shared {
    /// Reads the card: the agent's address, version and whether it streams.
    async fn find(&self, request: &Request) -> Result<Interface, llm::Error> {
        let mut headers = self.headers.clone();
        headers::write(&request.context, &mut headers);
        let call = HttpRequest { method: Method::GET, url: self.card.clone(), headers, body: None };
        let mut answer = self.sender.send(&call).await?;
        let body = self.sender.whole(&mut answer).await?;
        let card = self.json(&answer, &body)?;
        let found = card::read(&card, &self.card, self.rpc.as_ref());
        let mut interface = found.map_err(|trouble| self.sender.malformed(answer.place(), trouble, &body))?;
        if self.has_secrets && self.rpc.is_none() && interface.url.origin() != self.card.origin() {
            let message = format!("the card sends calls to {}, another host than its own", address(&interface.url));
            let mend = "write `rpc: ADDRESS` if this host may see the key";
            return Err(llm::Error::Unwritable {
                endpoint: self.sender.name().to_owned(),
                message: hint::with(&message, Some(mend)),
            });
        }
        interface.stream = self.stream.unwrap_or(interface.stream);
        Ok(interface)
    }

    async fn post(
        &self,
        request: &Request,
        interface: &Interface,
        method: &str,
        params: Value,
    ) -> Result<Answer, llm::Error> {
        let mut headers = self.headers.clone();
        headers::write(&request.context, &mut headers);
        headers.insert("a2a-version", HeaderValue::from_static(interface.version.name()));
        let body = wire::call(method, &params, request.context.turn);
        let url = interface.url.clone();
        let call = HttpRequest { method: Method::POST, url, headers, body: Some(body.to_string().into_bytes().into()) };
        self.sender.send(&call).await
    }

    /// Takes a complete answer. An unfinished task is polled until it is done, within the time limit of the call.
    async fn hear_whole(
        &self,
        request: &Request,
        interface: &Interface,
        answer: &mut Answer,
        heard: &mut HeardTask,
    ) -> Result<Instant, llm::Error> {
        let body = self.sender.read(answer).await?;
        let result = self.result(answer, &body)?;
        let mut verdict = heard.whole(&result).map_err(|trouble| self.malformed(answer, trouble, &body))?;
        loop {
            match verdict {
                Progress::Over => return Ok(Instant::now()),
                Progress::Failed(failure) => return Err(self.failed(answer, failure)),
                Progress::GoesOn => {}
            }
            tokio::time::sleep(LOOKED_AT_EVERY).await;
            let (method, params) = interface.version.looking(heard.task());
            let mut looked = self.post(request, interface, method, params).await?;
            let body = self.sender.whole(&mut looked).await?;
            let result = self.result(&looked, &body)?;
            verdict = heard.task_again(&result).map_err(|trouble| self.malformed(&looked, trouble, &body))?;
        }
    }

    async fn hear_events(&self, answer: &mut Answer, heard: &mut HeardTask) -> Result<Instant, llm::Error> {
        let place = answer.place().clone();
        let malformed =
            |heard: &HeardTask, trouble: String| self.sender.malformed(&place, trouble, heard.text().as_bytes());
        let mut events = answer.events(&self.sender);
        loop {
            let Some(event) = events.next().await? else {
                return Err(malformed(heard, "the stream ends before the task does".to_owned()));
            };
            llm::json::check(&event.data).map_err(|error| malformed(heard, error.to_string()))?;
            let value: Value = serde_json::from_slice(&event.data)
                .map_err(|error| malformed(heard, format!("it is not JSON: {error}")))?;
            if let Some(error) = wire::error(&value) {
                return Err(error.of(self.sender.name(), &self.sender.hide(place.to_string())));
            }
            let verdict = heard.event(&value["result"], event.came).map_err(|trouble| malformed(heard, trouble))?;
            match verdict {
                Progress::GoesOn => {}
                Progress::Over => {
                    events.finish().await;
                    return Ok(event.came);
                }
                Progress::Failed(failure) => {
                    return Err(failure.of(self.sender.name(), &self.sender.hide(place.to_string())));
                }
            }
        }
    }

    /// The result of a call, unless the answer is an error.
    fn result(&self, answer: &Answer, body: &[u8]) -> Result<Value, llm::Error> {
        let mut value = self.json(answer, body)?;
        match wire::error(&value) {
            Some(error) => Err(self.failed(answer, error)),
            None => Ok(value["result"].take()),
        }
    }

    fn failed(&self, answer: &Answer, failure: wire::Failure) -> llm::Error {
        failure.of(self.sender.name(), &self.sender.hide(answer.place().to_string()))
    }

    fn malformed(&self, answer: &Answer, trouble: String, body: &[u8]) -> llm::Error {
        self.sender.malformed(answer.place(), trouble, body)
    }

    fn json(&self, answer: &Answer, body: &[u8]) -> Result<Value, llm::Error> {
        llm::json::check(body).map_err(|error| self.malformed(answer, error.to_string(), body))?;
        serde_json::from_slice(body).map_err(|error| self.malformed(answer, format!("it is not JSON: {error}"), body))
    }
}
