//! What a connection gets in one turn: the messages, and what the call is for.

use std::time::Duration;

use llm::{Context, Message, call};

use crate::response::Response;

#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// As much of the history as the agent's `history` says. Those after its own last message are unanswered.
    pub(crate) messages: Vec<Message>,
    pub(crate) seed: Option<u64>,
    /// See [`call::Request::timeout`].
    pub(crate) timeout: Option<Duration>,
    pub(crate) context: Context,
}

impl call::Request for Request {
    type Reply = Response;

    fn context(&self) -> &Context {
        &self.context
    }

    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn again(&self, try_number: u32, timeout: Option<Duration>) -> Self {
        let mut again = Self { timeout, ..self.clone() };
        again.context.try_number = try_number;
        again
    }

    fn input_bytes(&self) -> u64 {
        self.messages.iter().map(Message::bytes).sum()
    }

    /// Agents take no bound.
    fn max_output_tokens(&self) -> Option<u32> {
        None
    }
}
