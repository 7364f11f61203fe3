//! The events of a run as they arrive: messages, tool calls, state, and how the run ends.

use llm::{Receipt, Timing, Usage};
use record::turn::{Said, ToolCall};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::response::Response;

use super::patch;

/// Of the texts of a reply.
const MOST_BYTES: usize = 1 << 20;
const MOST_CALLS: usize = 128;
/// Of the arguments and results of tool calls.
const MOST_CALL_BYTES: usize = 1 << 20;
/// Of an id, and of the name of a tool.
const MOST_NAME_BYTES: usize = 1 << 10;
const MOST_STATE_BYTES: usize = 1 << 20;
const MOST_INTERRUPTS: usize = 16;

/// What follows an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Event,
    End,
    /// Why there is no reply.
    Failed(String),
}

/// What the next run gets from this one.
#[derive(Debug)]
pub(super) struct LeftBehind {
    pub(super) messages: Vec<Value>,
    pub(super) state: Value,
    pub(super) interrupts: Vec<String>,
}

/// A message of the agent, or the result of a tool.
#[derive(Debug)]
enum RunItem {
    Agent { id: String, text: String, calls_before: u32, calls: Vec<usize> },
    Result { id: String, call: usize },
}

#[derive(Debug)]
pub(super) struct HeardRun {
    items: Vec<RunItem>,
    calls: Vec<ToolCall>,
    /// The message and the call that chunks without an id continue.
    open_message: String,
    open_call: String,
    /// The messages after the user's last one, of a run that sends all messages instead of streaming them.
    snapshot: Vec<Value>,
    state: Value,
    interrupts: Vec<String>,
    usage: Usage,
    bytes: usize,
    call_bytes: usize,
    pieces: u32,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl HeardRun {
    /// `state` is the state at the start of the run.
    pub(super) fn new(state: Value) -> Self {
        Self {
            items: Vec::new(),
            calls: Vec::new(),
            open_message: String::new(),
            open_call: String::new(),
            snapshot: Vec::new(),
            state,
            interrupts: Vec::new(),
            usage: Usage::default(),
            bytes: 0,
            call_bytes: 0,
            pieces: 0,
            first: None,
            last: None,
        }
    }

    pub(super) fn text(&self) -> String {
        let texts = self.items.iter().filter_map(|item| match item {
            RunItem::Agent { text, .. } if !text.is_empty() => Some(text.as_str()),
            RunItem::Agent { .. } | RunItem::Result { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn event(&mut self, event: &Value, came: Instant) -> Result<Next, String> {
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        match text("type") {
            "TEXT_MESSAGE_START" => self.open_message = bounded(text("messageId"))?,
            "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK" => {
                if let Some(id) = event["messageId"].as_str() {
                    self.open_message = bounded(id)?;
                }
                self.say(text("delta"), came)?;
            }
            "TOOL_CALL_START" => self.begin_call(text("toolCallId"), text("toolCallName"), text("parentMessageId"))?,
            "TOOL_CALL_ARGS" => {
                self.open_call = bounded(text("toolCallId"))?;
                self.argue(text("delta"))?;
            }
            "TOOL_CALL_CHUNK" => {
                if let Some(id) = event["toolCallId"].as_str().filter(|id| *id != self.open_call) {
                    self.begin_call(id, text("toolCallName"), text("parentMessageId"))?;
                }
                self.argue(text("delta"))?;
            }
            "TOOL_CALL_RESULT" => self.answer(text("toolCallId"), text("messageId"), &event["content"])?,
            "STATE_SNAPSHOT" => self.state = event["snapshot"].clone(),
            "STATE_DELTA" => {
                let operations = event["delta"].as_array().ok_or("a STATE_DELTA without operations")?;
                patch::apply(&mut self.state, operations)?;
            }
            "MESSAGES_SNAPSHOT" => {
                let all = event["messages"].as_array().ok_or("a MESSAGES_SNAPSHOT without messages")?;
                let last = all.iter().rposition(|message| message["role"] == "user");
                self.snapshot = all[last.map_or(0, |last| last + 1)..].to_vec();
            }
            "RUN_ERROR" => {
                let code = event["code"].as_str().map_or_else(String::new, |code| format!(" ({code})"));
                return Ok(Next::Failed(format!("the run failed: {}{code}", text("message"))));
            }
            "RUN_FINISHED" => return self.end(event, came),
            "" => return Err("an event without a type".to_owned()),
            // Steps, reasoning, activities, and events that the application defines.
            _ => {}
        }
        Ok(Next::Event)
    }

    /// The reply to a call sent at `sent` and completed at `ended`, and the state for the next run.
    pub(super) fn finish(mut self, sent: Instant, ended: Instant) -> Result<(Response, LeftBehind), String> {
        if self.state.to_string().len() > MOST_STATE_BYTES {
            return Err(format!("a state of more than {MOST_STATE_BYTES} bytes"));
        }
        let gaps = self.pieces.checked_sub(1).filter(|gaps| *gaps > 0);
        let timing = Timing {
            first_token: self.first.map(|first| first - sent),
            inter_token: gaps.and_then(|gaps| Some((self.last? - self.first?) / gaps)),
            total: ended - sent,
            ..Timing::default()
        };
        let said: Vec<Said> = self
            .items
            .iter()
            .filter_map(|item| match item {
                RunItem::Agent { text, calls_before, .. } if !text.is_empty() => {
                    Some(Said { text: text.clone(), tool_calls_before: *calls_before })
                }
                RunItem::Agent { .. } | RunItem::Result { .. } => None,
            })
            .collect();
        let messages = self.items.iter().map(|item| wire(item, &self.calls)).collect();
        for call in self.calls.iter_mut().filter(|call| call.arguments.is_empty()) {
            "{}".clone_into(&mut call.arguments);
        }
        let reply = Response {
            // Text before a tool call is a message of the turn; the reply is the text after the last call.
            text: reply_of(&said),
            messages: if said.len() > 1 || said.iter().any(|said| count(&self.calls) > said.tool_calls_before) {
                said
            } else {
                Vec::new()
            },
            tool_calls: self.calls,
            receipt: Box::new(Receipt { usage: self.usage, timing, tries: 1, ..Receipt::default() }),
            ..Response::default()
        };
        Ok((reply, LeftBehind { messages, state: self.state, interrupts: self.interrupts }))
    }

    fn say(&mut self, text: &str, came: Instant) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        self.pieces += 1;
        self.first.get_or_insert(came);
        self.last = Some(came);
        self.bytes += text.len();
        if self.bytes > MOST_BYTES {
            return Err(format!("a reply of more than {MOST_BYTES} bytes"));
        }
        let calls = count(&self.calls);
        let id = self.open_message.clone();
        if let RunItem::Agent { text: said, calls_before, .. } = self.message(&id) {
            if said.is_empty() {
                *calls_before = calls;
            }
            said.push_str(text);
        }
        Ok(())
    }

    /// The message with this id, which is created if needed.
    fn message(&mut self, wanted: &str) -> &mut RunItem {
        let known = self.items.iter().position(|item| matches!(item, RunItem::Agent { id, .. } if id == wanted));
        let index = known.unwrap_or(self.items.len());
        if known.is_none() {
            let calls_before = count(&self.calls);
            self.items.push(RunItem::Agent {
                id: wanted.to_owned(),
                text: String::new(),
                calls_before,
                calls: Vec::new(),
            });
        }
        &mut self.items[index]
    }

    fn begin_call(&mut self, id: &str, name: &str, parent: &str) -> Result<(), String> {
        if name.is_empty() {
            return Err("a tool call without a name".to_owned());
        }
        if self.calls.len() == MOST_CALLS {
            return Err(format!("more than {MOST_CALLS} tool calls"));
        }
        let (id, name, parent) = (bounded(id)?, bounded(name)?, bounded(parent)?);
        self.open_call.clone_from(&id);
        let index = self.calls.len();
        let parent = if parent.is_empty() { format!("calls/{id}") } else { parent };
        if let RunItem::Agent { calls, .. } = self.message(&parent) {
            calls.push(index);
        }
        self.calls.push(ToolCall { id, name, arguments: String::new(), result: None });
        Ok(())
    }

    fn argue(&mut self, arguments: &str) -> Result<(), String> {
        self.count_call_bytes(arguments.len())?;
        let call = self.calls.iter_mut().rfind(|call| call.id == self.open_call);
        call.ok_or("arguments of a tool call that did not begin")?.arguments.push_str(arguments);
        Ok(())
    }

    fn answer(&mut self, call: &str, message: &str, content: &Value) -> Result<(), String> {
        let content = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        self.count_call_bytes(content.len())?;
        let Some(index) = self.calls.iter().rposition(|known| known.id == call) else { return Ok(()) };
        self.calls[index].result = Some(content);
        let id = if message.is_empty() { format!("results/{call}") } else { message.to_owned() };
        self.items.push(RunItem::Result { id: bounded(&id)?, call: index });
        Ok(())
    }

    fn count_call_bytes(&mut self, more: usize) -> Result<(), String> {
        self.call_bytes += more;
        if self.call_bytes > MOST_CALL_BYTES {
            return Err(format!("tool calls of more than {MOST_CALL_BYTES} bytes"));
        }
        Ok(())
    }

    fn end(&mut self, event: &Value, came: Instant) -> Result<Next, String> {
        for entry in event["usage"].as_array().into_iter().flatten() {
            let count = |key: &str| entry[key].as_u64().unwrap_or_default();
            self.usage.input += count("inputTokens");
            self.usage.output += count("outputTokens");
            self.usage.cached_input += count("cachedInputTokens");
            self.usage.cache_write += count("cacheWriteInputTokens");
            self.usage.reasoning += count("reasoningTokens");
        }
        if self.items.is_empty() {
            self.take_snapshot(came)?;
        }
        let outcome = &event["outcome"];
        match outcome["type"].as_str().or_else(|| outcome.as_str()) {
            Some("cancelled") => return Ok(Next::Failed("the run was cancelled".to_owned())),
            Some("interrupt") => {
                let listed = outcome["interrupts"].as_array().into_iter().flatten();
                for interrupt in listed.chain(event.get("interrupt")).take(MOST_INTERRUPTS) {
                    let id = bounded(interrupt["id"].as_str().unwrap_or_default())?;
                    let words = ["message", "reason"].iter().find_map(|key| interrupt[*key].as_str());
                    self.open_message = format!("interrupts/{id}");
                    self.say(words.unwrap_or_default(), came)?;
                    self.interrupts.push(id);
                }
            }
            _ => {}
        }
        Ok(Next::End)
    }

    /// Takes the messages of a run that did not stream them.
    fn take_snapshot(&mut self, came: Instant) -> Result<(), String> {
        for message in std::mem::take(&mut self.snapshot) {
            let text = |key: &str| message[key].as_str().unwrap_or_default();
            match text("role") {
                "assistant" => {
                    self.open_message = bounded(text("id"))?;
                    self.say(text("content"), came)?;
                    for call in message["toolCalls"].as_array().into_iter().flatten() {
                        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                        let parent = self.open_message.clone();
                        self.begin_call(&text(&call["id"]), &text(&call["function"]["name"]), &parent)?;
                        self.argue(&text(&call["function"]["arguments"]))?;
                    }
                }
                "tool" => self.answer(text("toolCallId"), text("id"), &message["content"])?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// An item as a message of the next run.
fn wire(item: &RunItem, all: &[ToolCall]) -> Value {
    match item {
        RunItem::Agent { id, text, calls, .. } => {
            let mut message = json!({ "id": id, "role": "assistant", "content": text });
            if !calls.is_empty() {
                let calls = calls.iter().map(|index| {
                    let ToolCall { id, name, arguments, .. } = &all[*index];
                    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
                });
                message["toolCalls"] = calls.collect();
            }
            message
        }
        RunItem::Result { id, call } => {
            let ToolCall { id: call, result, .. } = &all[*call];
            json!({ "id": id, "role": "tool", "toolCallId": call, "content": result })
        }
    }
}

/// The messages after the last tool call that was followed by one.
fn reply_of(said: &[Said]) -> String {
    let last = said.last().map(|said| said.tool_calls_before);
    let after = said.iter().filter(|said| Some(said.tool_calls_before) == last);
    after.map(|said| said.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn count(calls: &[ToolCall]) -> u32 {
    u32::try_from(calls.len()).unwrap_or(u32::MAX)
}

fn bounded(name: &str) -> Result<String, String> {
    if name.len() > MOST_NAME_BYTES {
        return Err(format!("an id or a name of more than {MOST_NAME_BYTES} bytes"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests;
