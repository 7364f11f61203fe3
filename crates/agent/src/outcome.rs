//! The outcome of a request: a reply, an empty one, or an error with its kind of failure.

use llm::chat::Finish;
use record::FailureKind;
use scenario::{Message, message::Part, message::Speaker};

use crate::{Error, Reply, Spent, response::Response};

pub(crate) fn message_of(message: &Message) -> llm::Message {
    let role = match message.speaker {
        Speaker::System => llm::MessageRole::System,
        Speaker::User => llm::MessageRole::User,
        Speaker::Agent => llm::MessageRole::Assistant,
        Speaker::Tool => llm::MessageRole::Tool,
    };
    let images = message.parts.iter().filter_map(|part| match part {
        Part::Image(address) => Some(address.clone()),
        Part::Text(_) => None,
    });
    llm::Message { images: images.collect(), ..llm::Message::new(role, message.text()) }
}

pub(crate) fn nothing_said(endpoint: &str, response: Response) -> Error {
    let (kind, message) = match response.finish {
        Some(Finish::Length) => {
            (FailureKind::AgentEmpty, format!("{endpoint} answered nothing: a token limit cut its reply"))
        }
        _ => (FailureKind::AgentEmpty, format!("{endpoint} answered nothing")),
    };
    Error::new(kind, message, Spent::Known(Box::new(reply_of(response))))
}

pub(crate) fn error_of(failed: llm::Failed) -> Error {
    let llm::Failed { error, effort } = failed;
    let kind = match &error {
        error if error.is_of_settings() => FailureKind::Misconfigured,
        // A server can forbid a retry, whatever its status.
        llm::Error::Refused { status: 429, .. } => FailureKind::AgentThrottled,
        llm::Error::Refused { status: 500.., .. } => FailureKind::AgentFailed,
        llm::Error::Refused { .. } => FailureKind::AgentRefused,
        llm::Error::Unreachable { status: Some(408 | 409 | 424), .. } => FailureKind::AgentRefused,
        llm::Error::Throttled { .. } => FailureKind::AgentThrottled,
        llm::Error::TimedOut { .. } => FailureKind::AgentTimeout,
        llm::Error::Malformed { .. } => FailureKind::AgentMalformed,
        llm::Error::Unreachable { status: Some(_), .. } => FailureKind::AgentFailed,
        llm::Error::Unreachable { status: None, .. } => FailureKind::AgentUnreachable,
        llm::Error::OutOfResources { .. } => FailureKind::OutOfResources,
        llm::Error::Exhausted { .. } => FailureKind::ProviderExhausted,
        llm::Error::NoMoney { .. } => FailureKind::BudgetUsedUp,
        llm::Error::Unsupported { .. }
        | llm::Error::Unwritable { .. }
        | llm::Error::NoKey { .. }
        | llm::Error::NotRecorded { .. } => FailureKind::Misconfigured,
    };
    let spent = if error.may_have_been_charged() { Spent::Unknown } else { Spent::Nothing };
    Error { effort, ..Error::new(kind, error.to_string(), spent) }
}

pub(crate) fn reply_of(response: Response) -> Reply {
    let Response { text, messages, tool_calls, actions, notes, finish, echo: _, receipt } = response;
    Reply {
        text,
        messages,
        tool_calls,
        actions,
        usage: Some(receipt.usage),
        model: receipt.model,
        timing: receipt.timing,
        tries: receipt.tries,
        throttled_tries: receipt.throttled_tries,
        lost_tries: receipt.lost_tries,
        cost_nanos: receipt.cost_nanos,
        plain_priced: receipt.plain_priced,
        reported_cost_nanos: receipt.reported_cost_nanos,
        learned: receipt.learned,
        finish,
        notes,
        ..Reply::default()
    }
}
