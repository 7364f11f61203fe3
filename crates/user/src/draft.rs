//! A draft: what the model wrote for the simulated user, before it is sent.

use crate::cleaning;

/// What the model wrote. Nothing of it is sent before it was examined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// The person's next words; empty if the model gave none.
    pub say: String,
    /// The model's whole answer.
    pub raw: String,
}

impl Draft {
    /// Reads the model's answer.
    #[must_use]
    pub fn read(raw: String) -> Self {
        Self { say: cleaning::clean(&raw), raw }
    }
}
