//! An agent of an ElizaOS server, through the sessions of its messaging API.
//!
//! A session is opened for each conversation. A message is answered at once (`http`) or as a stream (`sse`). For
//! servers with neither, the messages of the session are polled until no more arrive.

mod poll;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use llm::{
    Call, Named, hint,
    http::{
        Answer, HeaderMap, HeaderName, HttpRequest, Method, Sender, Url, headers, shown_address as address, written,
    },
    key::KeyRef,
};
use scenario::ids::seed_of;
use schemars::JsonSchema;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{sync::OnceCell, time::Instant};

use crate::{
    Error, Start,
    access::{self, Access},
    connection::{Connection, last_words, unanswered},
    path::Path,
    reading::{Heard, Reading},
    request::Request,
    response::Response,
    section::{Connecting, Section, address_fault, keys_of},
    surroundings::Surroundings,
};

/// The header in which a server expects its key.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Of the server: `http://localhost:3000`.
    pub url: String,
    /// Which of its agents: an id, or a name that it lists.
    pub agent: String,
    /// Sent as `X-API-KEY`. Where the key is kept, `env:NAME` or `file:PATH`; never the key.
    #[serde(default)]
    pub key: Option<KeyRef>,
    /// Further headers; a value `env:NAME` or `file:PATH` is read from there.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub transport: Transport,
    /// Between two looks at a session's messages, with `transport: poll`.
    #[serde(default = "usual_poll")]
    pub poll_ms: u64,
}

/// How a reply comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// As a stream, which shows the time to the first token.
    #[default]
    Sse,
    /// As the answer to the message.
    Http,
    /// By looking for it, which makes latencies as coarse as `poll_ms`.
    Poll,
}

/// The server, and the id of its agent once it is known.
#[derive(Debug, Clone)]
pub(crate) struct Eliza(Arc<Server>);

#[derive(Debug)]
struct Server {
    sender: Sender,
    base: Url,
    headers: HeaderMap,
    settings: Settings,
    agent: OnceCell<String>,
    /// Of an answer, and of the events of one.
    whole: Reading,
    streamed: Reading,
}

/// One conversation, with its session once it is open.
#[derive(Debug)]
struct Conversation {
    server: Arc<Server>,
    session: OnceCell<String>,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "eliza"
    }

    fn keys(&self) -> Vec<KeyRef> {
        keys_of(self.key.as_ref(), None, self.headers.values())
    }

    fn calls_tools(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        address_fault("url", &self.url).or_else(|| Access::by_headers(&self.headers).fault(false))
    }

    fn connect(&self, name: &str, _: &Surroundings) -> Connecting {
        Ok(Box::new(Eliza::new(name, self)?))
    }
}

impl Eliza {
    pub(crate) fn new(name: &str, settings: &Settings) -> Result<Self, access::Error> {
        let base = access::address(&settings.url)?;
        let mut resolved = Access::by_headers(&settings.headers).resolve_plain(name)?;
        if let Some(key) = &settings.key {
            let key = key.resolve().map_err(access::Error::Key)?;
            let value = written::secret(key.expose_secret()).ok_or(access::Error::KeyText)?;
            resolved.headers.insert(API_KEY, value);
            resolved.keys.push(key);
        }
        let (sender, headers) = resolved.sender(name);
        let path = |text: &str| Some(Path::parse(text).expect("these are JSONPaths").into());
        let whole = Reading {
            text: path("$.agentResponse.text"),
            actions: path("$.agentResponse.actions"),
            ..Reading::default()
        };
        let streamed = Reading {
            delta: path("$.chunk"),
            text: path("$.text"),
            actions: path("$.actions"),
            error: path("$.error"),
            ..Reading::default()
        };
        let settings = settings.clone();
        Ok(Self(Arc::new(Server { sender, base, headers, settings, agent: OnceCell::new(), whole, streamed })))
    }
}

impl Connection for Eliza {
    fn open(&self, _: &Start) -> Result<Arc<dyn Call<Request>>, Error> {
        Ok(Arc::new(Conversation { server: Arc::clone(&self.0), session: OnceCell::new() }))
    }
}

impl Named for Conversation {
    fn endpoint(&self) -> &str {
        self.server.sender.name()
    }

    fn place(&self) -> String {
        format!("POST {}", address(&self.server.base))
    }
}

#[async_trait]
impl Call<Request> for Conversation {
    async fn ask(&self, request: &Request) -> Result<Response, llm::Error> {
        let server = &*self.server;
        let session = self.session.get_or_try_init(|| server.begin(request)).await?;
        let messages = ["sessions", session, "messages"];
        let new = &request.messages[unanswered(&request.messages)..];
        let mut body = json!({
            "content": last_words(new),
            "metadata": { "conversation": request.context.conversation, "turn": request.context.turn },
        });
        // Plugins see the metadata of a message, and not the headers that it came with.
        for (key, url) in [("tools_url", &request.context.tools_url), ("mcp_url", &request.context.mcp_url)] {
            if !url.is_empty() {
                body["metadata"][key] = url.as_str().into();
            }
        }
        match server.settings.transport {
            Transport::Sse => body["transport"] = "sse".into(),
            Transport::Http => body["transport"] = "http".into(),
            // Servers that answer over another channel expect this value; older ones ignore it.
            Transport::Poll => body["transport"] = "websocket".into(),
        }
        let mut answer = server.post(request, &messages, &body).await?;
        let streamed = answer.is_success() && answer.media_type().as_deref() == Some("text/event-stream");
        let mut heard = Heard::new(if streamed { &server.streamed } else { &server.whole });
        let ended = if streamed {
            server.hear_events(&mut answer, &mut heard).await?
        } else {
            let body = server.sender.whole(&mut answer).await?;
            let value = server.json(&answer, &body)?;
            if server.settings.transport == Transport::Poll {
                let found = server.poll(request, session, &answer, &value).await?;
                return Ok(found.into_reply(answer.sent(), answer.connect()));
            }
            // An agent may decide not to answer.
            if !value["agentResponse"].is_null() {
                heard.whole(&body).map_err(|trouble| server.sender.malformed(answer.place(), trouble.0, &body))?;
            }
            Instant::now()
        };
        let mut reply = heard.finish(answer.sent(), ended, streamed);
        reply.receipt.timing.connect = answer.connect();
        Ok(reply)
    }
}

