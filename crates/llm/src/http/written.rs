//! The headers that settings may add to a call: none that the protocol or gabfest sets, and no key in plain text.

use std::collections::BTreeMap;

use ::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::key::{self, KeyRef};

use super::headers;

/// Headers that frame the message; another value would change the request.
const FRAMING: [HeaderName; 7] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Parts of the names of headers that carry keys.
pub(super) const KEYS: [&str; 7] = ["auth", "cookie", "credential", "key", "password", "secret", "token"];

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the header {name} has no value")]
    Key { name: String, source: key::Error },
    #[error("there may be no header {name}: {reason}")]
    Header { name: String, reason: &'static str },
}

/// Checks that the headers can be sent, if the keys are where they say.
///
/// # Errors
/// A header that settings may not write, or a value that cannot be sent.
pub fn check(written: &BTreeMap<String, String>) -> Result<(), Error> {
    written.iter().try_for_each(|(name, value)| plain(name, value).map(drop))
}

/// The headers with their values, and the keys among these.
pub fn resolve(written: &BTreeMap<String, String>) -> Result<(HeaderMap, Vec<SecretString>), Error> {
    let mut headers = HeaderMap::with_capacity(written.len() + 16);
    let mut keys = Vec::new();
    for (name, value) in written {
        let (known, value) = match plain(name, value)? {
            (known, Value::Plain(value)) => (known, value),
            (known, Value::Kept(place)) => {
                let key = place.resolve().map_err(|source| Error::Key { name: name.clone(), source })?;
                let value = secret(key.expose_secret()).ok_or_else(|| unprintable(name))?;
                keys.push(key);
                (known, value)
            }
        };
        headers.insert(known, value);
    }
    Ok((headers, keys))
}

enum Value {
    Plain(HeaderValue),
    /// The place of a key.
    Kept(KeyRef),
}

fn plain(name: &str, value: &str) -> Result<(HeaderName, Value), Error> {
    let known = self::name(name)?;
    let value = match KeyRef::parse(value) {
        Ok(place) => Value::Kept(place),
        Err(_) if KEYS.iter().any(|part| known.as_str().contains(part)) => {
            let reason = "it carries a key, which is never written in the file: use env:NAME or file:PATH";
            return Err(Error::Header { name: name.to_owned(), reason });
        }
        Err(_) => Value::Plain(HeaderValue::from_str(value).map_err(|_| unprintable(name))?),
    };
    Ok((known, value))
}

fn unprintable(name: &str) -> Error {
    Error::Header { name: name.to_owned(), reason: "its value is not printable ASCII" }
}

/// Checks the name of a header from the settings.
pub fn name(written: &str) -> Result<HeaderName, Error> {
    let fault = |reason: &'static str| Error::Header { name: written.to_owned(), reason };
    let known = HeaderName::from_bytes(written.as_bytes()).map_err(|_| fault("that is not the name of a header"))?;
    if FRAMING.contains(&known) || headers::is_ours(&known) {
        return Err(fault("gabfest writes it itself"));
    }
    Ok(known)
}

/// A value that is not shown, not even to debuggers of headers.
#[must_use]
pub fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
