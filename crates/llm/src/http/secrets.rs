//! What must not leave this crate in a message: a server may say a key back to us.

use secrecy::{ExposeSecret, SecretString};

const HIDDEN: &str = "[key]";

#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    pub(crate) fn new(keys: Vec<SecretString>) -> Self {
        Self(keys)
    }

    pub(crate) fn hide(&self, text: String) -> String {
        self.0
            .iter()
            .map(ExposeSecret::expose_secret)
            .filter(|key| !key.is_empty())
            .fold(text, |text, key| if text.contains(key) { text.replace(key, HIDDEN) } else { text })
    }
}
