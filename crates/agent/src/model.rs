//! An agent that is a chat model: gabfest keeps the history and sends it with every turn.

mod rounds;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use llm::{FunctionCall, MessageRole, chat::Finish};
use record::{FailureKind, turn::ToolCall};
use scenario::{Message, Plugin, ids::seed_of, mock::Tool};

use serde_json::{Value, json};
use tokio::time::Instant;

use self::rounds::Rounds;
use crate::{
    Agent, Error, Exchange, Reply, Session, Settings, Start, Tools,
    history::History,
    outcome::{error_of, message_of, nothing_said, reply_of},
    response::Response,
    settings, tools,
};

/// How many rounds of tool calls one turn may have; a model that wants more is in a loop.
const MOST_ROUNDS: u32 = 16;

/// The result of a tool call in the history if no tool answers it: chat protocols refuse a call without a result.
const NO_TOOL: &str = r#"{"error":"no such tool is connected"}"#;

pub(crate) struct ModelAgent {
    name: String,
    model: Arc<dyn llm::Chat>,
    system: Option<String>,
    tools: Vec<Value>,
    plugins: settings::Plugins,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
    history: History,
    tool_addresses: bool,
}

impl ModelAgent {
    pub(crate) fn new(name: &str, settings: &Settings, model: Arc<dyn llm::Chat>) -> Self {
        Self {
            name: name.to_owned(),
            model,
            system: settings.system.clone(),
            tools: settings.tools.clone(),
            plugins: settings.plugins,
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            history: settings.history.unwrap_or(History::Full),
            // gabfest runs a chat model's tools. A model that runs its own needs their addresses.
            tool_addresses: settings.tool_addresses.unwrap_or(false),
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

    fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    fn understands_plugins(&self) -> bool {
        self.plugins == settings::Plugins::Body
    }

    fn uses_tools(&self) -> bool {
        true
    }

    fn calls_tools_itself(&self) -> bool {
        self.tool_addresses
    }

    async fn open(&self, start: Start) -> Result<Box<dyn Session>, Error> {
        let mut request = llm::chat::Request {
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            tools: self.tools.clone(),
            ..llm::chat::Request::default()
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
        if let (true, Some(tools)) = (request.tools.is_empty(), &start.tools) {
            request.tools = tools.offered().iter().map(Tool::to_openai).collect();
        }
        Ok(Box::new(ModelSession {
            model: Arc::clone(&self.model),
            tools: start.tools,
            seed: start.seed,
            history: self.history,
            request,
        }))
    }
}

/// The history is part of the request, so that a long conversation is not copied for each turn.
struct ModelSession {
    model: Arc<dyn llm::Chat>,
    tools: Option<Arc<Tools>>,
    seed: u64,
    history: History,
    request: llm::chat::Request,
}

#[async_trait]
impl Session for ModelSession {
    async fn say(&mut self, exchange: Exchange<'_>) -> Result<Reply, Error> {
        let context = &mut self.request.context;
        context.turn = exchange.turn;
        context.trace = exchange.trace;
        context.call = 0;
        context.cue = exchange.cue.cloned();
        context.idempotency_key = format!("{}/{}", context.conversation, exchange.turn);
        self.request.seed = Some(seed_of(&[b"agent", &self.seed.to_le_bytes(), &exchange.turn.to_le_bytes()]));
        if exchange.turn > 1 {
            self.history.trim(&mut self.request.messages);
        }
        self.request.messages.extend(exchange.messages.iter().map(message_of));
        let mut rounds = Rounds::default();
        let began = Instant::now();
        loop {
            self.request.timeout = Some(exchange.timeout.saturating_sub(rounds.took()));
            let started = began.elapsed();
            let reply = match self.model.call(&self.request).await {
                Ok(reply) => reply,
                Err(error) => return Err(rounds.broken(error_of(error))),
            };
            let response = Response::from(reply);
            let (is_silent, is_refused) = (response.is_empty(), response.finish == Some(Finish::Refused));
            if is_silent && !is_refused && rounds.is_first() {
                return Err(nothing_said(self.model.endpoint(), response));
            }
            self.remember(&response);
            if rounds.add(Reply { started, ..reply_of(response) }) {
                return Err(rounds.excessive(self.model.endpoint()));
            }
            if is_refused {
                return Err(rounds.refused(self.model.endpoint()));
            }
            let left = exchange.timeout.saturating_sub(rounds.took());
            // Boxed, because few turns call tools and thousands of turns wait at once.
            let goes_on = rounds.count() <= MOST_ROUNDS && Box::pin(self.answer_calls(&mut rounds, left)).await?;
            if !goes_on {
                return rounds.finish(self.model.endpoint(), is_silent);
            }
            let context = &mut self.request.context;
            context.call += 1;
            context.idempotency_key = format!("{}/{}/{}", context.conversation, exchange.turn, context.call);
        }
    }

    fn replace_last_answer(&mut self, answer: &Message) {
        let messages = &mut self.request.messages;
        let Some(mut last) = messages.iter().rposition(|message| message.role == MessageRole::Assistant) else {
            return;
        };
        // Removing an answer also removes the calls that led to it, and their results.
        while last > 0 && (messages[last - 1].tool_call_id.is_some() || !messages[last - 1].tool_calls.is_empty()) {
            last -= 1;
        }
        messages.truncate(last);
        messages.push(llm::Message { role: MessageRole::Assistant, ..message_of(answer) });
    }
}

impl ModelSession {
    /// Gives the last calls the results of their mocks. Returns whether there were any, so that the model is called
    /// again.
    async fn answer_calls(&mut self, rounds: &mut Rounds, left: Duration) -> Result<bool, Error> {
        let Some(tools) = &self.tools else { return Ok(false) };
        let began = Instant::now();
        let mut answered = false;
        let room = rounds.room();
        let mut came = 0;
        for call in rounds.unanswered() {
            let arguments = tools::read(&call.arguments);
            let asked = tools.call(&call.name, &arguments);
            let left = left.saturating_sub(began.elapsed());
            let Ok(result) = tokio::time::timeout(left, asked).await else {
                let message = format!("{} waited too long for its tool {}", self.model.endpoint(), call.name);
                rounds.waited_for_tools(began.elapsed());
                return Err(rounds.ended_with(FailureKind::AgentTimeout, message));
            };
            let Some(result) = result.map(|answer| answer.text()) else { continue };
            answered = true;
            came += result.len();
            if came > room {
                rounds.waited_for_tools(began.elapsed());
                return Err(rounds.excessive(self.model.endpoint()));
            }
            let messages = self.request.messages.iter_mut().rev();
            let mut results = messages.take_while(|message| message.tool_call_id.is_some());
            if let Some(message) = results.find(|message| message.tool_call_id.as_ref() == Some(&call.id)) {
                message.content.clone_from(&result);
            }
            call.result = Some(result);
        }
        rounds.waited_for_tools(began.elapsed());
        rounds.take(came);
        Ok(answered)
    }

    fn remember(&mut self, response: &Response) {
        let call = |call: &ToolCall| FunctionCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        };
        let mut answer = llm::Message::assistant(response.text.clone());
        answer.tool_calls.extend(response.tool_calls.iter().map(call));
        answer.echo.clone_from(&response.echo);
        self.request.messages.push(answer);
        for call in &response.tool_calls {
            let mut result = llm::Message::new(MessageRole::Tool, NO_TOOL);
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
