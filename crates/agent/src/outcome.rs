//! What came of a call, in the words of this crate: a reply, an empty one, or an error with its kind of failure.

use record::{
    FailureKind,
    turn::{Note, Said, ToolCall},
};
use scenario::{Message, message::Part, message::Speaker};

use crate::{Error, Reply, Spent};

pub(crate) fn message_of(message: &Message) -> llm::Message {
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

pub(crate) fn is_empty(reply: &llm::Reply) -> bool {
    reply.text.trim().is_empty() && reply.tool_calls.is_empty() && reply.actions.is_empty()
}

pub(crate) fn nothing_said(endpoint: &str, reply: llm::Reply) -> Error {
    let (kind, message) = match reply.finish_reason.as_deref() {
        Some("content_filter") => {
            (FailureKind::AgentRefused, format!("{endpoint} held its reply back: content filter"))
        }
        Some(reason) => (FailureKind::AgentEmpty, format!("{endpoint} answered nothing (it says: {reason})")),
        None => (FailureKind::AgentEmpty, format!("{endpoint} answered nothing")),
    };
    Error::new(kind, message, Spent::Known(Box::new(reply_of(reply))))
}

pub(crate) fn error_of(failed: llm::Failed) -> Error {
    let llm::Failed { error, effort } = failed;
    let kind = match &error {
        llm::Error::Refused { .. } => FailureKind::AgentRefused,
        llm::Error::Throttled { .. } => FailureKind::AgentThrottled,
        llm::Error::TimedOut { .. } => FailureKind::AgentTimeout,
        llm::Error::Malformed { .. } => FailureKind::AgentMalformed,
        llm::Error::Unreachable { status: Some(_), .. } => FailureKind::AgentFailed,
        llm::Error::Unreachable { status: None, .. } => FailureKind::AgentUnreachable,
        llm::Error::OutOfResources { .. } => FailureKind::OutOfResources,
        llm::Error::Exhausted { .. } => FailureKind::ProviderExhausted,
        llm::Error::Unsupported { .. } | llm::Error::Unwritable { .. } | llm::Error::NoKey { .. } => {
            FailureKind::Misconfigured
        }
    };
    let spent = if error.may_have_been_charged() { Spent::Unknown } else { Spent::Nothing };
    Error { effort, ..Error::new(kind, error.to_string(), spent) }
}

pub(crate) fn reply_of(reply: llm::Reply) -> Reply {
    let tool_calls = reply.tool_calls.into_iter().map(|call| ToolCall {
        id: call.id,
        name: call.name,
        arguments: call.arguments,
        result: call.result,
    });
    let said = |said: llm::model::Said| Said { text: said.text, tool_calls_before: said.tool_calls_before };
    Reply {
        text: reply.text,
        messages: reply.messages.into_iter().map(said).collect(),
        tool_calls: tool_calls.collect(),
        actions: reply.actions,
        usage: Some(reply.usage),
        model: reply.model,
        timing: reply.timing,
        tries: reply.tries,
        throttled_tries: reply.throttled_tries,
        lost_tries: reply.lost_tries,
        cost_nanos: reply.cost_nanos,
        notes: reply.notes.into_iter().map(|note| Note { kind: note.kind, text: note.text }).collect(),
        ..Reply::default()
    }
}
