//! The terminal of an agent that is a person.

use std::{fmt, io};

use async_trait::async_trait;

/// A terminal with a person at it.
#[async_trait]
pub trait Terminal: Send + Sync + fmt::Debug {
    /// Shows a text and waits for a line; `None` at the end of the input.
    async fn ask(&self, shown: &str) -> io::Result<Option<String>>;
}
