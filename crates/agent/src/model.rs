//! An agent that is a chat model: it keeps the conversation's history and asks with all of it, turn by turn.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use record::{FailureKind, turn::ToolCall};
use scenario::{Message, Plugin, ids::seed_of, message::Part, message::Speaker};
use serde_json::{Value, json};

use crate::{Agent, Error, Exchange, Reply, Session, Settings, Spent, Start, settings};

/// What a tool call is answered with in the history: chat protocols refuse a call that nothing answers.
const NO_TOOL: &str = r#"{"error":"no such tool is connected"}"#;

pub(crate) struct ModelAgent {
    name: String,
    model: Arc<dyn llm::Model>,
    system: Option<String>,
    tools: Vec<Value>,
    plugins: settings::Plugins,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
}

impl ModelAgent {
    pub(crate) fn new(name: &str, settings: &Settings, model: Arc<dyn llm::Model>) -> Self {
        Self {
            name: name.to_owned(),
            model,
            system: settings.system.clone(),
            tools: settings.tools.clone(),
            plugins: settings.plugins,
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
        }
    }
}

impl fmt::Debug for ModelAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelAgent").field("name", &self.name).field("model", &self.model).finish_non_exhaustive()
    }
}

#[async_trait]
impl Agent for ModelAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn understands_plugins(&self) -> bool {
        self.plugins == settings::Plugins::Body
    }

    async fn open(&self, start: Start) -> Result<Box<dyn Session>, Error> {
        let mut request = llm::Request {
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            tools: self.tools.clone(),
            ..llm::Request::default()
        };
        request.context = start.context;
        "agent".clone_into(&mut request.context.role);
        request.context.conversation = start.conversation;
        request.messages.extend(self.system.as_deref().map(llm::Message::system));
        request.messages.extend(start.opening.iter().map(message_of));
        if self.understands_plugins() && !start.plugins.is_empty() {
            let plugins = start.plugins.iter().filter(|plugin| plugin.enabled).map(plugin_of).collect();
            request.extra.insert("plugins".to_owned(), Value::Array(plugins));
        }
        Ok(Box::new(ModelSession { model: Arc::clone(&self.model), seed: start.seed, request }))
    }
}

/// The history stands in the request itself, so that a long conversation is not copied for each turn.
struct ModelSession {
    model: Arc<dyn llm::Model>,
    seed: u64,
    request: llm::Request,
}

#[async_trait]
impl Session for ModelSession {
    async fn say(&mut self, exchange: Exchange<'_>) -> Result<Reply, Error> {
        let context = &mut self.request.context;
        context.turn = exchange.turn;
        context.call = 0;
        context.cue = exchange.cue.cloned();
        context.idempotency_key = format!("{}/{}/{}", context.run, context.conversation, exchange.turn);
        self.request.timeout = Some(exchange.timeout);
        self.request.seed = Some(seed_of(&[b"agent", &self.seed.to_le_bytes(), &exchange.turn.to_le_bytes()]));
        self.request.messages.extend(exchange.messages.iter().map(message_of));
        let reply = self.model.ask(&self.request).await.map_err(error_of)?;
        if is_empty(&reply) {
            return Err(nothing_said(self.model.endpoint(), reply));
        }
        self.remember(&reply);
        Ok(reply_of(reply))
    }

    fn replace_last_answer(&mut self, answer: &Message) {
        let messages = &mut self.request.messages;
        let Some(last) = messages.iter().rposition(|message| message.role == llm::model::Speaker::Assistant) else {
            return;
        };
        // With the answer goes what its tool calls were answered with.
        messages.truncate(last);
        messages.push(llm::Message { role: llm::model::Speaker::Assistant, ..message_of(answer) });
    }
}

impl ModelSession {
    fn remember(&mut self, reply: &llm::Reply) {
        let mut answer = llm::Message::assistant(reply.text.clone());
        answer.tool_calls.clone_from(&reply.tool_calls);
        self.request.messages.push(answer);
        for call in &reply.tool_calls {
            let mut result = llm::Message::new(llm::model::Speaker::Tool, NO_TOOL);
            result.tool_call_id = Some(call.id.clone());
            self.request.messages.push(result);
        }
    }
}

fn message_of(message: &Message) -> llm::Message {
    let role = match message.speaker {
        Speaker::System => llm::model::Speaker::System,
        Speaker::User => llm::model::Speaker::User,
        Speaker::Agent => llm::model::Speaker::Assistant,
        Speaker::Tool => llm::model::Speaker::Tool,
    };
    let images = message.parts.iter().filter_map(|part| match part {
        Part::Image(address) => Some(address.clone()),
        Part::Text(_) => None,
    });
    llm::Message { images: images.collect(), ..llm::Message::new(role, message.text()) }
}

fn plugin_of(plugin: &Plugin) -> Value {
    let mut value = json!({ "name": plugin.name });
    if let Some(version) = &plugin.version {
        value["version"] = json!(version);
    }
    if !plugin.config.is_null() {
        value["config"] = plugin.config.clone();
    }
    value
}

fn is_empty(reply: &llm::Reply) -> bool {
    reply.text.trim().is_empty() && reply.tool_calls.is_empty() && reply.actions.is_empty()
}

fn nothing_said(endpoint: &str, reply: llm::Reply) -> Error {
    let (kind, message) = match reply.finish_reason.as_deref() {
        Some("content_filter") => {
            (FailureKind::AgentRefused, format!("{endpoint} held its reply back: content filter"))
        }
        Some(reason) => (FailureKind::AgentEmpty, format!("{endpoint} answered nothing (it says: {reason})")),
        None => (FailureKind::AgentEmpty, format!("{endpoint} answered nothing")),
    };
    Error { kind, message, spent: Spent::Known(Box::new(reply_of(reply))) }
}

fn error_of(error: llm::Error) -> Error {
    let kind = match &error {
        llm::Error::Refused { .. } => FailureKind::AgentRefused,
        llm::Error::Throttled { .. } => FailureKind::AgentThrottled,
        llm::Error::TimedOut { .. } => FailureKind::AgentTimeout,
        llm::Error::Malformed { .. } => FailureKind::AgentMalformed,
        llm::Error::Unreachable { .. } => FailureKind::AgentUnreachable,
        llm::Error::Exhausted { .. } => FailureKind::ProviderExhausted,
    };
    let spent = if error.may_have_been_charged() { Spent::Unknown } else { Spent::Nothing };
    Error { kind, message: error.to_string(), spent }
}

fn reply_of(reply: llm::Reply) -> Reply {
    let tool_calls = reply.tool_calls.into_iter().map(|call| ToolCall {
        id: call.id,
        name: call.name,
        arguments: call.arguments,
        result: None,
    });
    Reply {
        text: reply.text,
        tool_calls: tool_calls.collect(),
        actions: reply.actions,
        usage: Some(reply.usage),
        model: reply.model,
        timing: reply.timing,
        tries: reply.tries,
        lost_tries: reply.lost_tries,
        cost_nanos: reply.cost_nanos,
    }
}

#[cfg(test)]
mod tests;
