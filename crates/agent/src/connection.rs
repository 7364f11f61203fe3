//! What all agents other than chat models share: the history, the limits, the calls of a conversation.
//!
//! A kind of connection only opens one [`Call`] for each conversation. The call gets the messages that the agent should
//! know; those after the agent's own last message need an answer.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use llm::{Call, MessageRole, Named as _, cassette::Tape, endpoint::Layers, limit::Limiter};
use record::FailureKind;
use scenario::{Message, ids::seed_of};

use crate::{
    Agent, Error, Exchange, Reply, Session, Start,
    history::History,
    outcome::{error_of, message_of, nothing_said, reply_of},
    request::Request,
};

/// One kind of connection to an agent.
pub(crate) trait Connection: Send + Sync + fmt::Debug {
    /// Opens a conversation. It may keep state, because no other conversation uses it.
    fn open(&self, start: &Start) -> Result<Arc<dyn Call<Request>>, Error>;

    /// Why no conversation can start here, if that is known in advance.
    fn unready(&self) -> Option<String> {
        None
    }

    /// Whether it does something with the plugins of a [`Start`].
    fn understands_plugins(&self) -> bool {
        false
    }

    /// Whether a scenario's time limit for a turn does not hold: people do not type against a clock.
    fn takes_its_time(&self) -> bool {
        false
    }
}

/// An agent behind a connection.
#[derive(Debug)]
pub(crate) struct Connected {
    name: String,
    connection: Box<dyn Connection>,
    layers: Layers,
    history: History,
    calls_tools: bool,
    tape: Tape,
}

impl Connected {
    /// `calls_tools`: whether the agent gets the addresses of its tools and calls them.
    pub(crate) fn new(
        name: &str,
        connection: Box<dyn Connection>,
        layers: Layers,
        history: History,
        calls_tools: bool,
    ) -> Self {
        Self { name: name.to_owned(), connection, layers, history, calls_tools, tape: Tape::Off }
    }

    /// Records its calls, or answers them from a recording.
    pub(crate) fn on_tape(self, tape: Tape) -> Self {
        Self { tape, ..self }
    }
}

#[async_trait]
impl Agent for Connected {
    fn name(&self) -> &str {
        &self.name
    }

    fn understands_plugins(&self) -> bool {
        self.connection.understands_plugins()
    }

    fn calls_tools_itself(&self) -> bool {
        self.calls_tools
    }

    fn unready(&self) -> Option<String> {
        self.connection.unready()
    }

    fn unsettled_nanos(&self) -> i64 {
        self.layers.unsettled_nanos()
    }

    fn limit(&self) -> Option<&Arc<Limiter>> {
        Some(self.layers.limit())
    }

    async fn open(&self, start: Start) -> Result<Box<dyn Session>, Error> {
        if let Some(reason) = self.unready() {
            return Err(Error::before(FailureKind::Misconfigured, reason));
        }
        let agent = self.tape.around(self.layers.wrap::<Request>(self.connection.open(&start)?));
        let mut request = Request { context: start.context, ..Request::default() };
        "agent".clone_into(&mut request.context.role);
        request.context.conversation = start.conversation;
        request.messages.extend(start.opening.iter().map(message_of));
        let takes_its_time = self.connection.takes_its_time();
        Ok(Box::new(Conversation { agent, seed: start.seed, history: self.history, takes_its_time, request }))
    }
}

/// The history is part of the request, so that a long conversation is not copied for each turn.
struct Conversation {
    agent: Arc<dyn Call<Request>>,
    seed: u64,
    history: History,
    takes_its_time: bool,
    request: Request,
}

#[async_trait]
impl Session for Conversation {
    async fn say(&mut self, exchange: Exchange<'_>) -> Result<Reply, Error> {
        let context = &mut self.request.context;
        context.turn = exchange.turn;
        context.trace = exchange.trace;
        context.call = 0;
        context.idempotency_key = format!("{}/{}", context.conversation, exchange.turn);
        self.request.timeout = Some(exchange.timeout).filter(|_| !self.takes_its_time);
        self.request.seed = Some(seed_of(&[b"agent", &self.seed.to_le_bytes(), &exchange.turn.to_le_bytes()]));
        // An agent that keeps its own history gets the scenario's opening once.
        if exchange.turn > 1 {
            match self.history {
                History::Agent => self.request.messages.clear(),
                history => history.trim(&mut self.request.messages),
            }
        }
        self.request.messages.extend(exchange.messages.iter().map(message_of));
        let response = (*self.agent).call(&self.request).await.map_err(error_of)?;
        if response.is_empty() {
            return Err(nothing_said(self.agent.endpoint(), response));
        }
        // An agent that keeps its own history never gets its answer again, and an answer can be a megabyte.
        let kept = if self.history == History::Agent { String::new() } else { response.text.clone() };
        self.request.messages.push(llm::Message::assistant(kept));
        let usage = Some(response.receipt.usage).filter(|usage| *usage != llm::Usage::default());
        Ok(Reply { usage, ..reply_of(response) })
    }

    fn replace_last_answer(&mut self, answer: &Message) {
        let messages = &mut self.request.messages;
        let Some(last) = messages.iter().rposition(|message| message.role == MessageRole::Assistant) else { return };
        messages.truncate(last);
        messages.push(llm::Message { role: MessageRole::Assistant, ..message_of(answer) });
    }
}

/// The index of the first unanswered message.
pub(crate) fn unanswered(messages: &[llm::Message]) -> usize {
    messages.iter().rposition(|message| message.role == MessageRole::Assistant).map_or(0, |last| last + 1)
}

/// The last message of the user; empty if there is none.
pub(crate) fn last_words(messages: &[llm::Message]) -> &str {
    let users = messages.iter().rev().find(|message| message.role == MessageRole::User);
    users.or(messages.last()).map_or("", |message| message.content.as_str())
}