impl Server {
    async fn begin(&self, request: &Request) -> Result<String, llm::Error> {
        let agent = self.agent.get_or_try_init(|| self.find_agent(request)).await?;
        let user = user_id(&request.context);
        let body = json!({ "agentId": agent, "userId": user, "metadata": { "source": "gabfest" } });
        let mut answer = self.post(request, &["sessions"], &body).await?;
        let body = self.sender.whole(&mut answer).await?;
        let value = self.json(&answer, &body)?;
        match value["sessionId"].as_str() {
            Some(id) => Ok(id.to_owned()),
            None => Err(self.sender.malformed(
                answer.place(),
                hint::with(
                    "a session without a sessionId",
                    Some("check that `url` is the address of an ElizaOS server"),
                ),
                &body,
            )),
        }
    }

    async fn find_agent(&self, request: &Request) -> Result<String, llm::Error> {
        let wanted = &self.settings.agent;
        if is_uuid(wanted) {
            return Ok(wanted.clone());
        }
        let url = self.url(&["api", "agents"]);
        let mut answer = self.sender.send(&self.call(request, Method::GET, url, None)).await?;
        let body = self.sender.whole(&mut answer).await?;
        let value = self.json(&answer, &body)?;
        let list = value.pointer("/data/agents").or_else(|| value.get("agents")).and_then(Value::as_array);
        let named = |agent: &&Value| {
            let name = agent.get("name").or_else(|| agent.get("characterName")).and_then(Value::as_str);
            name.is_some_and(|name| name.eq_ignore_ascii_case(wanted))
        };
        let found = list.and_then(|list| list.iter().find(named)).and_then(|agent| agent["id"].as_str());
        found.map(str::to_owned).ok_or_else(|| llm::Error::Unwritable {
            endpoint: self.sender.name().to_owned(),
            message: hint::with(
                &format!("{}: the server lists no agent {wanted:?}", answer.place()),
                Some("write the id or the name of an agent that the server lists"),
            ),
        })
    }

    async fn post(&self, request: &Request, below: &[&str], body: &Value) -> Result<Answer, llm::Error> {
        let url = self.url(&[&["api", "messaging"], below].concat());
        self.sender.send(&self.call(request, Method::POST, url, Some(body))).await
    }

    async fn hear_events(&self, answer: &mut Answer, heard: &mut Heard<'_>) -> Result<Instant, llm::Error> {
        let place = answer.place().clone();
        let mut events = answer.events(&self.sender);
        loop {
            let Some(event) = events.next().await? else {
                let message = "the stream ends before the reply does".to_owned();
                return Err(self.sender.malformed(&place, message, heard.text.as_bytes()));
            };
            // The user's own message comes back first.
            if event.name == "user_message" {
                continue;
            }
            heard
                .event(&event.name, &event.data, event.came)
                .map_err(|trouble| self.sender.malformed(&place, trouble.0, heard.text.as_bytes()))?;
            if event.name == "done" {
                events.finish().await;
                return Ok(event.came);
            }
        }
    }

    fn call(&self, request: &Request, method: Method, url: Url, body: Option<&Value>) -> HttpRequest {
        let mut headers = self.headers.clone();
        headers::write(&request.context, &mut headers);
        HttpRequest { method, url, headers, body: body.map(|body| body.to_string().into_bytes().into()) }
    }

    fn url(&self, below: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(below);
        }
        url
    }

    fn json(&self, answer: &Answer, body: &[u8]) -> Result<Value, llm::Error> {
        llm::json::check(body).map_err(|error| self.sender.malformed(answer.place(), error.to_string(), body))?;
        serde_json::from_slice(body)
            .map_err(|error| self.sender.malformed(answer.place(), format!("it is not JSON: {error}"), body))
    }
}

fn usual_poll() -> u64 {
    500
}

/// A new user for each conversation, so that the agent does not remember another one: a UUID of the names (RFC 9562,
/// version 8).
fn user_id(context: &llm::Context) -> String {
    let half = |salt: &[u8]| seed_of(&[salt, context.run.as_bytes(), context.conversation.as_bytes()]);
    let (high, low) = (half(b"eliza user, first half"), half(b"eliza user, second half"));
    let high = high & !0xf000 | 0x8000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.concat().bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_uuids_of_their_conversation() {
        let user = |conversation: &str| {
            user_id(&llm::Context { run: "r".into(), conversation: conversation.into(), ..llm::Context::default() })
        };
        let id = user("a");
        assert!(is_uuid(&id) && id.as_bytes()[14] == b'8' && b"89ab".contains(&id.as_bytes()[19]), "{id}");
        assert_eq!(id, user("a"));
        assert_ne!(id, user("b"));
        assert!(!is_uuid("Eliza") && !is_uuid("0000000-0000-0000-0000-000000000000"));
    }
}
