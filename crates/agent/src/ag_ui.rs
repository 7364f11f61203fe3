//! An agent behind AG-UI (Agent User Interaction Protocol): each turn is a run, which answers with a stream of events.
//!
//! The client keeps the conversation: it sends the messages, including tool calls, and the state of earlier runs.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod heard;
mod history;
mod patch;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use llm::{
    Call, Named, hint,
    http::{HeaderMap, HeaderValue, HttpRequest, Method, PAGE, Sender, Url, headers, shown_address as address},
    key::KeyRef,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    Error, Start,
    access::{self, with_access},
    connection::{Connection, last_words, unanswered},
    history::History,
    request::Request,
    response::Response,
    section::{Connecting, Section, address_fault},
    surroundings::Surroundings,
    template::{Template, Values},
};

use heard::{HeardRun, Next};
use history::PlayedTurn;

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

with_access! {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Settings {
        /// The URL that starts a run.
        pub url: String,
        /// The state of a new conversation: JSON with placeholders. Without it: an empty object.
        #[serde(default)]
        pub state: Option<Template>,
        /// The `forwardedProps` of each run: JSON with placeholders.
        #[serde(default)]
        pub forwarded_props: Option<Template>,
    }
}

/// The agent, with its connections.
#[derive(Debug, Clone)]
pub(crate) struct AgUi(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    sender: Sender,
    url: Url,
    headers: HeaderMap,
    settings: Settings,
}

/// One conversation.
#[derive(Debug)]
struct Conversation {
    shared: Arc<Shared>,
    known: Mutex<KnownRuns>,
}

/// The results of earlier runs.
#[derive(Debug, Clone, Default)]
struct KnownRuns {
    played: Vec<PlayedTurn>,
    state: Option<Value>,
    /// The ids of the interrupts that the agent waits for.
    interrupts: Vec<String>,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "ag_ui"
    }

    fn keys(&self) -> Vec<KeyRef> {
        self.access().keys()
    }

    fn calls_tools(&self) -> bool {
        true
    }

    /// A run gets the whole conversation.
    fn usual_history(&self) -> History {
        History::Full
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        let remembered = |key, template: &Option<Template>| {
            let named = template.as_ref()?.misremembered::<()>(&BTreeMap::new());
            named.map(|_| (key, "has {{ remembered }}, which needs an agent with `reply.remember`".to_owned()))
        };
        address_fault("url", &self.url)
            .or_else(|| self.access().fault(false))
            .or_else(|| remembered("state", &self.state))
            .or_else(|| remembered("forwarded_props", &self.forwarded_props))
    }

    fn connect(&self, name: &str, _: &Surroundings) -> Connecting {
        Ok(Box::new(AgUi::new(name, self)?))
    }
}

impl AgUi {
    pub(crate) fn new(name: &str, settings: &Settings) -> Result<Self, access::Error> {
        let url = access::address(&settings.url)?;
        let (sender, mut headers) = settings.access().resolve_plain(name)?.sender(name);
        headers.insert("accept", EVENTS);
        Ok(Self(Arc::new(Shared { sender, url, headers, settings: settings.clone() })))
    }
}

impl Connection for AgUi {
    fn open(&self, _: &Start) -> Result<Arc<dyn Call<Request>>, Error> {
        Ok(Arc::new(Conversation { shared: Arc::clone(&self.0), known: Mutex::default() }))
    }
}

impl Named for Conversation {
    fn endpoint(&self) -> &str {
        self.shared.sender.name()
    }

    fn place(&self) -> String {
        self.shared.sender.hide(format!("POST {}", address(&self.shared.url)))
    }
}

