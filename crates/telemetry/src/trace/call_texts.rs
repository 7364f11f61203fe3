//! What a call sent and got, as the attributes of its span have it. It is made when the call ends, redacted and bounded,
//! because prompts are not part of the record.

use std::sync::Arc;

use record::{
    call::{CallTexts, Finish},
    turn::ToolCall,
};
use serde_json::{Value, json};

use super::{content::called, exported::Exported, texts::Texts};

/// Makes the texts of calls for traces with content. A cheap handle.
#[derive(Debug, Clone)]
pub struct CallContent {
    exported: Arc<Exported>,
}

/// One message of a call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Message<'a> {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: &'a str,
    pub text: &'a str,
    /// Of an assistant's message. Their results are separate messages.
    pub tool_calls: &'a [ToolCall],
    /// Of a tool's message: the id of the call that it answers.
    pub answers: Option<&'a str>,
}

impl CallContent {
    pub(super) fn new(exported: Arc<Exported>) -> Self {
        Self { exported }
    }

    /// `finish`: why the answer ended.
    #[must_use]
    pub fn texts(&self, sent: &[Message<'_>], answer: Option<Message<'_>>, finish: Option<Finish>) -> CallTexts {
        texts_of(&self.exported.texts, sent, answer, finish)
    }
}

fn texts_of(texts: &Texts, sent: &[Message<'_>], answer: Option<Message<'_>>, finish: Option<Finish>) -> CallTexts {
    CallTexts {
        input: sent.last().map(|last| texts.long_text(last.text)).unwrap_or_default(),
        input_messages: input(texts, sent),
        output: answer.map(|answer| (said(texts, answer), output(texts, answer, finish))),
    }
}

/// The first message, which has the instructions, the last one, and of the others the latest that have room.
fn input(texts: &Texts, sent: &[Message<'_>]) -> String {
    let most = texts.most_bytes();
    let Some((first, others)) = sent.split_first() else { return "[]".to_owned() };
    let first = shown(texts, *first, if others.is_empty() { most } else { most / 2 });
    let mut left = most.saturating_sub(first.to_string().len());
    let mut kept = Vec::new();
    for (age, message) in others.iter().rev().enumerate() {
        let message = shown(texts, *message, left);
        let size = message.to_string().len();
        // The last message is cut if it is too long. The others stay whole.
        if size > left && age > 0 {
            break;
        }
        left = left.saturating_sub(size);
        kept.push(message);
    }
    kept.push(first);
    kept.reverse();
    Value::Array(kept).to_string()
}

fn shown(texts: &Texts, message: Message<'_>, most: usize) -> Value {
    json!({ "role": message.role, "parts": parts(texts, message, most) })
}

fn parts(texts: &Texts, Message { text, tool_calls, answers, .. }: Message<'_>, most: usize) -> Vec<Value> {
    let content = texts.text_of(text, most);
    if let Some(id) = answers {
        return vec![json!({ "type": "tool_call_response", "id": texts.short_text(id), "response": content })];
    }
    let mut left = most.saturating_sub(content.len());
    let mut parts: Vec<Value> = Vec::new();
    if !text.is_empty() {
        parts.push(json!({ "type": "text", "content": content }));
    }
    for call in tool_calls {
        let part = called(call, texts);
        let size = part.to_string().len();
        if size > left {
            break;
        }
        left -= size;
        parts.push(part);
    }
    parts
}

/// The answer in one text: what was said, otherwise what was called.
fn said(texts: &Texts, answer: Message<'_>) -> String {
    if !answer.text.is_empty() || answer.tool_calls.is_empty() {
        return texts.long_text(answer.text);
    }
    let calls = answer.tool_calls.iter().map(|call| format!("{}({})", call.name, call.arguments));
    texts.long_text(&calls.collect::<Vec<_>>().join("\n"))
}

fn output(texts: &Texts, answer: Message<'_>, finish: Option<Finish>) -> String {
    let finish_reason = match finish {
        Some(Finish::Length) => "length",
        Some(Finish::Refused) => "content_filter",
        _ if answer.tool_calls.is_empty() => "stop",
        _ => "tool_call",
    };
    let parts = parts(texts, answer, texts.most_bytes());
    json!([{ "role": "assistant", "parts": parts, "finish_reason": finish_reason }]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl";

    fn message<'a>(role: &'a str, text: &'a str) -> Message<'a> {
        Message { role, text, ..Message::default() }
    }

    #[test]
    fn a_call_has_its_messages_without_keys() {
        let texts = Texts::new(1_000);
        let calls = [ToolCall {
            id: "c1".into(),
            name: "find".into(),
            arguments: format!(r#"{{"key":"{KEY}"}}"#),
            result: None,
        }];
        let asked = Message { tool_calls: &calls, ..message("assistant", "") };
        let sent = [
            message("system", "Be brief."),
            asked,
            Message { answers: Some("c1"), ..message("tool", "found") },
            message("user", KEY),
        ];
        let made = texts_of(&texts, &sent, Some(message("assistant", "Yes.")), Some(Finish::Length));
        assert_eq!(made.input, "[redacted]");
        let text = |text: &str| json!([{ "type": "text", "content": text }]);
        let called = json!([{ "type": "tool_call", "id": "c1", "name": "find", "arguments": { "key": "[redacted]" } }]);
        let answered = json!([{ "type": "tool_call_response", "id": "c1", "response": "found" }]);
        let expected = json!([
            { "role": "system", "parts": text("Be brief.") }, { "role": "assistant", "parts": called },
            { "role": "tool", "parts": answered }, { "role": "user", "parts": text("[redacted]") },
        ]);
        assert_eq!(made.input_messages, expected.to_string());
        let (output, messages) = made.output.unwrap();
        assert_eq!(output, "Yes.");
        let expected = json!([{ "role": "assistant", "parts": text("Yes."), "finish_reason": "length" }]);
        assert_eq!(messages, expected.to_string());
        let (output, messages) = texts_of(&texts, &sent[..1], Some(asked), Some(Finish::ToolCalls)).output.unwrap();
        assert_eq!(output, "find({\"key\":\"[redacted]\"})");
        let expected = json!([{ "role": "assistant", "parts": called, "finish_reason": "tool_call" }]);
        assert_eq!(messages, expected.to_string());
    }

    #[test]
    fn a_long_call_keeps_its_instructions_and_its_latest_messages() {
        let texts = Texts::new(300);
        let many: Vec<String> = (0..20).map(|number| format!("message {number:02}")).collect();
        let sent: Vec<Message<'_>> = many.iter().map(|text| message("user", text)).collect();
        let made = texts_of(&texts, &sent, None, None);
        let kept: Vec<Value> = serde_json::from_str(&made.input_messages).unwrap();
        let kept: Vec<&str> = kept.iter().map(|one| one["parts"][0]["content"].as_str().unwrap()).collect();
        assert_eq!(kept, ["message 00", "message 17", "message 18", "message 19"]);
        let long = "x".repeat(1_000);
        for (first, last) in [("Be brief.", &*long), (&*long, "Hello!"), (&*long, &*long)] {
            let made = texts_of(&texts, &[message("system", first), message("user", last)], None, None);
            let kept: Vec<Value> = serde_json::from_str(&made.input_messages).unwrap();
            assert_eq!(kept.len(), 2, "a long message is cut and stays");
            assert!(made.bytes() < 800, "{}", made.bytes());
        }
        assert_eq!(
            texts_of(&texts, &[], None, None),
            CallTexts { input_messages: "[]".into(), ..CallTexts::default() }
        );
    }
}
