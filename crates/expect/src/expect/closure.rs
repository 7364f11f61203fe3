//! An agent that is a closure of the test: a message in, a reply out.

use std::{any::Any, error, fmt, panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use ::agent::{Agent, Exchange, Session, Spent, Start};
use async_trait::async_trait;
use futures_util::FutureExt as _;
use record::{FailureKind, turn};
use scenario::message::{self, Speaker};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::Event;

/// The reason why an agent gave no reply. `?` converts every error into one.
pub type AgentError = Box<dyn error::Error + Send + Sync>;

/// The message to an agent.
#[derive(Debug, Clone)]
pub struct Message {
    /// The user's text.
    pub text: String,
    /// The number of the user's message, from 1.
    pub turn: u32,
    /// The earlier messages, oldest first.
    pub history: Vec<Said>,
    /// A unique id of the conversation, for agents that keep state.
    pub conversation: String,
}

/// A message of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub speaker: Speaker,
    pub text: String,
}

/// The answer of an agent. A text converts into one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    text: String,
    calls: Vec<turn::ToolCall>,
    actions: Vec<String>,
}

impl Reply {
    /// Its text, or none.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Adds a tool call without a known result.
    #[must_use]
    pub fn called(self, tool: impl Into<String>, arguments: Value) -> Self {
        self.call(tool.into(), &arguments, None)
    }

    /// Adds a tool call with its result.
    #[must_use]
    pub fn called_and_got(self, tool: impl Into<String>, arguments: Value, result: Value) -> Self {
        self.call(tool.into(), &arguments, Some(result.to_string()))
    }

    /// Adds a telephony event.
    #[must_use]
    pub fn did(mut self, event: Event) -> Self {
        self.actions.push(event.into_action());
        self
    }

    fn call(mut self, name: String, arguments: &Value, result: Option<String>) -> Self {
        let id = format!("call_{}", self.calls.len() + 1);
        self.calls.push(turn::ToolCall { id, name, arguments: arguments.to_string(), result });
        self
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Reply, AgentError>> + Send>>;
type Function = dyn Fn(Message) -> Answering + Send + Sync;

/// The name of an agent without a name.
const NAME: &str = "agent";

#[derive(Clone)]
pub(super) struct Closure {
    function: Arc<Function>,
}

impl Closure {
    pub(super) fn new<F, A, R>(function: F) -> Self
    where
        F: Fn(Message) -> A + Send + Sync + 'static,
        A: Future<Output = Result<R, AgentError>> + Send + 'static,
        R: Into<Reply>,
    {
        Self {
            function: Arc::new(move |message| {
                let answer = function(message);
                Box::pin(async move { answer.await.map(Into::into) })
            }),
        }
    }
}

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closure")
    }
}

#[async_trait]
impl Agent for Closure {
    fn name(&self) -> &str {
        NAME
    }

    fn understands_plugins(&self) -> bool {
        false
    }

    async fn open(&self, start: Start) -> Result<Box<dyn Session>, ::agent::Error> {
        let history = start.opening.iter().map(Said::from).collect();
        Ok(Box::new(Talk { function: Arc::clone(&self.function), conversation: start.conversation, history }))
    }
}

impl From<&message::Message> for Said {
    fn from(message: &message::Message) -> Self {
        Self { speaker: message.speaker, text: message.text() }
    }
}

/// A conversation with a closure.
struct Talk {
    function: Arc<Function>,
    conversation: String,
    history: Vec<Said>,
}

#[async_trait]
impl Session for Talk {
    async fn say(&mut self, exchange: Exchange<'_>) -> Result<::agent::Reply, ::agent::Error> {
        let message = Message {
            text: message::said(exchange.messages),
            turn: exchange.turn,
            history: self.history.clone(),
            conversation: self.conversation.clone(),
        };
        let began = Instant::now();
        // The call itself can panic too, before it returns a future.
        let answer = async { (self.function)(message).await };
        let answer = timeout(exchange.timeout, AssertUnwindSafe(answer).catch_unwind()).await;
        let reply = match answer {
            Ok(Ok(Ok(reply))) => reply,
            Ok(Ok(Err(error))) => return Err(refusal(format!("the agent failed: {}", chain(&*error)))),
            Ok(Err(panic)) => return Err(refusal(format!("the agent panicked: {}", words_of(&*panic)))),
            Err(_) => {
                let message = format!("the agent did not answer within {} ms", exchange.timeout.as_millis());
                return Err(::agent::Error::new(FailureKind::AgentTimeout, message, Spent::Nothing));
            }
        };
        if reply.text.trim().is_empty() && reply.calls.is_empty() && reply.actions.is_empty() {
            let message = "the agent answered nothing".to_owned();
            return Err(::agent::Error::new(FailureKind::AgentEmpty, message, Spent::Nothing));
        }
        self.history.extend(exchange.messages.iter().map(Said::from));
        self.history.push(Said { speaker: Speaker::Agent, text: reply.text.clone() });
        Ok(::agent::Reply {
            text: reply.text,
            tool_calls: reply.calls,
            actions: reply.actions,
            model: NAME.to_owned(),
            timing: llm::Timing { total: began.elapsed(), ..llm::Timing::default() },
            tries: 1,
            cost_nanos: Some(0),
            ..::agent::Reply::default()
        })
    }

    fn replace_last_answer(&mut self, answer: &message::Message) {
        if let Some(last) = self.history.iter_mut().rfind(|said| said.speaker == Speaker::Agent) {
            last.text = answer.text();
        }
    }
}

fn refusal(message: String) -> ::agent::Error {
    ::agent::Error::new(FailureKind::AgentRefused, message, Spent::Nothing)
}

/// An error with its causes.
fn chain(error: &(dyn error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it does not say why")
}
