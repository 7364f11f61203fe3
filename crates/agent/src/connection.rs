//! What every agent that is no chat model of ours has in common: its history, its limits, its conversation's calls.
//!
//! A kind of connection only makes a [`Model`](llm::Model) for each conversation, which is asked with the messages
//! that it shall know of; the last of them, after the agent's own, are those that it has not answered yet.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use llm::{endpoint::Layers, model::Speaker};
use record::FailureKind;
use scenario::{Message, ids::seed_of};

use crate::{
    Agent, Error, Exchange, Reply, Session, Start,
    history::History,
    outcome::{error_of, is_empty, message_of, nothing_said, reply_of},
};

/// One kind of connection to an agent.
pub(crate) trait Connection: Send + Sync + fmt::Debug {
    /// What answers in one conversation. It may keep state; nobody else asks it.
    fn open(&self, start: &Start) -> Result<Arc<dyn llm::Model>, Error>;

    /// Why no conversation can begin here, where that is known before.
    fn unready(&self) -> Option<String> {
        None
    }

    /// Whether it does something with the plugins of a [`Start`].
    fn understands_plugins(&self) -> bool {
        false
    }

    /// Whether somebody at its other end could call tools, and hears from it where they are.
    fn can_call_tools(&self) -> bool {
        false
    }

    /// Whether a scenario's time for a turn is for somebody else: nobody types against a clock.
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
    tool_addresses: bool,
}

impl Connected {
    pub(crate) fn new(name: &str, connection: Box<dyn Connection>, layers: Layers, history: History) -> Self {
        Self { name: name.to_owned(), connection, layers, history, tool_addresses: true }
    }

    /// Whether it is told where its tools are.
    pub(crate) fn with_tool_addresses(self, tool_addresses: bool) -> Self {
        Self { tool_addresses, ..self }
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
        self.tool_addresses && self.connection.can_call_tools()
    }

    fn unready(&self) -> Option<String> {
        self.connection.unready()
    }

    fn unsettled_nanos(&self) -> i64 {
        self.layers.unsettled_nanos()
    }

    fn limit(&self) -> Option<&Arc<llm::limit::Limit>> {
        Some(self.layers.limit())
    }

    async fn open(&self, start: Start) -> Result<Box<dyn Session>, Error> {
        if let Some(reason) = self.unready() {
            return Err(Error::before(FailureKind::Misconfigured, reason));
        }
        let model = self.layers.round(self.connection.open(&start)?);
        let mut request = llm::Request { context: start.context, ..llm::Request::default() };
        "agent".clone_into(&mut request.context.role);
        request.context.conversation = start.conversation;
        request.messages.extend(start.opening.iter().map(message_of));
        let takes_its_time = self.connection.takes_its_time();
        Ok(Box::new(Conversation { model, seed: start.seed, history: self.history, takes_its_time, request }))
    }
}

/// The history stands in the request itself, so that a long conversation is not copied for each turn.
struct Conversation {
    model: Arc<dyn llm::Model>,
    seed: u64,
    history: History,
    takes_its_time: bool,
    request: llm::Request,
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
        // What a scenario opens with is told once, by whoever keeps the history.
        if exchange.turn > 1 {
            match self.history {
                History::Agent => self.request.messages.clear(),
                history => history.trim(&mut self.request.messages),
            }
        }
        self.request.messages.extend(exchange.messages.iter().map(message_of));
        let reply = self.model.call(&self.request).await.map_err(error_of)?;
        if is_empty(&reply) {
            return Err(nothing_said(self.model.endpoint(), reply));
        }
        // An agent that keeps the history itself is sent no answer again: what it answered may be a megabyte.
        let kept = if self.history == History::Agent { String::new() } else { reply.text.clone() };
        self.request.messages.push(llm::Message::assistant(kept));
        Ok(Reply { usage: Some(reply.usage).filter(|usage| *usage != llm::Usage::default()), ..reply_of(reply) })
    }

    fn replace_last_answer(&mut self, answer: &Message) {
        let messages = &mut self.request.messages;
        let Some(last) = messages.iter().rposition(|message| message.role == Speaker::Assistant) else { return };
        messages.truncate(last);
        messages.push(llm::Message { role: Speaker::Assistant, ..message_of(answer) });
    }
}

/// Where in a request's messages those begin that were not answered yet.
pub(crate) fn unanswered(messages: &[llm::Message]) -> usize {
    messages.iter().rposition(|message| message.role == Speaker::Assistant).map_or(0, |last| last + 1)
}

/// The last words of the user among messages; empty where the user said nothing.
pub(crate) fn last_words(messages: &[llm::Message]) -> &str {
    let users = messages.iter().rev().find(|message| message.role == Speaker::User);
    users.or(messages.last()).map_or("", |message| message.content.as_str())
}