#[async_trait]
impl Call<Request> for Conversation {
    async fn ask(&self, request: &Request) -> Result<Response, llm::Error> {
        let shared = &*self.shared;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (before, new) = request.messages.split_at(unanswered(&request.messages));
        let said = history::said(new, &request.context.idempotency_key);
        let history = history::wire(before, &known.played);
        let body = shared.input(request, &mut known, history, &said)?;
        let mut headers = shared.headers.clone();
        headers::write(&request.context, &mut headers);
        let call = HttpRequest {
            method: Method::POST,
            url: shared.url.clone(),
            headers,
            body: Some(body.to_string().into_bytes().into()),
        };
        let mut answer = shared.sender.send(&call).await?;
        if !answer.is_success() {
            return Err(shared.sender.rejection(&mut answer).await);
        }
        if answer.media_type().as_deref() != Some("text/event-stream") {
            let kind = answer.media_type().unwrap_or_else(|| "unknown".to_owned());
            let body = shared.sender.read(&mut answer).await?;
            let message = hint::with(&format!("its content type is {kind} and not text/event-stream"), Some(PAGE));
            return Err(shared.sender.malformed(answer.place(), message, &body));
        }
        let (sent, connect) = (answer.sent(), answer.connect());
        let mut heard = HeardRun::new(known.state.take().unwrap_or_default());
        let ended = shared.hear(&mut answer, &mut heard).await?;
        let (mut reply, left) =
            heard.finish(sent, ended).map_err(|trouble| shared.sender.malformed(answer.place(), trouble, b""))?;
        reply.receipt.timing.connect = connect;
        known.played.push(PlayedTurn { text: reply.text.clone(), messages: [said, left.messages].concat() });
        (known.state, known.interrupts) = (Some(left.state), left.interrupts);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(reply)
    }
}

impl Shared {
    /// The input of a run. `history` and `said` are the messages.
    fn input(
        &self,
        request: &Request,
        known: &mut KnownRuns,
        mut history: Vec<Value>,
        said: &[Value],
    ) -> Result<Value, llm::Error> {
        let context = &request.context;
        let values = Values::of(request, "", &serde_json::Map::new());
        let written = |template: &Option<Template>| match template {
            Some(template) => template.render(&values).map_err(|error| llm::Error::Unwritable {
                endpoint: self.sender.name().to_owned(),
                message: self.sender.hide(error.to_string()),
            }),
            None => Ok(json!({})),
        };
        let mut props = written(&self.settings.forwarded_props)?;
        if let Some(props) = props.as_object_mut() {
            // An agent's own code sees these, and not the headers.
            for (key, url) in [("tools_url", &context.tools_url), ("mcp_url", &context.mcp_url)] {
                if !url.is_empty() {
                    props.entry(key).or_insert_with(|| url.as_str().into());
                }
            }
        }
        if known.state.is_none() {
            known.state = Some(written(&self.settings.state)?);
        }
        history.extend_from_slice(said);
        let mut input = json!({
            "threadId": context.conversation,
            "runId": context.idempotency_key,
            "state": known.state,
            "messages": history,
            "tools": [],
            "context": [],
            "forwardedProps": props,
        });
        if !known.interrupts.is_empty() {
            let new = &request.messages[unanswered(&request.messages)..];
            let answers = known.interrupts.iter();
            let answers =
                answers.map(|id| json!({ "interruptId": id, "status": "resolved", "payload": last_words(new) }));
            input["resume"] = answers.collect();
        }
        Ok(input)
    }

    async fn hear(&self, answer: &mut llm::http::Answer, heard: &mut HeardRun) -> Result<Instant, llm::Error> {
        let place = answer.place().clone();
        let malformed =
            |heard: &HeardRun, trouble: String| self.sender.malformed(&place, trouble, heard.text().as_bytes());
        let mut events = answer.events(&self.sender);
        loop {
            let Some(event) = events.next().await? else {
                return Err(malformed(heard, "the stream ends before the run does".to_owned()));
            };
            llm::json::check(&event.data).map_err(|error| malformed(heard, error.to_string()))?;
            let value: Value = serde_json::from_slice(&event.data)
                .map_err(|error| malformed(heard, format!("it is not JSON: {error}")))?;
            match heard.event(&value, event.came).map_err(|trouble| malformed(heard, trouble))? {
                Next::Event => {}
                Next::End => {
                    events.finish().await;
                    return Ok(event.came);
                }
                Next::Failed(message) => {
                    return Err(llm::Error::Unreachable {
                        endpoint: self.sender.name().to_owned(),
                        status: Some(200),
                        message: self.sender.hide(format!("{place}: {message}")),
                        sent: true,
                    });
                }
            }
        }
    }
}
