//! What must not leave this crate in a message: a server may say a key back to us.

use secrecy::{ExposeSecret, SecretString};

const HIDDEN: &str = "[key]";

/// The keys of one server.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Vec<SecretString>);

impl Secrets {
    #[must_use]
    pub fn new(keys: Vec<SecretString>) -> Self {
        Self(keys)
    }

    /// A text with its keys struck out.
    #[must_use]
    pub fn hide(&self, text: String) -> String {
        self.0
            .iter()
            .map(ExposeSecret::expose_secret)
            .filter(|key| !key.is_empty())
            .fold(text, |text, key| if text.contains(key) { text.replace(key, HIDDEN) } else { text })
    }
}
