//! The body of a chat completion as clients send it, read into a [`Request`].

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, SeqAccess, Visitor},
};
use serde_json::Value;

use crate::{
    chat::Request,
    message::{FunctionCall, Message, MessageRole},
};

/// The fields that the mock reads; it ignores all others.
#[derive(Debug, Deserialize)]
pub(super) struct Body {
    #[serde(default)]
    pub(super) model: Option<String>,
    messages: Vec<Line>,
    #[serde(default)]
    pub(super) stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    seed: Option<i64>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    plugins: Option<Value>,
    #[serde(default)]
    response_format: Option<ResponseFormat>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Debug, Deserialize)]
struct ResponseFormat {
    #[serde(default)]
    json_schema: Option<Schema>,
}

#[derive(Debug, Deserialize)]
struct Schema {
    #[serde(default)]
    schema: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Line {
    role: Role,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    #[serde(alias = "developer")]
    System,
    User,
    Assistant,
    #[serde(alias = "function")]
    Tool,
}

#[derive(Debug, Deserialize)]
struct Call {
    #[serde(default)]
    id: String,
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: String,
}

/// Text, null, or parts that are texts and images.
#[derive(Debug, Default)]
struct Content {
    text: String,
    images: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    image_url: Option<Address>,
}

#[derive(Debug, Deserialize)]
struct Address {
    url: String,
}

impl Body {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let body: Self = serde_json::from_slice(bytes)?;
        if body.messages.is_empty() {
            return Err(serde_json::Error::custom("`messages` is empty"));
        }
        Ok(body)
    }

    pub(super) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    pub(super) fn into_request(self, context: crate::Context) -> Request {
        let mut request = Request {
            messages: self.messages.into_iter().map(Line::into_message).collect(),
            max_tokens: self.max_tokens.or(self.max_completion_tokens),
            seed: self.seed.map(i64::cast_unsigned),
            tools: self.tools.unwrap_or_default(),
            schema: self.response_format.and_then(|format| format.json_schema).and_then(|named| named.schema),
            context,
            ..Request::default()
        };
        if let Some(plugins) = self.plugins {
            request.extra.insert("plugins".to_owned(), plugins);
        }
        request
    }
}

impl Line {
    fn into_message(self) -> Message {
        let role = match self.role {
            Role::System => MessageRole::System,
            Role::User => MessageRole::User,
            Role::Assistant => MessageRole::Assistant,
            Role::Tool => MessageRole::Tool,
        };
        let calls = self.tool_calls.unwrap_or_default().into_iter();
        Message {
            role,
            content: self.content.text,
            images: self.content.images,
            tool_calls: calls
                .map(|call| FunctionCall { id: call.id, name: call.function.name, arguments: call.function.arguments })
                .collect(),
            tool_call_id: self.tool_call_id,
            echo: None,
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a list of parts, or null")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content { text: text.to_owned(), images: Vec::new() })
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content { text, images: Vec::new() })
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        while let Some(part) = parts.next_element::<Part>()? {
            if let Some(text) = part.text {
                if !content.text.is_empty() {
                    content.text.push('\n');
                }
                content.text.push_str(&text);
            }
            content.images.extend(part.image_url.map(|address| address.url));
        }
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;

    #[test]
    fn bodies_are_read_as_clients_write_them() {
        let body = Body::read(
            br#"{"model":"m","temperature":0.2,"seed":-5,"stream":true,"stream_options":{"include_usage":true},
            "messages":[{"role":"developer","content":"be kind"},
              {"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}},{"type":"text","text":"b"}]},
              {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
              {"role":"tool","tool_call_id":"1","content":"ok"}],
            "tools":null,"plugins":["p"],"max_completion_tokens":7,
            "response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}}"#,
        )
        .expect("reads");
        assert!(body.wants_usage() && body.stream == Some(true));
        let request = body.into_request(Context::default());
        let shape: Vec<_> = request.messages.iter().map(|m| (m.role, m.content.as_str())).collect();
        assert_eq!(
            shape,
            [
                (MessageRole::System, "be kind"),
                (MessageRole::User, "a\nb"),
                (MessageRole::Assistant, ""),
                (MessageRole::Tool, "ok")
            ]
        );
        assert_eq!(request.messages[1].images, ["u"]);
        assert_eq!(request.messages[2].tool_calls[0].name, "f");
        assert_eq!((request.max_tokens, request.seed), (Some(7), Some(u64::MAX - 4)));
        assert!(request.schema.is_some() && request.extra.contains_key("plugins"));
    }

    #[test]
    fn invalid_completions_are_refused() {
        for (bytes, says) in [
            (&b"{"[..], "EOF"),
            (b"{}", "missing field `messages`"),
            (br#"{"messages":[]}"#, "`messages` is empty"),
            (br#"{"messages":[{"role":"pope","content":"x"}]}"#, "unknown variant `pope`"),
            (br#"{"messages":[{"role":"user","content":5}]}"#, "a text, a list of parts, or null"),
            (b"\xff", "expected value"),
        ] {
            let error = Body::read(bytes).expect_err("refused").to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
