//! A chat as turns that alternate between user and model, as Anthropic, Gemini and Bedrock require.
//!
//! System messages are separate, results of tools belong to the user, neighbours of one side are joined, and the user's
//! turn comes first.

use serde_json::Value;

use crate::message::{FunctionCall, Message, MessageRole};

/// The user's first message if a chat starts with the model, which these APIs refuse.
const BEGINNING: &str = "(The conversation begins.)";

#[derive(Debug, PartialEq)]
pub(crate) struct Turns<'a> {
    pub(crate) system: Vec<&'a str>,
    pub(crate) turns: Vec<Turn<'a>>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Turn<'a> {
    pub(crate) by: Side,
    pub(crate) parts: Vec<Part<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    User,
    Model,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    Image(Image<'a>),
    Call(&'a FunctionCall),
    Result {
        id: &'a str,
        /// Of the tool that was called.
        name: &'a str,
        text: &'a str,
    },
    /// What the API requires back unchanged; see [`Message::echo`].
    Echo(&'a Value),
}

/// An image as the settings or the agent name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Image<'a> {
    Address(&'a str),
    Inline { media_type: &'a str, base64: &'a str },
}

impl<'a> Turns<'a> {
    pub(crate) fn of(messages: &'a [Message]) -> Self {
        let mut turns: Vec<Turn<'a>> = Vec::new();
        let mut system = Vec::new();
        for (place, message) in messages.iter().enumerate() {
            if message.role == MessageRole::System {
                system.extend(Some(message.content.as_str()).filter(|text| !text.trim().is_empty()));
                continue;
            }
            let by = if message.role == MessageRole::Assistant { Side::Model } else { Side::User };
            let parts = parts(message, &messages[..place]);
            match turns.last_mut() {
                _ if parts.is_empty() => {}
                Some(last) if last.by == by => last.parts.extend(parts),
                _ => turns.push(Turn { by, parts }),
            }
        }
        if turns.first().is_none_or(|first| first.by == Side::Model) {
            turns.insert(0, Turn { by: Side::User, parts: vec![Part::Text(BEGINNING)] });
        }
        Self { system, turns }
    }
}

fn parts<'a>(message: &'a Message, before: &'a [Message]) -> Vec<Part<'a>> {
    let text = Some(message.content.as_str()).filter(|text| !text.trim().is_empty());
    if let Some(id) = message.tool_call_id.as_deref() {
        let calls = before.iter().rev().flat_map(|message| &message.tool_calls);
        let name = calls.into_iter().find(|call| call.id == id).map_or("", |call| &call.name);
        return vec![Part::Result { id, name, text: &message.content }];
    }
    let echo = message.echo.as_deref().map(Part::Echo);
    let text = text.map(Part::Text);
    let images = message.images.iter().filter(|_| message.role != MessageRole::Assistant);
    let images = images.map(|address| Part::Image(Image::of(address)));
    let calls = message.tool_calls.iter().map(Part::Call);
    echo.into_iter().chain(text).chain(images).chain(calls).collect()
}

impl<'a> Image<'a> {
    pub(crate) fn of(address: &'a str) -> Self {
        let inline = address.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
        inline.map_or(Self::Address(address), |(media_type, base64)| Self::Inline { media_type, base64 })
    }
}

/// The arguments of a call as an object, which these APIs require. Other values are wrapped in one.
pub(crate) fn arguments(call: &FunctionCall) -> Value {
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(Value::Null) => Value::Object(serde_json::Map::new()),
        Ok(other) => serde_json::json!({ "value": other }),
        Err(_) if call.arguments.trim().is_empty() => Value::Object(serde_json::Map::new()),
        Err(_) => serde_json::json!({ "text": call.arguments }),
    }
}

/// A tool in OpenAI's form: its name, its description and the schema of its arguments.
pub(crate) fn tool(tool: &Value) -> (&str, Option<&str>, Value) {
    let function = tool.get("function").unwrap_or(tool);
    let text = |key: &str| function.get(key).and_then(Value::as_str);
    let parameters = function.get("parameters").filter(|parameters| parameters.is_object()).cloned();
    let parameters = parameters.unwrap_or_else(|| serde_json::json!({ "type": "object", "properties": {} }));
    (text("name").unwrap_or_default(), text("description"), parameters)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, name: &str) -> FunctionCall {
        FunctionCall { id: id.to_owned(), name: name.to_owned(), arguments: "{}".to_owned() }
    }

    fn result(id: &str, text: &str) -> Message {
        Message { tool_call_id: Some(id.to_owned()), ..Message::new(MessageRole::Tool, text) }
    }

    #[test]
    fn turns_alternate_and_the_user_begins() {
        let calls = Message {
            tool_calls: vec![call("1", "find"), call("2", "open")],
            echo: Some(Box::new(json!(["kept"]))),
            ..Message::assistant("")
        };
        let messages = [
            Message::system("be brief"),
            Message::assistant("Hello!"),
            Message {
                images: vec!["data:image/png;base64,AAAA".into(), "https://h/a.png".into()],
                ..Message::user("hi")
            },
            Message::user("there"),
            calls,
            result("1", "found"),
            result("2", ""),
            Message::assistant("  "),
            Message::user("thanks"),
            Message::system("be kind"),
        ];
        let Turns { system, turns } = Turns::of(&messages);
        assert_eq!(system, ["be brief", "be kind"]);
        let expected = vec![
            Turn { by: Side::User, parts: vec![Part::Text(BEGINNING)] },
            Turn { by: Side::Model, parts: vec![Part::Text("Hello!")] },
            Turn {
                by: Side::User,
                parts: vec![
                    Part::Text("hi"),
                    Part::Image(Image::Inline { media_type: "image/png", base64: "AAAA" }),
                    Part::Image(Image::Address("https://h/a.png")),
                    Part::Text("there"),
                ],
            },
            Turn {
                by: Side::Model,
                parts: vec![
                    Part::Echo(messages[4].echo.as_ref().expect("an echo")),
                    Part::Call(&messages[4].tool_calls[0]),
                    Part::Call(&messages[4].tool_calls[1]),
                ],
            },
            Turn {
                by: Side::User,
                parts: vec![
                    Part::Result { id: "1", name: "find", text: "found" },
                    Part::Result { id: "2", name: "open", text: "" },
                    Part::Text("thanks"),
                ],
            },
        ];
        assert_eq!(turns, expected);
        assert_eq!(Turns::of(&[]).turns.len(), 1, "a chat of nothing has a turn too");
    }

    #[test]
    fn arguments_are_always_an_object() {
        let rows = [
            (r#"{"a":1}"#, json!({ "a": 1 })),
            ("", json!({})),
            ("null", json!({})),
            ("[1]", json!({ "value": [1] })),
            ("{half", json!({ "text": "{half" })),
        ];
        for (written, expected) in rows {
            let call = FunctionCall { arguments: written.to_owned(), ..FunctionCall::default() };
            assert_eq!(arguments(&call), expected, "{written}");
        }
    }
}
