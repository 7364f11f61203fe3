//! The expected answer of the agent in one turn: text, tool calls and telephony events.

use serde_json::{Map, Value, json};

/// An expected answer. A text, or a list of alternative texts, converts into one.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    texts: Vec<String>,
    tool_calls: Vec<ExpectedCall>,
    events: Vec<Event>,
}

/// An answer with this text, or with the same meaning. `*` accepts any answer, `<…>` is a condition, and an empty text is an
/// empty answer.
pub fn reply(text: impl Into<String>) -> Answer {
    Answer { texts: vec![text.into()], tool_calls: Vec::new(), events: Vec::new() }
}

impl Answer {
    /// Adds an alternative text.
    #[must_use]
    pub fn or(mut self, text: impl Into<String>) -> Self {
        self.texts.push(text.into());
        self
    }

    /// Adds an expected tool call. The agent must make exactly the expected calls, in any order.
    #[must_use]
    pub fn calls(mut self, call: ExpectedCall) -> Self {
        self.tool_calls.push(call);
        self
    }

    /// Adds an expected telephony event. The agent must produce exactly the expected events, in this order.
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
            let calls: Vec<Value> = self.tool_calls.into_iter().map(ExpectedCall::into_value).collect();
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

/// Alternatives; one match is enough.
impl<T: Into<String>> From<Vec<T>> for Answer {
    fn from(texts: Vec<T>) -> Self {
        let texts = texts.into_iter().map(Into::into).collect();
        Self { texts, tool_calls: Vec::new(), events: Vec::new() }
    }
}

/// Alternatives; one match is enough.
impl<T: Into<String>, const N: usize> From<[T; N]> for Answer {
    fn from(texts: [T; N]) -> Self {
        Vec::from(texts).into()
    }
}

/// An expected tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedCall {
    name: String,
    arguments: Value,
    result: Value,
    partial: bool,
}

impl ExpectedCall {
    /// A call without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), arguments: json!({}), result: Value::Null, partial: false }
    }

    /// The arguments, as a JSON object. A text can be `*`, `<a condition>`, or words with the same meaning. `null` accepts any
    /// value, or none. The same rules apply in nested objects; all other values must be equal.
    #[must_use]
    pub fn arguments(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    /// The expected result of the tool, by the same rules. Without it, or with `null`, any result is accepted.
    #[must_use]
    pub fn result(mut self, result: Value) -> Self {
        self.result = result;
        self
    }

    /// Allows additional keys in the arguments, in the result, and in all their objects.
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

/// A telephony event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Presses this key.
    Dtmf(String),
    /// Transfers the call to this number.
    Transfer(String),
    /// Ends the call.
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

    /// The name among the agent's actions.
    pub(super) fn into_action(self) -> String {
        match self {
            Self::Dtmf(button) => format!("dtmf {}", button.trim()),
            Self::Transfer(number) => format!("transfer_call {}", number.trim()),
            Self::EndCall => "end_call".to_owned(),
        }
    }
}
