//! One environment variable at a time, with an error that names it.
//!
//! Wrong targets and keys are errors. Other invalid values are warnings, and the variable counts as missing, as the
//! specification requires: other programs share the environment.

use std::{cell::RefCell, ffi::OsString, time::Duration};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("read {variable}={value:?}: expected {expected}")]
    Value { variable: String, value: String, expected: String },
    #[error("read {variable}: expected UTF-8")]
    NotUnicode { variable: String },
    /// A fault of a variable that can contain keys. Its value is not shown.
    #[error("read {variable}: expected {expected}")]
    Secret { variable: String, expected: String },
}

impl Error {
    pub(super) fn value(variable: &str, value: &str, expected: impl Into<String>) -> Self {
        let value = redact::redact(value).into_owned();
        Self::Value { variable: variable.to_owned(), value, expected: expected.into() }
    }
}

/// The environment, or a substitute in tests.
pub(super) struct Variables<'a> {
    lookup: &'a dyn Fn(&str) -> Option<OsString>,
    warnings: RefCell<Vec<Error>>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<OsString>) -> Self {
        Self { lookup, warnings: RefCell::default() }
    }

    pub(super) fn warn(&self, warning: Error) {
        let mut warnings = self.warnings.borrow_mut();
        // A variable for all signals is read once per signal.
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub(super) fn into_warnings(self) -> Vec<Error> {
        self.warnings.into_inner()
    }

    /// `None` if it is missing or blank.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Error> {
        let Some(value) = (self.lookup)(name) else { return Ok(None) };
        let text = value.into_string().map_err(|_| Error::NotUnicode { variable: name.to_owned() })?;
        let text = text.trim();
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    /// One of a few keywords, ignoring case.
    pub(super) fn word<T>(
        &self,
        name: &str,
        expected: &str,
        known: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        self.parsed(name, expected, |text| known(&text.to_ascii_lowercase()))
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        self.word(name, "true or false", |word| word.parse().ok())
    }

    pub(super) fn count(&self, name: &str, least: usize) -> Result<Option<usize>, Error> {
        let expected = format!("a whole number from {least} on");
        self.parsed(name, &expected, |text| text.parse().ok().filter(|number| *number >= least))
    }

    /// A time in milliseconds, above zero.
    pub(super) fn millis(&self, name: &str) -> Result<Option<Duration>, Error> {
        self.parsed(name, "milliseconds: a whole number from 1 on", |text| {
            let number = text.parse().ok().filter(|number| *number >= 1 && *number <= u64::from(u32::MAX));
            number.map(Duration::from_millis)
        })
    }

    pub(super) fn share(&self, name: &str) -> Result<Option<f64>, Error> {
        self.parsed(name, "a share from 0 to 1", |text| text.parse().ok().filter(|share| (0.0..=1.0).contains(share)))
    }

    fn parsed<T>(&self, name: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Error> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let parsed = parse(&text);
        if parsed.is_none() {
            self.warn(Error::value(name, &text, expected));
        }
        Ok(parsed)
    }

    /// `key=value,key=value`, percent-encoded.
    pub(super) fn pairs(&self, name: &str) -> Result<Vec<(String, String)>, Error> {
        let Some(text) = self.text(name)? else { return Ok(Vec::new()) };
        pairs(&text).ok_or_else(|| Error::value(name, &text, "key=value,key=value"))
    }

    /// The same with secret values.
    pub(super) fn secret_pairs(&self, name: &str) -> Result<Vec<(String, String)>, Error> {
        let Some(text) = self.text(name)? else { return Ok(Vec::new()) };
        let secret = || Error::Secret { variable: name.to_owned(), expected: "key=value,key=value".to_owned() };
        pairs(&text).ok_or_else(secret)
    }
}

fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| {
            let (key, value) = entry.split_once('=')?;
            let key = key.trim();
            (!key.is_empty()).then(|| (key.to_owned(), decode(value.trim())))
        })
        .collect()
}

/// Decodes `%` with two hexadecimal digits; other text is unchanged.
pub(super) fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = (first == b'%').then(|| after.get(..2)).flatten();
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = if byte.is_some() { &after[2..] } else { after };
        bytes.push(byte.unwrap_or(first));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
