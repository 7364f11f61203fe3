//! Unit tests of a chat agent: what the user says, and what the agent should answer. All of it is in [`expect`].

pub mod expect;
