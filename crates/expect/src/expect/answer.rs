//! What the agent should answer in one turn: words, calls of tools, and what it does on the telephone.

use serde_json::{Map, Value, json};

/// An expected answer. A text, or a list of alternative texts, can stand for one.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    texts: Vec<String>,
    tool_calls: Vec<ToolCall>,
    events: Vec<Event>,
}

/// An answer in these words, or words that mean the same; `*` is any answer, `<…>` must be true of the answer, and an
/// empty text is no words at all.
pub fn reply(text: impl Into<String>) -> Answer {
    Answer { texts: vec![text.into()], tool_calls: Vec::new(), events: Vec::new() }
}

impl Answer {
    /// One more text that is as good.
    #[must_use]
    pub fn or(mut self, text: impl Into<String>) -> Self {
        self.texts.push(text.into());
        self
    }

    /// A tool that must be called. The agent must make all calls that are written, in any order, and no others.
    #[must_use]
    pub fn calls(mut self, call: ToolCall) -> Self {
        self.tool_calls.push(call);
        self
    }

    /// Something that must be done on the telephone. All of it must be done, in this order, and nothing else.
    #[must_use]
    pub fn does(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// As a turn of a `*.conversation.json` file.
    pub(super) fn into_value(self) -> Value {
        let mut turn = Map::new();
        turn.insert("role".to_owned(), "assistant".into());
        let text = match <[String; 1]>::try_from(self.texts) {
            Ok([one]) => Value::String(one),
            Err(several) => several.into(),
        };
        turn.insert("text".to_owned(), text);
        if !self.tool_calls.is_empty() {
            let calls: Vec<Value> = self.tool_calls.into_iter().map(ToolCall::into_value).collect();
            turn.insert("tool_calls".to_owned(), calls.into());
        }
        if !self.events.is_empty() {
            let events: Vec<Value> = self.events.into_iter().map(Event::into_value).collect();
            turn.insert("telephony_events".to_owned(), events.into());
        }
        Value::Object(turn)
    }
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        reply(text)
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        reply(text)
    }
}

/// Alternatives: one of them is enough.
impl<T: Into<String>> From<Vec<T>> for Answer {
    fn from(texts: Vec<T>) -> Self {
        let texts = texts.into_iter().map(Into::into).collect();
        Self { texts, tool_calls: Vec::new(), events: Vec::new() }
    }
}

/// Alternatives: one of them is enough.
impl<T: Into<String>, const N: usize> From<[T; N]> for Answer {
    fn from(texts: [T; N]) -> Self {
        Vec::from(texts).into()
    }
}

/// A call of a tool as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    name: String,
    arguments: Value,
    result: Value,
    partial: bool,
}

impl ToolCall {
    /// A call without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), arguments: json!({}), result: Value::Null, partial: false }
    }

    /// By name, as a JSON object. A text may be `*`, `<what must be true of it>` or words that mean the same; `null` is
    /// not looked at and need not be there; objects are compared by the same rules, everything else must be equal.
    #[must_use]
    pub fn arguments(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    /// What the tool must give, by the same rules; without it, and with `null`, the result is not looked at.
    #[must_use]
    pub fn result(mut self, result: Value) -> Self {
        self.result = result;
        self
    }

    /// There may be keys besides those written, in the arguments, in the result and in all objects in them.
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.partial = true;
        self
    }

    fn into_value(self) -> Value {
        let Self { name, arguments, result, partial } = self;
        json!({ "name": name, "arguments": arguments, "result": result, "partial": partial })
    }
}

/// Something that is done on the telephone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// This key is pressed.
    Dtmf(String),
    /// The call is put through to this number.
    Transfer(String),
    /// The agent hangs up.
    EndCall,
}

impl Event {
    fn into_value(self) -> Value {
        match self {
            Self::Dtmf(button) => json!({ "type": "dtmf", "button": button }),
            Self::Transfer(number) => json!({ "type": "transfer_call", "target_phone_number": number }),
            Self::EndCall => json!({ "type": "end_call" }),
        }
    }

    /// As agents report it among their actions.
    pub(super) fn into_action(self) -> String {
        match self {
            Self::Dtmf(button) => format!("dtmf {}", button.trim()),
            Self::Transfer(number) => format!("transfer_call {}", number.trim()),
            Self::EndCall => "end_call".to_owned(),
        }
    }
}
