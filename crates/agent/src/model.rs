//! An agent that is a chat model: it keeps the conversation's history and asks with all of it, turn by turn.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use scenario::{Message, Plugin, ids::seed_of};
use serde_json::{Value, json};

use crate::{
    Agent, Error, Exchange, Reply, Session, Settings, Start,
    history::History,
    outcome::{error_of, is_empty, message_of, nothing_said, reply_of},
    settings,
};

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
    history: History,
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
            history: settings.history.unwrap_or(History::Full),
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

    fn model(&self) -> &str {
        self.model.name()
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
        Ok(Box::new(ModelSession { model: Arc::clone(&self.model), seed: start.seed, history: self.history, request }))
    }
}

/// The history stands in the request itself, so that a long conversation is not copied for each turn.
struct ModelSession {
    model: Arc<dyn llm::Model>,
    seed: u64,
    history: History,
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
        if exchange.turn > 1 {
            self.history.trim(&mut self.request.messages);
        }
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

#[cfg(test)]
mod tests;
