//! The two wire forms of A2A: requests, errors and states.

use llm::{Context, Message, MessageRole};
use serde_json::{Map, Value, json};

use crate::connection::last_words;

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The agent understood and declined.
    Refused(String),
    /// The agent tried and failed.
    Failed(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V03,
    V10,
}

impl Version {
    /// Of a card. 0.2 has the messages of 0.3.
    pub(super) fn of(written: &str) -> Option<Self> {
        match written.split('.').next()? {
            "1" => Some(Self::V10),
            "0" => Some(Self::V03),
            // Cards of the first agents do not say.
            "" => Some(Self::V03),
            _ => None,
        }
    }

    /// The value of the header `A2A-Version`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V03 => "0.3",
            Self::V10 => "1.0",
        }
    }

    pub(super) fn sending(self) -> &'static str {
        match self {
            Self::V03 => "message/send",
            Self::V10 => "SendMessage",
        }
    }

    pub(super) fn streaming(self) -> &'static str {
        match self {
            Self::V03 => "message/stream",
            Self::V10 => "SendStreamingMessage",
        }
    }

    /// The method and the parameters that show a task.
    pub(super) fn looking(self, task: &str) -> (&'static str, Value) {
        let method = match self {
            Self::V03 => "tasks/get",
            Self::V10 => "GetTask",
        };
        (method, json!({ "id": task, "historyLength": 0 }))
    }

    /// The parameters of a call that sends the user's messages, each as a part.
    pub(super) fn message(
        self,
        new: &[Message],
        context: &Context,
        context_id: Option<&str>,
        task: Option<&str>,
    ) -> Value {
        let mut words: Vec<&str> =
            new.iter().filter(|message| message.role == MessageRole::User).map(|message| &*message.content).collect();
        if words.is_empty() {
            words.push(last_words(new));
        }
        let parts: Vec<Value> = words.into_iter().map(|words| self.text(words)).collect();
        let mut message = Map::from_iter([
            ("messageId".to_owned(), context.idempotency_key.as_str().into()),
            ("parts".to_owned(), parts.into()),
        ]);
        let mut configuration =
            json!({ "historyLength": 0, "acceptedOutputModes": ["text/plain", "application/json"] });
        match self {
            Self::V03 => {
                message.insert("kind".to_owned(), "message".into());
                message.insert("role".to_owned(), "user".into());
                configuration["blocking"] = true.into();
            }
            Self::V10 => {
                message.insert("role".to_owned(), "ROLE_USER".into());
            }
        }
        for (key, id) in [("contextId", context_id), ("taskId", task)] {
            message.extend(id.map(|id| (key.to_owned(), id.into())));
        }
        // An agent's own code sees the metadata of a message, and not the headers that it came with.
        let told =
            [("conversation", &context.conversation), ("tools_url", &context.tools_url), ("mcp_url", &context.mcp_url)];
        let told = told.into_iter().filter(|(_, value)| !value.is_empty());
        let metadata: Map<String, Value> = told.map(|(key, value)| (key.to_owned(), value.as_str().into())).collect();
        message.insert("metadata".to_owned(), metadata.into());
        json!({ "message": message, "configuration": configuration })
    }

    fn text(self, words: &str) -> Value {
        match self {
            Self::V03 => json!({ "kind": "text", "text": words }),
            Self::V10 => json!({ "text": words }),
        }
    }
}

