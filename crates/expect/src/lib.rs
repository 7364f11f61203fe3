//! Unit tests of a chat agent: the user's messages, and the agent's expected answers. All of it is in [`expect`].

pub mod expect;
