//! Removes keys from messages, because a server may echo a key.

use std::sync::{PoisonError, RwLock};

use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};

const HIDDEN: &str = "[key]";

/// The keys of one server. More may be added while it is used.
#[derive(Debug, Default)]
pub struct Secrets(RwLock<Vec<SecretString>>);

impl Secrets {
    #[must_use]
    pub fn new(keys: Vec<SecretString>) -> Self {
        Self(RwLock::new(keys))
    }

    /// Whether it is a new one.
    pub(crate) fn add(&self, key: &SecretString) -> bool {
        let is_known = |keys: &[SecretString]| keys.iter().any(|known| known.expose_secret() == key.expose_secret());
        if is_known(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return false;
        }
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(key.clone());
        true
    }

    /// Whether the text holds a key, plain or percent-encoded.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        let decoded = percent_decode_str(text).decode_utf8_lossy();
        [text, decoded.as_ref()].into_iter().any(|text| self.hide(text.to_owned()) != text)
    }

    /// A text with its keys struck out, also inside JSON.
    #[must_use]
    pub fn hide(&self, text: String) -> String {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let keys = known.iter().map(ExposeSecret::expose_secret).filter(|key| !key.is_empty());
        keys.fold(text, |text, key| {
            let text = without(text, key);
            if key.contains(|letter: char| matches!(letter, '"' | '\\' | '/') || letter.is_control()) {
                let written = serde_json::Value::from(key).to_string();
                let inside = &written[1..written.len() - 1];
                return without(without(text, inside), &inside.replace('/', "\\/"));
            }
            text
        })
    }
}

fn without(text: String, key: &str) -> String {
    if text.contains(key) { text.replace(key, HIDDEN) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_struck_out_as_it_is_and_as_json_has_it() {
        let secrets =
            Secrets::new(vec![SecretString::from("a/\"b\\"), SecretString::from(""), SecretString::from("plain")]);
        for text in ["<a/\"b\\>", "<a/\\\"b\\\\>", "<a\\/\\\"b\\\\>", "<plain>"] {
            assert_eq!(secrets.hide(text.to_owned()), "<[key]>");
        }
        assert_eq!(secrets.hide("nothing".to_owned()), "nothing");
    }

    #[test]
    fn a_key_is_found_in_an_address_however_it_is_written() {
        let secrets = Secrets::new(vec![SecretString::from("a/\"b&c")]);
        for (address, is_there) in [
            ("/x/a/\"b&c", true),
            ("/x/a/%22b&c", true),
            ("http://h/?k=a%2F%22b%26c", true),
            ("http://h/?k=a%2f%22b%26c&v", true),
            ("/a/b&c", false),
            ("", false),
        ] {
            assert_eq!(secrets.are_in(address), is_there, "{address}");
        }
    }
}
