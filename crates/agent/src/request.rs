//! The request of one turn to a connection: a chat request whose reply is that of an agent.

use crate::response::Response;

/// `messages` has as much of the history as the agent's `history` says. Those after its own last message are unanswered.
pub(crate) type Request = llm::chat::Request<Response>;
