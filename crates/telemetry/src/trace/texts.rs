//! Texts for attributes: redacted, and cut to the allowed length.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use opentelemetry::{KeyValue, StringValue};

/// The number of cached names of a plan and its settings. Other names, and those longer than [`MOST_SHORT_BYTES`], are
/// redacted each time.
const MOST_NAMES: usize = 4_096;
/// The length limit of a name, a reason or a message.
const MOST_SHORT_BYTES: usize = 1_024;

#[derive(Debug)]
pub(super) struct Texts {
    names: RwLock<HashMap<Box<str>, Arc<str>>>,
    most_bytes: usize,
}

impl Texts {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { names: RwLock::default(), most_bytes }
    }

    /// For repeated texts: scenarios, personas, models.
    pub(super) fn name(&self, key: &'static str, text: &str) -> KeyValue {
        KeyValue::new(key, self.known(text))
    }

    pub(super) fn known(&self, text: &str) -> StringValue {
        if let Some(known) = self.names.read().unwrap_or_else(PoisonError::into_inner).get(text) {
            return Arc::clone(known).into();
        }
        let clean: Arc<str> = self.short_text(text).into();
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        if names.len() < MOST_NAMES && text.len() <= MOST_SHORT_BYTES {
            names.insert(text.into(), Arc::clone(&clean));
        }
        clean.into()
    }

    /// For short texts that occur once.
    pub(super) fn short(&self, key: impl Into<opentelemetry::Key>, text: &str) -> KeyValue {
        KeyValue::new(key, self.short_text(text))
    }

    pub(super) fn short_text(&self, text: &str) -> String {
        cut(redact::redact(text), self.most_bytes.min(MOST_SHORT_BYTES))
    }

    /// For messages of users and agents.
    pub(super) fn long_text(&self, text: &str) -> String {
        cut(redact::redact(text), self.most_bytes)
    }

    /// For a part of a text: at most this many bytes of it.
    pub(super) fn text_of(&self, text: &str, most: usize) -> String {
        cut(redact::redact(text), most.min(self.most_bytes))
    }

    /// For a text of parts that are redacted already.
    pub(super) fn cut(&self, clean: String) -> String {
        cut(clean.into(), self.most_bytes)
    }

    pub(super) fn most_bytes(&self) -> usize {
        self.most_bytes
    }
}

/// Redacts before it cuts, because a cut could leave half of a key.
fn cut(clean: Cow<'_, str>, most: usize) -> String {
    if clean.len() <= most {
        return clean.into_owned();
    }
    const MARK: &str = "…";
    let end = clean.floor_char_boundary(most.saturating_sub(MARK.len()));
    format!("{}{MARK}", &clean[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_clean_and_bounded() {
        let texts = Texts::new(40);
        assert_eq!(texts.long_text("plain"), "plain");
        assert_eq!(texts.long_text(&"é".repeat(40)), format!("{}…", "é".repeat(18)));
        let key = "sk-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl";
        assert_eq!(texts.short_text(key), "[redacted]");
        for _ in 0..2 {
            assert_eq!(texts.name("k", key).value.as_str(), "[redacted]");
        }
        assert_eq!(Texts::new(1).long_text("long"), "…");
    }

    #[test]
    fn names_do_not_pile_up() {
        let texts = Texts::new(100);
        for number in 0..MOST_NAMES + 10 {
            assert_eq!(texts.known(&number.to_string()).as_str(), number.to_string());
        }
        assert_eq!(texts.names.read().unwrap().len(), MOST_NAMES);
        let texts = Texts::new(100);
        assert!(texts.known(&"x".repeat(MOST_SHORT_BYTES + 1)).as_str().ends_with('…'));
        assert!(texts.names.read().unwrap().is_empty(), "the server chooses the length of a model's name");
    }
}