/// A call over JSON-RPC.
pub(super) fn call(method: &str, params: &Value, id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The error of an answer. If the agent rejects a call, it is a refusal; all other errors are failures.
pub(super) fn error(answer: &Value) -> Option<Failure> {
    let error = answer.get("error").filter(|error| !error.is_null())?;
    let code = error["code"].as_i64().unwrap_or_default();
    let message = error["message"].as_str().unwrap_or("no message");
    let data = error.get("data").filter(|data| !data.is_null()).map_or_else(String::new, |data| format!(" ({data})"));
    let shown = format!("error {code}: {message}{data}");
    // JSON-RPC's codes for malformed calls, and A2A's codes for missing or unsupported things. -32603 and -32006 are
    // the agent's own faults.
    Some(match code {
        -32700 | -32602..=-32600 | -32005..=-32001 | -32009..=-32007 => Failure::Refused(shown),
        _ => Failure::Failed(shown),
    })
}

/// A state by its name in version 0.3: `input-required` for `TASK_STATE_INPUT_REQUIRED`.
pub(super) fn state(status: &Value) -> String {
    let written = status["state"].as_str().unwrap_or_default();
    written.strip_prefix("TASK_STATE_").unwrap_or(written).to_ascii_lowercase().replace('_', "-")
}

impl Failure {
    /// As an error of a call. A failed task has no HTTP status, so 200 and 500 are used for what the agent says.
    pub(super) fn of(self, endpoint: &str, place: &str) -> llm::Error {
        let endpoint = endpoint.to_owned();
        match self {
            Self::Refused(message) => {
                llm::Error::Refused { endpoint, status: 200, message: format!("{place}: {message}") }
            }
            Self::Failed(message) => llm::Error::Unreachable {
                endpoint,
                status: Some(200),
                message: format!("{place}: {message}"),
                sent: true,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context {
        Context {
            conversation: "r-t-1-1".into(),
            idempotency_key: "r-t-1-1/2".into(),
            tools_url: "http://127.0.0.1:1/t".into(),
            ..Context::default()
        }
    }

    #[test]
    fn messages_of_both_versions() {
        let new = [Message::user("one"), Message::system("it rains"), Message::user("two")];
        assert_eq!(
            Version::V10.message(&new, &context(), None, None),
            json!({
                "configuration": { "historyLength": 0, "acceptedOutputModes": ["text/plain", "application/json"] },
                "message": {
                    "messageId": "r-t-1-1/2", "role": "ROLE_USER", "parts": [{ "text": "one" }, { "text": "two" }],
                    "metadata": { "conversation": "r-t-1-1", "tools_url": "http://127.0.0.1:1/t" },
                },
            })
        );
        assert_eq!(
            Version::V03.message(&new[2..], &context(), Some("c"), Some("t")),
            json!({
                "configuration": {
                    "historyLength": 0, "acceptedOutputModes": ["text/plain", "application/json"], "blocking": true,
                },
                "message": {
                    "kind": "message", "messageId": "r-t-1-1/2", "role": "user", "contextId": "c", "taskId": "t",
                    "parts": [{ "kind": "text", "text": "two" }],
                    "metadata": { "conversation": "r-t-1-1", "tools_url": "http://127.0.0.1:1/t" },
                },
            })
        );
    }

    #[test]
    fn errors_are_the_callers_or_the_agents() {
        for (code, refused) in [
            (-32700, true),
            (-32600, true),
            (-32601, true),
            (-32602, true),
            (-32603, false),
            (-32001, true),
            (-32005, true),
            (-32006, false),
            (-32009, true),
            (-32000, false),
            (1, false),
        ] {
            let found = error(&json!({ "id": 1, "error": { "code": code, "message": "no", "data": ["x"] } }));
            let message = format!("error {code}: no ([\"x\"])");
            let expected = if refused { Failure::Refused(message) } else { Failure::Failed(message) };
            assert_eq!(found, Some(expected), "{code}");
        }
        assert_eq!(error(&json!({ "result": {}, "error": null })), None);
    }

    #[test]
    fn states_of_both_versions() {
        for (written, expected) in [
            ("TASK_STATE_INPUT_REQUIRED", "input-required"),
            ("input-required", "input-required"),
            ("TASK_STATE_COMPLETED", "completed"),
            ("", ""),
        ] {
            assert_eq!(state(&json!({ "state": written })), expected);
        }
    }
}
