//! Label values: redacted, short, and limited in number.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use redact::redact;

/// The value for all values beyond the limit.
pub(super) const OTHER: &str = "other";

/// The maximum number of different values of a label in one process.
pub(super) const MOST_VALUES: usize = 200;
/// Longer values are cut, because a series keeps its labels as long as the process runs.
const LONGEST: usize = 120;

/// The values of one label.
#[derive(Debug)]
pub(super) struct Values {
    label: &'static str,
    seen: RwLock<BTreeSet<Arc<str>>>,
    warned: AtomicBool,
}

impl Values {
    pub(super) fn new(label: &'static str) -> Self {
        Self { label, seen: RwLock::default(), warned: AtomicBool::new(false) }
    }

    /// The label value for this value.
    pub(super) fn get(&self, value: &str) -> Arc<str> {
        let short = clean(value);
        if let Some(known) = self.seen.read().unwrap_or_else(PoisonError::into_inner).get(&*short) {
            return Arc::clone(known);
        }
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < MOST_VALUES {
            let value: Arc<str> = short.as_ref().into();
            seen.insert(Arc::clone(&value));
            return value;
        }
        drop(seen);
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                label = self.label,
                most = MOST_VALUES,
                "metrics have too many values of a label; the rest are counted as `{OTHER}`"
            );
        }
        OTHER.into()
    }
}

/// The redacted and cut value.
pub(super) fn clean(value: &str) -> Cow<'_, str> {
    let cut = |text: &str| text.floor_char_boundary(LONGEST);
    match redact(value) {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..cut(text)]),
        Cow::Owned(mut text) => {
            text.truncate(cut(&text));
            Cow::Owned(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_values_stay_and_the_rest_are_one() {
        let values = Values::new("scenario");
        for number in 0..MOST_VALUES {
            let name = format!("s{number}");
            assert_eq!(*values.get(&name), *name);
        }
        assert_eq!(*values.get("one more"), *OTHER);
        assert_eq!(&*values.get("s7"), "s7");
        assert!(values.warned.load(Ordering::Relaxed));
    }

    #[test]
    fn values_are_short_and_hold_no_key() {
        let values = Values::new("model");
        assert_eq!(&*values.get("gpt sk-abcdefghijklmnopqrstuv"), "gpt [redacted]");
        let long = "ß".repeat(500);
        assert_eq!(&*values.get(&long), "ß".repeat(LONGEST / 2));
        assert_eq!(&*values.get(""), "");
    }
}
